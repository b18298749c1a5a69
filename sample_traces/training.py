"""A small classifier trained from a data loader, as in many tutorials."""

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def main():
    device = "cuda" if torch.cuda.is_available() else "cpu"
    data = TensorDataset(torch.randn(25_600, 784), torch.randint(0, 10, (25_600,)))
    loader = DataLoader(data, batch_size=64, shuffle=True, pin_memory=device == "cuda")
    layers = [nn.Linear(784, 512), nn.BatchNorm1d(512), nn.ReLU()]
    layers += [layer for _ in range(4) for layer in (nn.Linear(512, 512), nn.BatchNorm1d(512), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(512, 10)).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    for _ in range(10):
        for images, labels in loader:
            images, labels = images.to(device, non_blocking=True), labels.to(device, non_blocking=True)
            loss = nn.functional.cross_entropy(model(images), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()


if __name__ == "__main__":
    main()
