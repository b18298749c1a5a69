"""Blockers that the trace shows, confirmed or refuted by an attempt to replay the step."""

from __future__ import annotations

from dataclasses import replace
from typing import Final

from tracelens.advice.blockers.blockers import COSTLY, VETOES, Observation
from tracelens.advice.results import Blocker, Form

REPAIRS: Final = {
    "sync": "Remove what waits for the device from the step: keep values on the device, read them outside it.",
    "host_copy": "Copy between host and device outside the step, into static device tensors.",
    "optimizer_state": "Give the optimizer capturable=True, so that its state lives on the device.",
    "rng": "Draw random numbers from a generator that is registered with the graph, or outside the step.",
    "autocast_cache": "Use torch.autocast(..., cache_enabled=False) around the step.",
    "module_hooks": "Remove the module's hooks before the capture and register them afterwards.",
    "default_stream": "Build DistributedDataParallel, or whatever holds on to the backward pass, under a side stream.",
    "backward_outside": "Put forward, backward and optimizer step into one function and name it with --function.",
}
"""By the prerequisite of a capture that failed. [CUDA Graphs section of the PyTorch notes]"""


def confirmed(observed: tuple[Observation, ...], replay: Form | None) -> tuple[Observation, ...]:
    """What stays of the trace's blockers once replay was tried: none that would prevent it when it ran, but what costs
    time in any form; else those and the prerequisite that failed, with its place."""
    if replay is None:
        return observed
    if replay.step_ms is not None:
        return tuple(_as_cost(seen) for seen in observed if seen.blocker.id not in VETOES or seen.share >= COSTLY)
    failed = {blocker.id: blocker for blocker in replay.blockers if blocker.id in REPAIRS}
    joined = tuple(_joined(seen, failed.pop(seen.blocker.id, None)) for seen in observed)
    return (*(_proven(blocker) for blocker in failed.values()), *joined)


def _as_cost(seen: Observation) -> Observation:
    """Host work that would prevent a capture as such that only costs time."""
    stops = seen.blocker.id in VETOES
    return replace(seen, blocker=replace(seen.blocker, id="outside_work")) if stops else seen


def _joined(seen: Observation, failed: Blocker | None) -> Observation:
    """The trace's count and evidence with the place at which the capture failed."""
    if failed is None:
        return seen
    blocker = replace(seen.blocker, where=failed.where or seen.blocker.where)
    return Observation(blocker, True, stops=True, others=seen.others)


def _proven(blocker: Blocker) -> Observation:
    return Observation(replace(blocker, advice=REPAIRS[blocker.id]), True, stops=True)
