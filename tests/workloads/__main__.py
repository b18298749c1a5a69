"""`python -m tests.workloads NAME [STEPS]` runs one workload; `tracelens capture` measures it through this module."""

from __future__ import annotations

import sys

import torch

from tests.workloads import WORKLOADS

ENOUGH = 1_000_000
"""Steps; a capture ends the run when it has seen enough of them."""


def main(name: str, steps: int) -> None:
    torch.manual_seed(0)
    work = WORKLOADS[name].build()
    body = work.step

    def step(*inputs: torch.Tensor) -> object:
        return body(*inputs)

    for count in range(steps):
        step(*work.batches[count % len(work.batches)])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else ENOUGH)
