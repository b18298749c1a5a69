"""Pointwise work on large tensors: the device is busy all the time, moving the same numbers to and fro."""

import torch


def step(x, y):
    for _ in range(6):
        x = torch.sigmoid(x * 1.1 + y) * x.tanh() - y * 0.5
    return x


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    x, y = torch.randn(2, 32 << 20, device=device)
    for _ in range(5000):
        step(x, y)


if __name__ == "__main__":
    main()
