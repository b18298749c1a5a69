"""Many threads, frames, streams and devices in one file are told apart."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

import tracelens
from tests import crowded
from tracelens.loading import load_trace
from tracelens.model.events import ABSENT, Category, Trace

STEPS, DEVICES = 6, 4


@pytest.fixture(scope="module")
def path(tmp_path_factory: pytest.TempPathFactory) -> Path:
    found = tmp_path_factory.mktemp("crowded") / "trace.json"
    crowded.write(found, STEPS, DEVICES)
    return found


@pytest.fixture(scope="module")
def trace(path: Path) -> Trace:
    return load_trace(path)


def test_every_event_has_its_lane_and_place(trace: Trace) -> None:
    launches = STEPS * crowded.LAUNCHES_PER_STEP
    events = trace.events
    assert np.count_nonzero(events.category == Category.PYTHON) == launches * crowded.FRAMES_PER_LAUNCH
    assert set(trace.lanes.thread) >= set(crowded.THREADS.values())
    work = events.device_work()
    assert np.bincount(events.device[work]).tolist() == [launches // DEVICES] * DEVICES
    assert np.unique(events.stream[work]).tolist() == list(range(7, 7 + crowded.STREAMS))
    assert [device.id for device in trace.devices] == list(range(DEVICES))
    assert trace.repairs == ()


def test_each_kernel_hangs_on_the_call_before_it_and_that_on_its_frames(trace: Trace) -> None:
    events, links = trace.events, trace.links
    kernels = np.flatnonzero(events.device_work())
    assert (links.launch[kernels] == kernels - 1).all()
    assert (links.operator[kernels] == kernels - 2).all()
    assert (links.parent[kernels - 2] == kernels - 3).all()
    frames = np.flatnonzero(events.category == Category.PYTHON)
    outermost = frames[:: crowded.FRAMES_PER_LAUNCH]
    of_main = events.lane[outermost] == events.lane[outermost[0]]
    assert (links.parent[outermost[~of_main]] == ABSENT).all()
    assert (links.parent[frames[1 :: crowded.FRAMES_PER_LAUNCH]] == outermost).all()


@pytest.mark.parametrize("device", range(DEVICES))
def test_each_device_has_its_own_account(device: int, path: Path) -> None:
    document = tracelens.report(path, device=device, span="all").document
    busy = STEPS * crowded.LAUNCHES_PER_STEP // DEVICES * 20_000
    assert document["attribution"]["classes"]["kernel"]["ns"] == busy
    assert document["window"]["device"] == device
