"""Steps that waits cut into pieces."""

from __future__ import annotations

from itertools import pairwise

import pytest

from tests.advice.cases.beats import inside
from tests.advice.story import Beat, Clock, analysis, gemm, item, op, pointwise
from tests.build import TraceBuilder
from tracelens.advice import advise
from tracelens.advice import constants as C
from tracelens.advice.results import Form
from tracelens.model.units import NS_PER_MS

COPY = 40.0
"""us of a copy from the host."""
BACKWARD = op("autograd::engine::evaluate_function: AddBackward0", 2, kernel="elementwise_kernel", host=20)


def forms(*beats: object) -> dict[str, Form]:
    return advise(analysis(*beats)).forms  # type: ignore[arg-type]


def step_ms(form: Form) -> float:
    assert form.step_ms is not None
    return form.step_ms


def test_a_training_loop_that_waits_stays_eager() -> None:
    looped = forms(*[*[pointwise(2, host=30)] * 50, BACKWARD, item()] * 3)
    assert step_ms(looped["compile"]) == step_ms(looped["eager"]) == step_ms(looped["both"])
    assert looped["replay"].step_ms is None


def test_a_training_step_that_waits_between_unlike_pieces_is_no_loop() -> None:
    unlike = [[pointwise(2, host=30)] * 50, [gemm(5)] * 50, [op("aten::sqrt", 2, host=30)] * 50]
    waiting = forms(*(beat for piece in unlike for beat in (*piece, BACKWARD, item())))
    assert step_ms(waiting["compile"]) < 0.8 * step_ms(waiting["eager"])


def test_a_training_step_that_waits_at_its_end_begins_on_an_idle_device_under_reduce_overhead() -> None:
    work = [*[pointwise(200, 1 << 25)] * 20, BACKWARD]
    waiting, free = forms(*work, item()), forms(*work)
    host = C.TREE_TRAINING / NS_PER_MS
    assert step_ms(waiting["both"]) > step_ms(free["both"]) + 0.4 * host
    assert step_ms(waiting["both"]) > step_ms(waiting["compile"])


def test_the_body_of_a_loop_that_waits_is_compiled_where_it_is_long() -> None:
    long = forms(*[*[pointwise(2, host=30)] * 50, item()] * 5)
    short = forms(*[*[pointwise(2, host=30)] * 20, item()] * 5)
    assert step_ms(long["compile"]) < 0.2 * step_ms(long["eager"])
    assert step_ms(short["compile"]) > step_ms(short["eager"])
    assert step_ms(short["both"]) > step_ms(short["eager"])


def test_a_loop_keeps_much_of_the_compiled_time_under_reduce_overhead() -> None:
    looped = forms(*[*[pointwise(2, host=30), gemm(5)] * 30, item()] * 5)
    assert 0.5 <= step_ms(looped["both"]) / step_ms(looped["compile"]) <= 0.7


def test_three_like_pieces_are_a_loop_whose_functions_are_regions() -> None:
    def rounds(*often: int) -> dict[str, Form]:
        return forms(*(beat for times in often for beat in (*[pointwise(2, host=30), gemm(5)] * times, item())))

    looped, written_out = rounds(40, 40, 40), rounds(39, 40, 41)
    assert step_ms(looped["both"]) > 1.3 * step_ms(written_out["both"])
    assert looped["compile"].terms is not None
    assert looped["compile"].terms.values["guards_ns"] == pytest.approx(123 / C.LOOPED_CALLS * C.GUARDS)
    assert (looped["both"].low or 0) <= step_ms(written_out["both"])
    assert (looped["both"].high or 0) >= step_ms(looped["eager"])


