"""Events are found by their braces, whatever stands in their strings."""

from __future__ import annotations

import json

from hypothesis import given, settings
from hypothesis import strategies as st

from tests.loading.nested import objects
from tracelens.loading.framing import frame_events

EVENTS = objects(6)
LAYOUTS = st.sampled_from([{}, {"indent": 2}, {"separators": (",", ":")}, {"ensure_ascii": False}])


@settings(max_examples=300)
@given(EVENTS, LAYOUTS)
def test_every_event_is_framed(events: list[dict[str, object]], layout: dict[str, object]) -> None:
    data = json.dumps(events, **layout)[1:].encode()
    frame = frame_events(data)
    texts = [data[start : end + 1] for start, end in zip(frame.starts.tolist(), frame.ends.tolist(), strict=True)]
    assert [json.loads(text) for text in texts] == events


@settings(max_examples=300)
@given(EVENTS, st.data())
def test_a_cut_loses_no_whole_event(events: list[dict[str, object]], draw: st.DataObject) -> None:
    data = json.dumps(events)[1:].encode()
    cut = draw.draw(st.integers(0, len(data)))
    ends = frame_events(data).ends
    assert frame_events(data[:cut]).ends.tolist() == [end for end in ends.tolist() if end < cut]


def test_a_frame_stops_before_a_string_that_cannot_be_one() -> None:
    data = b'{"name": "a"}, {"name": "say "hi" }", "pid": 1}, {"name": "b"}]'
    frame = frame_events(data)
    assert frame.stop == len(b'{"name": "a"}')
    assert not frame.clean


def test_a_frame_stops_where_the_array_ends() -> None:
    data = b'{"a": 1}, {"a": 2} ], "more": [{"b": 1}], "traceName": "x"}'
    assert len(frame_events(data)) == 2


def test_nothing_is_framed_in_an_empty_slab() -> None:
    assert len(frame_events(b"")) == 0
    assert len(frame_events(b"  ]")) == 0
