"""Work outside PyTorch: told from dispatch by its length, with what leaving compiled code for it costs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import pytest

from tests.advice.cases.beats import inside, loader, on_host, pause
from tests.advice.story import Beat, Clock, analysis, at_step, call, gemm, item, pointwise, upload
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.blockers.blockers import find_blockers
from tracelens.advice.blockers.confirmed import confirmed
from tracelens.advice.device.facts import Facts, facts_of
from tracelens.advice.results import Form
from tracelens.advice.step.outside import LONG, UNCLEAR, find_outside, mainly_computing, stretches
from tracelens.advice.terms import Terms
from tracelens.analysis.results import Analysis

BODY = [gemm(10)] * 4


def facts(seen: Analysis) -> Facts:
    found = facts_of(seen)
    assert found is not None
    return found


def left(*beats: Beat) -> float:
    terms = advise(analysis(*beats)).forms["compile"].terms
    assert terms is not None
    return terms.values.get("left_ns", 0.0)


def test_work_within_a_step_leaves_compiled_code_once() -> None:
    assert left(*BODY, pause(3_000), *BODY) == pytest.approx(C.GUARDS + C.REGION_OVERHEAD)
    assert find_outside(analysis(*BODY, pause(3_000), *BODY, pause(3_000), *BODY)).left == 2


@pytest.mark.parametrize(
    "beats", [(loader(3_000), *BODY), (*BODY, loader(3_000), *BODY), (pause(3_000), *BODY), (*BODY, pause(3_000))]
)
def test_input_and_work_before_or_behind_a_step_do_not(beats: tuple[Beat, ...]) -> None:
    assert left(*beats) == 0


def test_leaving_takes_no_more_than_what_dispatch_does_not_explain() -> None:
    short = find_outside(analysis(*BODY, pause(LONG / 1e3 + 50), *BODY))
    assert 0 < short.beyond < C.GUARDS + C.REGION_OVERHEAD
    assert left(*BODY, pause(LONG / 1e3 + 50), *BODY) == pytest.approx(short.beyond)


def pausing(us: float) -> Mapping[str, Form]:
    return advise(analysis(*[pointwise(3, 1 << 16, host=30)] * 10, pause(us))).forms


def test_a_longer_pause_leaves_the_ranges_in_touch() -> None:
    steps = [pausing(us) for us in (200, 280, 320, 400, 480, 499, 501, 550, 700)]
    for shorter, longer in pairwise(steps):
        for form in ("eager", "compile", "replay", "both"):
            assert (longer[form].low or 0) <= (shorter[form].high or 0), form


def test_a_pause_that_may_be_work_keeps_its_time_at_the_high_end_alone() -> None:
    short, unclear = pausing(UNCLEAR / 1e3 - 100), pausing(UNCLEAR / 1e3 + 100)
    assert unclear["replay"].step_ms == pytest.approx(short["replay"].step_ms)
    assert (unclear["replay"].high or 0) > (short["replay"].high or 0) + 0.8 * UNCLEAR / 1e6


def test_a_range_that_a_pause_widens_says_so() -> None:
    advice = advise(analysis(*[pointwise(3, 1 << 16, host=30)] * 10, pause(400)))
    (told,) = (finding for finding in advice.findings if finding.rule == "unclear_pauses")
    assert told.title.startswith("Ranges are wider: stretches of 300-500 us without an operator, 4")
    assert told.title.endswith("compile, replay and both then take as much longer")
    assert told.evidence
    wider = {name for name, form in advice.forms.items() if form.terms and "unclear_ns" in form.terms.values}
    assert wider == {"compile", "replay", "both"}
    assert "unclear_ns" in (advice.forms["replay"].terms or Terms()).values


def once(us: float) -> Beat:
    """A pause that only the third step has."""

    def beat(trace: TraceBuilder, clock: Clock, step: int) -> None:
        if step == 2:
            pause(us)(trace, clock, step)

    return beat


@pytest.mark.parametrize("us", [400, 600])
def test_a_pause_of_one_step_is_no_work_of_the_step(us: float) -> None:
    found = find_outside(analysis(*BODY * 40, once(us), *BODY * 40))
    assert (found.unclear, found.idle, found.left) == (0, 0, 0)
    assert find_outside(analysis(*BODY * 40, pause(600), *BODY * 40)).idle > 0


def test_work_that_one_step_goes_without_is_work_of_the_step() -> None:
    def mostly(trace: TraceBuilder, clock: Clock, step: int) -> None:
        if step != 2:
            pause(600)(trace, clock, step)

    assert find_outside(analysis(*BODY * 40, mostly, *BODY * 40)).idle > 0


@pytest.mark.parametrize("us", [2_000, 100_000])
def test_what_a_loader_takes_it_takes_at_the_low_end_too(us: float) -> None:
    forms = advise(analysis(loader(us), *BODY)).forms
    for name, form in forms.items():
        assert (form.low or 0) > 0.6 * us / 1e3, name


SHORT = [pointwise(3, 1 << 16, host=30)] * 10


@pytest.mark.parametrize("beats", [(loader(20_000), *SHORT), (*SHORT, pause(20_000), *SHORT), (*SHORT, pause(20_000))])
def test_another_process_may_take_longer_for_such_work_than_the_traced_one(beats: tuple[Beat, ...]) -> None:
    waiting, plain = (advise(analysis(*some, item())).forms for some in (beats, SHORT))
    for name in ("eager", "compile", "both"):
        own, without = waiting[name], plain[name]
        assert (own.step_ms or 0) < 20 + 2 * (without.step_ms or 0), name
        assert (own.low or 0) < 0.75 * 20 + (without.low or 0), name
        assert (own.high or 0) > 1.6 * 20, name


def test_no_process_takes_longer_for_what_may_be_dispatch() -> None:
    short, none = pausing(LONG / 1e3 + 20), pausing(0)
    for name in ("eager", "compile"):
        above, without = ((form[name].high or 0) - (form[name].step_ms or 0) for form in (short, none))
        assert above < without + 0.05, name


@pytest.mark.parametrize("beat", [on_host("aten::mm", 50_000), call("cuFooBar", 50_000)])
def test_an_operator_that_computes_on_the_host_stays_in_every_form(beat: Beat) -> None:
    forms = advise(analysis(*SHORT, beat, *SHORT)).forms
    for name in ("eager", "compile", "both"):
        form = forms[name]
        assert form.step_ms == pytest.approx(50, abs=2), name
        assert (form.low or 0) > 0.6 * 50, name


def test_it_is_repaired_first_and_told_by_its_name_in_every_form() -> None:
    advice = advise(analysis(*SHORT, on_host("aten::mm", 50_000), *SHORT))
    fixes = advice.recommendation.fix_first
    assert [(blocker.id, blocker.where) for blocker in fixes] == [("host_compute", "aten::mm")]
    assert "compute on the host" in fixes[0].message
    assert all(form.blockers == fixes for form in advice.forms.values())


def test_no_graph_holds_what_an_operator_computes_on_the_host_between_launches() -> None:
    forms = advise(analysis(*SHORT, on_host("aten::mm", 1_500), *SHORT)).forms
    assert forms["replay"].step_ms is None
    assert forms["both"].variant == "reduce-overhead"
    assert forms["both"].terms is not None
    assert forms["both"].terms.decided_by == "host_compute"
    assert (forms["both"].step_ms or 0) > (forms["compile"].step_ms or 0)


@pytest.mark.parametrize("beats", [[on_host("aten::sort", 3_000), *SHORT], [*SHORT, pause(3_000), *SHORT]])
def test_host_work_around_the_launches_or_of_no_operator_costs_time_in_every_form(beats: list[Beat]) -> None:
    advice = advise(analysis(*beats))
    assert [blocker.id for blocker in advice.recommendation.fix_first] == ["outside_work"]
    for form in advice.forms.values():
        assert form.step_ms is not None
        assert [blocker.id for blocker in form.blockers] == ["outside_work"]


def test_a_replay_that_ran_had_its_host_work_outside() -> None:
    seen = analysis(*SHORT, on_host("aten::mm", 50_000), *SHORT)
    ran = Form(50.2, 50.0, 50.4, "measured")
    (found,) = confirmed(find_blockers(seen, facts(seen).region), ran)
    assert (found.blocker.id, found.vetoes, found.first) == ("outside_work", False, True)


def test_it_is_told_by_the_operator_that_takes_longest() -> None:
    sorting = inside("aten::unique", on_host("aten::sort", 900), pause(2_000))
    seen = analysis(*SHORT, on_host("aten::mm", 1_000), *SHORT, sorting, *SHORT)
    assert mainly_computing(seen, stretches(seen)) == "aten::unique"
    seen = analysis(*SHORT, on_host("aten::mm", 1_000), pause(2_000), *SHORT)
    assert mainly_computing(seen, stretches(seen)) is None


@pytest.mark.parametrize(
    "beats",
    [
        [on_host("aten::view", 50)] * 40,
        [inside("aten::linear", on_host("aten::t", 700), pointwise(3))],
        [inside("aten::empty", pause(700), call("cudaMalloc", 30))],
        [at_step(2, on_host("aten::view", 1_500))],
    ],
    ids=["many short ones", "one that launches", "one that allocates", "one held up once"],
)
def test_operators_that_dispatch_do_not(beats: list[Beat]) -> None:
    seen = analysis(*SHORT, *beats, *SHORT)
    assert not len(stretches(seen))
    assert find_outside(seen).unclear == 0


def test_compiled_code_calls_it_without_being_left() -> None:
    assert left(*BODY, on_host("aten::mm", 3_000), *BODY) == 0


def test_a_copy_that_compiled_code_waits_for_varies_as_the_device_does() -> None:
    copy = upload("HtoD (Pinned -> Device)", runs=20_000)
    forms = advise(analysis(*SHORT, inside("aten::copy_", copy), *SHORT)).forms
    for name in ("compile", "both"):
        form = forms[name]
        assert form.step_ms == pytest.approx(20, abs=1.5), name
        assert (form.high or 0) < 23, name