def test_nothing_to_fuse_on_a_busy_device_is_nothing_to_gain() -> None:
    small = {"grid": [4, 1, 1]}
    found = forms(*[gemm(2_000, **small), gemm(2_000, stream=13, **small), item()] * 5)
    assert step_ms(found["compile"]) >= step_ms(found["eager"])
    assert step_ms(found["both"]) >= step_ms(found["eager"])
    fusing = forms(*[gemm(2_000, **small), pointwise(900, 1 << 25), pointwise(900, 1 << 25)] * 5, item())
    assert step_ms(fusing["compile"]) < step_ms(fusing["eager"])


def test_a_wait_between_two_pieces_is_a_break_and_no_loop() -> None:
    uneven = forms(item(), *[pointwise(2, host=30)] * 60, item())
    assert step_ms(uneven["both"]) < 0.7 * step_ms(uneven["eager"])
    once = forms(*[pointwise(200, 1 << 25)] * 10, item(), *[pointwise(200, 1 << 25)] * 10)
    assert step_ms(once["compile"]) < 0.3 * step_ms(once["eager"])
    assert step_ms(once["both"]) > step_ms(once["compile"])


def test_compiled_code_waits_for_each_copy_from_the_host_into_a_tensor_of_the_step() -> None:
    def copied(*around: str) -> dict[str, Form]:
        return forms(*[*[pointwise(2, host=30)] * 5, *upload_by(*around)] * 4)

    kept, fresh = copied(), copied("aten::_to_copy")
    assert step_ms(kept["compile"]) > step_ms(fresh["compile"]) + 0.9 * 4 * COPY / 1000
    assert step_ms(kept["both"]) > step_ms(kept["compile"])
    assert kept["both"].variant == "reduce-overhead"
    assert fresh["both"].variant == "manual"
    assert step_ms(kept["replay"]) == step_ms(fresh["replay"])
    nested = copied("aten::to", "aten::copy_")
    assert step_ms(nested["both"]) == step_ms(fresh["both"]), "early releases have a copy inside the copy"
    assert step_ms(copied("aten::copy_")["both"]) == step_ms(kept["both"])


