"""Sixteen RMS normalisations, each of which asks the device for a number before it goes on."""

import torch


def step(h):
    for _ in range(16):
        h = h * torch.rsqrt(h.pow(2).mean(dim=-1, keepdim=True) + 1e-6)
        if h.abs().max().item() > 3.0:
            h = h * 0.5
    return h


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    for _ in range(5000):
        step(torch.randn(64, 1024, device=device))


if __name__ == "__main__":
    main()
