"""What a replay needs to know of inputs, outputs and memory, without a device."""

from __future__ import annotations

from collections.abc import Hashable

import pytest
import torch

from capture import failure
from capture.forms.allocations import Allocations
from capture.forms.inputs import Inputs, buffer
from capture.forms.outputs import Outputs
from capture.forms.signature import put_together, refuse_host_inputs, signature, take_apart
from capture.records import FormRecord


def test_outputs_held_at_the_next_call_are_copied() -> None:
    outputs = Outputs()
    tensor = torch.ones(3)
    outputs.watch([tensor])
    outputs.look()
    assert outputs.held
    assert outputs.released([tensor])[0] is not tensor


def test_a_view_of_an_output_counts_as_held() -> None:
    outputs, tensor = Outputs(), torch.ones(3)
    view = tensor[1:]
    outputs.watch([tensor])
    del tensor
    outputs.look()
    assert outputs.held
    del view


def test_outputs_let_go_are_not_copied() -> None:
    outputs, tensor = Outputs(), torch.ones(3)
    outputs.watch([tensor])
    del tensor
    outputs.look()
    assert not outputs.held


def test_inputs_that_stay_are_read_in_place_and_others_are_copied_in() -> None:
    inputs, stays = Inputs(), torch.zeros(2)
    for step in range(3):
        with inputs.observed([stays, torch.full((2,), float(step)), 5]):
            stays.add_(1)
    static = inputs.make_static([stays, torch.full((2,), 9.0), 5])
    assert static[0] is stays
    assert static[2] == 5
    assert inputs.fill([stays, torch.full((2,), 7.0), 5])
    assert static[1].tolist() == [7.0, 7.0]
    assert not inputs.fill([torch.zeros(2), torch.zeros(2), 5]), "the script's own tensor is never a buffer"


def test_a_buffer_has_the_layout_that_code_was_compiled_for() -> None:
    rows = torch.arange(32.0).reshape(4, 8)
    for leaf in (rows[:, ::2], rows.t(), rows[1:3, 2:5], rows[0], torch.ones(0, 3), rows.unfold(1, 4, 2)):
        held = buffer(leaf)
        assert (held.stride(), held.tolist()) == (leaf.stride(), leaf.tolist())
        assert held.data_ptr() != leaf.data_ptr() or not leaf.numel()
    assert buffer(rows[:1].expand(4, 8)).copy_(rows).tolist() == rows.tolist()


def test_signature_tells_what_a_graph_depends_on() -> None:
    def key(*args: object, **kwargs: object) -> Hashable:
        return signature(*take_apart(args, kwargs), None)

    x = torch.ones(2, 3)
    assert key(x) == key(torch.zeros(2, 3))
    others = [key(x.double()), key(x[:1]), key(x, 1), key(x, 2), key(y=x), key([x]), key(x.clone().requires_grad_())]
    assert len({key(x), *others}) == 1 + len(others)
    with torch.no_grad():
        assert key(torch.zeros(2, 3)) != others[0]
    args, kwargs = put_together(*take_apart(([x], 3), {"y": x}))
    assert args[1] == 3
    assert kwargs["y"] is x
    with pytest.raises(failure.Blocked, match="is on the cpu"):
        refuse_host_inputs([x])


def test_allocations_of_captures_add_up(monkeypatch: pytest.MonkeyPatch) -> None:
    record, found = FormRecord(), Allocations()
    with found.counted():
        pass
    found.report(record)
    assert (record.capture_allocations, record.graph_mib) == (None, None)
    stats = iter([(10, 0), (13, 2 << 20), (20, 2 << 20), (21, 3 << 20)])
    keys = "allocation.all.allocated", "reserved_bytes.all.current"
    monkeypatch.setattr(torch.cuda, "memory_stats", lambda: dict(zip(keys, next(stats), strict=True)))
    for _ in range(2):
        with found.counted():
            pass
    found.report(record)
    assert (record.capture_allocations, record.graph_mib) == (4, 3.0)