def upload_by(*around: str) -> list[Beat]:
    """A copy of pinned memory that nothing waits for, by aten::copy_ and what calls it, the outermost first."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        for inner, name in enumerate(around):
            trace.op(name, clock.host - 1 + inner / 4, 25 - inner / 2)
        trace.op("aten::copy_", clock.host, 20)
        starts = max(clock.streams.get(7, 0.0) + 1, clock.host + 16)
        trace.copy(clock.host + 10, 5, at=starts, runs=COPY, kind="HtoD (Pinned -> Device)")
        clock.host += 30
        clock.streams[7] = starts + COPY

    return [tell]


def test_host_and_device_take_turns_at_a_wait() -> None:
    work = [gemm(2_000)] * 3
    ahead, turns = forms(*work * 2), forms(*work, item(), *work)
    assert step_ms(turns["compile"]) == pytest.approx(step_ms(ahead["compile"]) + 0.075, abs=0.03)
    assert step_ms(turns["both"]) > step_ms(ahead["both"]) + 0.1


def test_the_device_waits_for_the_step_to_be_entered_and_as_often_for_a_graph_to_resume() -> None:
    pieces: list[Beat] = []
    both: list[float] = []
    for more in range(3):
        pieces += [*[pointwise(5, host=30)] * (40 + more), item()]
        both.append(step_ms(forms(*pieces)["both"]) * NS_PER_MS)
    one, two, three = both
    assert one > C.TREE_FLOOR + C.REGION_OVERHEAD
    assert two - one == pytest.approx(three - two, rel=0.3)
    assert two - one == pytest.approx(C.REGION_OVERHEAD, rel=0.3)


def cut(launches: int, waits: int) -> dict[str, Form]:
    """A step of so many launches, each of another kernel than its neighbours, with waits evenly between them."""
    names = ("aten::sin", "aten::cos", "aten::exp", "aten::tanh", "aten::erf")
    work = [op(names[at % 5], 2, host=25) if at % 3 else gemm(4) for at in range(launches)]
    bounds = [launches * (at + 1) // (waits + 1) - 1 for at in range(waits)]
    return forms(*(beat for at, one in enumerate(work) for beat in ((one, item()) if at in bounds else (one,))))


@pytest.mark.parametrize("launches", [18, 80, 140, 240])
def test_a_wait_more_leaves_the_ranges_in_touch(launches: int) -> None:
    steps = [cut(launches, waits) for waits in range(1, 9)]
    for fewer, more in pairwise(steps):
        for form in ("eager", "compile", "both"):
            assert (fewer[form].low or 0) <= (more[form].high or 0), form
            assert (more[form].low or 0) <= (fewer[form].high or 0), form


def test_what_compiling_pieces_takes_goes_over_evenly_to_eager_with_their_length() -> None:
    work = [op("aten::tanh", 2, host=25), op("aten::tanh", 2, host=25), gemm(4)] * 16
    rounds = {length: [*[*work[:length], item()] * 4, *work[:length]] for length in range(29, 47, 2)}
    times = [step_ms(forms(*beats)["both"]) / length for length, beats in rounds.items()]
    assert times == sorted(times, reverse=True)
    assert max(longer / shorter for longer, shorter in pairwise(times)) < 1.5
    assert times[0] > 2 * times[-1]


def test_pieces_that_do_not_repeat_are_less_likely_left_to_eager_than_rounds_of_a_loop() -> None:
    alike = [[pointwise(2, host=30)] * 20] * 5
    unlike = [
        [op(name, 2, host=30)] * 20 for name in ("aten::sin", "aten::cos", "aten::exp", "aten::tanh", "aten::erf")
    ]
    looped, written_out = (
        forms(*(beat for piece in pieces for beat in (*piece, item()))) for pieces in (alike, unlike)
    )
    for form in ("compile", "both"):
        assert step_ms(written_out[form]) < 0.8 * step_ms(looped[form])
        assert (written_out[form].high or 0) >= step_ms(looped[form])


def test_many_waits_make_a_compiled_step_of_tiny_work_no_faster_than_eager() -> None:
    for waits in (4, 8, 16):
        waiting = cut(2 * waits, waits)
        assert step_ms(waiting["compile"]) >= step_ms(waiting["eager"])


def test_the_device_waits_for_compiled_code_to_enter_a_step_and_for_less_long_to_resume_it() -> None:
    work = [gemm(500)] * 4
    ends, within = forms(*work, item())["compile"].terms, forms(*work, item(), *work)["compile"].terms
    assert ends is not None
    assert within is not None
    assert ends.values["begun_ns"] == C.COMPILED_ENTRY
    assert within.values["begun_ns"] == C.COMPILED_RESUME


def nonzero(runs: float) -> Beat:
    """A mask's places: the host waits for their number, then launches a kernel that takes so many us."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        begun, copied = clock.host, max(clock.drained, clock.host + 10)
        trace.op("aten::nonzero", begun, copied + 20 - begun)
        trace.copy(begun + 1, 4, at=copied, runs=1, kind="DtoH (Device -> Pinned)")
        trace.sync(begun + 6, copied - begun, "stream")
        trace.launch("DeviceSelectSweepKernel", copied + 8, 5, at=copied + 18, runs=runs)
        clock.host, clock.streams[7] = copied + 22, copied + 18 + runs

    return tell


@pytest.mark.parametrize(("runs", "resumes"), [(5, 0.9), (25, 0.5), (100, 0.0)])
def test_what_an_operator_launches_behind_its_wait_hides_the_resuming(runs: float, resumes: float) -> None:
    work = [gemm(500)] * 4
    terms = forms(*work, nonzero(runs), *work)["compile"].terms
    assert terms is not None
    assert terms.values["begun_ns"] == pytest.approx(resumes * C.COMPILED_RESUME, abs=0.01)


