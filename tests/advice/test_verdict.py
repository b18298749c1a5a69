"""The verdict follows from the forms, whatever they are."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import given
from hypothesis import strategies as st

from tracelens.advice.forms.verdict import COMPLEXITY, choose, confidence, is_decided, speedup, verdict_of
from tracelens.advice.results import Blocker, Form
from tracelens.model.forms import FORMS

times = st.one_of(st.none(), st.floats(min_value=1e-3, max_value=1e3))
runnable = st.floats(min_value=1e-3, max_value=1e3)


def form(step: float | None, spread: float = 1.1) -> Form:
    return Form(step, None if step is None else step / spread, None if step is None else step * spread, "predicted")


@st.composite
def all_forms(draw: st.DrawFn) -> dict[str, Form]:
    return {name: form(draw(runnable if name == "eager" else times)) for name in FORMS}


@given(all_forms())
def test_the_choice_is_within_ten_percent_of_the_best_and_no_simpler_form_within_three(forms: dict[str, Form]) -> None:
    chosen = choose(forms)
    known = {name: found.step_ms for name, found in forms.items() if found.step_ms is not None}
    best = min(known.values())
    assert known[chosen] <= (1.05 if chosen != "replay" else 1.07) * best
    simpler = [name for name in known if COMPLEXITY[name] < COMPLEXITY[chosen]]
    assert all(known[name] > 1.03 * best for name in simpler)


@given(all_forms(), st.floats(min_value=0.1, max_value=1.0))
def test_making_the_chosen_form_faster_keeps_it_chosen(forms: dict[str, Form], factor: float) -> None:
    chosen = choose(forms)
    step = forms[chosen].step_ms
    assert step is not None
    assert choose({**forms, chosen: form(step * factor)}) == chosen


@given(all_forms(), st.sampled_from(["compile", "replay", "both"]))
def test_making_another_form_slower_never_makes_it_chosen(forms: dict[str, Form], other: str) -> None:
    step = forms[other].step_ms
    if step is None or choose(forms) == other:
        return
    assert choose({**forms, other: form(step * 2)}) != other


@given(all_forms())
def test_confidence_is_a_probability_and_the_speedup_range_holds_its_middle(forms: dict[str, Form]) -> None:
    chosen = choose(forms)
    assert 0 <= confidence(forms, chosen) <= 1
    gain = speedup(forms, chosen)
    assert gain is not None
    assert gain.low <= gain.mid <= gain.high


def test_a_small_gain_of_predicted_fused_kernels_over_a_replay_is_not_trusted() -> None:
    near = {"eager": form(9.0), "compile": form(9.0), "replay": form(1.06), "both": form(1.0)}
    assert choose(near) == "replay"
    assert choose({**near, "replay": form(1.1)}) == "both"
    assert choose({name: replace(found, source="measured") for name, found in near.items()}) == "both"


def test_a_clear_lead_is_surer_than_a_narrow_one() -> None:
    slow = {"eager": form(10.0), "compile": form(9.0), "replay": form(8.0)}
    assert confidence({**slow, "both": form(1.0)}, "both") > confidence({**slow, "both": form(7.5)}, "both")


def test_forms_that_the_device_sets_alike_err_together() -> None:
    alike = dict.fromkeys(("eager", "compile", "both"), form(5.0, 1.4))
    assert confidence(alike, "eager", device_ms=4.9) > 0.6 > confidence(alike, "eager", device_ms=1.0)
    fused = {**alike, "compile": form(4.0, 1.4)}
    assert confidence(fused, "eager", device_ms=4.9) == confidence(fused, "eager", device_ms=1.0) < 0.5


def test_a_verdict_more_likely_wrong_than_right_is_no_decision_unless_all_is_measured() -> None:
    forms = {"eager": form(2.0), "compile": form(1.5), "replay": form(None), "both": form(None)}
    assert is_decided(forms, "eager", 0.5)
    assert not is_decided(forms, "eager", 0.49)
    assert is_decided({name: replace(found, source="measured") for name, found in forms.items()}, "eager", 0.49)


def test_a_form_in_use_is_kept_when_nothing_beats_it_and_reads_neither() -> None:
    forms = {"eager": form(None), "compile": form(None), "replay": form(1.0), "both": form(0.99)}
    assert choose(forms, "replay") == "replay"
    assert verdict_of("replay", "replay") == "neither"
    assert verdict_of("both", "replay") == "both"
    assert verdict_of("eager") == "neither"


def test_of_two_equally_simple_forms_the_faster_is_chosen() -> None:
    forms = {"eager": form(10.0), "compile": form(1.01), "replay": form(1.0), "both": form(1.0)}
    assert choose(forms) == "replay"


def test_nothing_runs_leaves_eager() -> None:
    assert choose(dict.fromkeys(FORMS, form(None))) == "eager"


def test_a_form_that_nothing_is_compared_with_is_no_verdict() -> None:
    alone = {"eager": form(None), "compile": form(None), "replay": form(None), "both": form(0.1)}
    sure = confidence(alone, "both")
    assert sure <= 0.5
    assert not is_decided(alone, "both", sure)
    assert not is_decided(alone, "both", 0.95), "whatever its own range says"


def test_a_form_that_no_other_can_replace_is_a_verdict() -> None:
    waits = Blocker("sync", "1 wait", None, 1.0, "move it")
    blocked = {name: replace(form(None), blockers=(waits,)) for name in ("compile", "replay", "both")}
    alone: dict[str, Form] = {"eager": form(0.1), **blocked}
    assert is_decided(alone, "eager", confidence(alone, "eager"))
