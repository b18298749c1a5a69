"""Inference whose kernels are small: twelve transformer blocks over one sequence of 128 tokens, in half precision."""

import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before_attention, self.before_mlp = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(self.before_attention(x)).view(batch, length, 3, self.heads, width // self.heads)
        query, key, value = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.mlp(self.before_mlp(x))


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    model = nn.Sequential(*[Block(768, 12) for _ in range(12)]).half().to(device).eval()
    with torch.no_grad():
        for _ in range(5000):
            model(torch.randn(1, 128, 768, device=device, dtype=torch.half))


if __name__ == "__main__":
    main()