def test_a_loop_that_is_left_to_eager_may_call_functions_that_are_compiled() -> None:
    looped = forms(*[*[pointwise(2, host=60)] * 20, item()] * 8)
    low = looped["compile"].low
    assert low is not None
    assert step_ms(looped["compile"]) > step_ms(looped["eager"])
    assert low < 0.5 * step_ms(looped["eager"])


def test_the_short_body_of_a_loop_keeps_its_device_work_unless_functions_do_it() -> None:
    def waiting(*rounds: int) -> dict[str, Form]:
        return forms(*(beat for often in rounds for beat in (*[pointwise(200, 1 << 25)] * often, item())))

    looped, written_out = waiting(8, 8, 8, 8), waiting(6, 7, 9, 10)
    assert step_ms(looped["compile"]) > step_ms(looped["eager"])
    assert step_ms(looped["both"]) > step_ms(looped["eager"])
    assert step_ms(written_out["compile"]) < 0.5 * step_ms(looped["compile"])
    assert (looped["compile"].low or 0) < step_ms(written_out["compile"])


def test_values_read_one_after_another_at_the_end_are_hardly_a_loop() -> None:
    scores = [beat for name in ("mean", "sum", "amax", "std", "var") for beat in (op(f"aten::{name}", 2), item())]
    scored = forms(*[pointwise(2, host=30)] * 20, *scores)
    assert step_ms(scored["compile"]) < 0.9 * step_ms(scored["eager"])
    assert (scored["compile"].high or 0) > step_ms(scored["eager"])


def picked() -> Beat:
    """What a boolean mask picks out: their number is read on the host, inside the operator."""
    found = inside("aten::nonzero", op("aten::nonzero", 2, kernel="DeviceSelect"), item())
    return inside("aten::index", found, op("aten::index", 2, kernel="index_elementwise_kernel"))


def test_an_operator_that_waits_is_left_to_eager_and_no_graph_of_its_own() -> None:
    work = [pointwise(2, host=30)] * 12
    picking = forms(*work, picked(), picked(), picked(), picked())
    reading = forms(*work, *[beat for _ in range(4) for beat in (item(), pointwise(2, host=30))])
    assert picking["both"].terms is not None
    assert picking["both"].terms.values["pieces"] == 1
    assert "left_to_eager" not in picking["both"].terms.values
    assert reading["both"].terms is not None
    assert "left_to_eager" in reading["both"].terms.values


def test_a_solver_that_waits_breaks_no_graph_and_cannot_be_captured_in_one() -> None:
    work = [pointwise(2, host=30)] * 12
    solved = forms(*work, inside("aten::linalg_eigh", inside("aten::_linalg_eigh", gemm(20), waiting())), *work)
    assert solved["both"].step_ms is None
    assert [blocker.id for blocker in solved["both"].blockers] == ["sync"]
    assert solved["compile"].terms is not None
    assert solved["compile"].terms.values["pieces"] == 1
    check = inside("aten::_linalg_check_errors", item())
    checked = forms(*work, inside("aten::linalg_cholesky", gemm(20), check), *work)
    assert checked["both"].terms is not None
    assert checked["both"].terms.values["pieces"] == 1


def waiting() -> Beat:
    """A wait for all that the stream has to do."""

    def tell(trace: TraceBuilder, clock: Clock, step: int) -> None:
        del step
        trace.sync(clock.host, max(clock.drained - clock.host, 0) + 5, "stream")
        clock.host = max(clock.drained, clock.host) + 6

    return tell


def test_a_step_of_nothing_but_operators_that_wait_has_no_graphs_whose_inputs_would_be_copied() -> None:
    read = op("aten::min", 200, shapes=[[1 << 26]], dtypes=["long int"])
    counting = inside("aten::bincount", read, item(), op("aten::zeros", 500, kernel="kernelHistogram1D"))
    only, more = forms(counting, counting), forms(counting, counting, pointwise(2))
    assert step_ms(only["both"]) == step_ms(only["compile"])
    assert only["both"].variant == "reduce-overhead"
    assert step_ms(more["both"]) > step_ms(more["compile"])
