"""Steps on sound: recognisers, codecs and their losses."""

from __future__ import annotations

from itertools import pairwise

import torch
from torch import nn
from torch.nn import functional as F

from tests.workloads.registry import Work, batches, fused_adamw, integers, normal, training, workload


class Listener(nn.Module):
    """Frames of sound to the logarithms of the probabilities of letters, time first."""

    def __init__(self, letters: int) -> None:
        super().__init__()
        self.recurrent = nn.LSTM(80, 256, num_layers=2, bidirectional=True, batch_first=True)
        self.read = nn.Linear(512, letters)

    def forward(self, sound: torch.Tensor) -> torch.Tensor:
        return self.read(self.recurrent(sound)[0]).log_softmax(-1).transpose(0, 1)


@workload("fourth", "training", "blocked")
def spoken_letters() -> Work:
    """A bidirectional LSTM trained by the CTC loss, the lengths of sounds and texts in host memory."""

    def batch() -> tuple[torch.Tensor, ...]:
        text = 1 + integers(63, 16, 30)
        return normal(16, 240, 80), text, torch.randint(180, 241, (16,)), torch.randint(10, 31, (16,))

    step = training(Listener(64), lambda model, sound, *rest: F.ctc_loss(model(sound), *rest), fused_adamw)
    return Work(step, batches(batch))


@workload("fourth", "training")
def filter_banks() -> Work:
    """Learned filters that take sound apart into bands and put it together again, all of them linear."""
    widths = (16, 32, 64, 128, 192)
    apart = [nn.Conv1d(a, b, 8, stride=2, padding=3, bias=False) for a, b in pairwise(widths)]
    together = [nn.ConvTranspose1d(b, a, 8, stride=2, padding=3, bias=False) for a, b in reversed([*pairwise(widths)])]
    model = nn.Sequential(*apart, *together)
    step = training(model, lambda model, sound: F.mse_loss(model(sound), sound), fused_adamw)
    return Work(step, batches(lambda: (normal(4, 16, 1024),)))
