from __future__ import annotations

import pytest

from tests.reporting import example
from tracelens.reporting import phrases
from tracelens.reporting.printable import short_place
from tracelens.reporting.schema import FindingEntry


def test_a_prediction_below_the_device_s_time_says_what_it_counts_on() -> None:
    document = example.judged("neither")
    document["attribution"]["classes"]["kernel"]["ns"] = 300_000
    assert "less than" not in phrases.after_fix(document)
    document["attribution"]["classes"]["kernel"]["ns"] = 6_000_000
    assert phrases.after_fix(document).endswith(
        "That is less than the 2.00 ms that the device works now: it counts on fused kernels."
    )


def test_fused_kernels_are_not_told_to_save_more_than_they_do() -> None:
    document = example.judged("neither")
    document["attribution"]["classes"]["kernel"]["ns"] = 9_000_000
    after = document["recommendation"]["after_fix"]
    assert after is not None
    values = {"replaced_ns": 900_000.0, "generated_ns": 100_000.0}
    after |= {"verdict": "both", "step_ms": 1.5, "terms": {"formula": "", "decided_by": "", "values": values}}
    on = "it counts on fused kernels, which save 0.80 ms, and on streams that overlap as far as their events allow."
    assert phrases.after_fix(document).endswith(on)
    after |= {"step_ms": 2.2}
    assert phrases.after_fix(document).endswith("it counts on fused kernels.")


def test_a_prediction_with_a_late_rank_says_what_its_low_end_counts_on() -> None:
    document = example.judged("neither")
    document["attribution"]["classes"]["kernel"]["ns"] = 3_000_000
    after = document["recommendation"]["after_fix"]
    assert after is not None
    after |= {"verdict": "replay", "step_ms": 1.0, "low": 0.4, "high": 1.4}
    assert phrases.after_fix(document) == "After that: replay, 1.00 ms (predicted 0.40-1.40)."
    late: FindingEntry = {
        "rule": "late_rank", "severity": "warning", "title": "", "saving_ms": 2.0, "evidence": [], "advice": ""
    }  # fmt: skip
    document["findings"] = [late]
    assert phrases.after_fix(document).endswith("(predicted 0.40-1.40). At the low end no rank is late for the others.")


def test_repairs_beside_the_first_are_no_more_of_its_kind() -> None:
    document = example.judged("replay")
    (fix,) = document["recommendation"]["fix_first"]
    document["recommendation"]["fix_first"] = [fix, fix | {"blocker": "changing_shapes", "advice": "Pad."}]
    assert "(32 .item() a step and 1 other repair): " in phrases.headline(document)


@pytest.mark.parametrize(("high", "surely"), [(0.39, True), (0.41, False)])
def test_repairs_that_surely_pay_come_before_a_guess_of_the_form(high: float, surely: bool) -> None:
    document = example.judged("replay")
    document["recommendation"] |= {"decided": False, "among": []}
    after = document["recommendation"]["after_fix"]
    assert after is not None
    after |= {"step_ms": 0.3, "low": 0.2, "high": high}
    first = f"Repair first (32 .item() a step): both, 0.30 ms (predicted 0.20-{high}). As it is, cannot tell which "
    guess = "Cannot tell which form is fastest: both 0.47 ms (0.40-0.60) or "
    assert phrases.headline(document).startswith(first if surely else guess)
    (fix,) = document["recommendation"]["fix_first"]
    assert phrases.next_steps(document)[0].startswith(fix["advice"] if surely else phrases.MEASURE)


def test_one_repair_of_two_blockers_is_one_step() -> None:
    document = example.judged("replay")
    (fix,) = document["recommendation"]["fix_first"]
    document["recommendation"]["fix_first"] = [fix, fix | {"blocker": "pageable_copy", "where": None}]
    assert len([step for step in phrases.next_steps(document) if fix["advice"] in step]) == 1
    assert short_place(fix["where"]) in phrases.next_steps(document)[0]
    assert "other repair" not in phrases.headline(document)


def test_one_repair_at_several_places_names_them() -> None:
    document = example.judged("replay")
    (fix,) = document["recommendation"]["fix_first"]
    document["recommendation"]["fix_first"] = [fix | {"where": f"train.py:{line}"} for line in range(3)]
    (step,) = [step for step in phrases.next_steps(document) if fix["advice"] in step]
    assert step == f"{fix['advice']} (train.py:0, train.py:1, train.py:2)"
    document["recommendation"]["fix_first"] = [fix | {"where": f"train.py:{line}"} for line in range(6)]
    (step,) = [step for step in phrases.next_steps(document) if fix["advice"] in step]
    assert step.endswith("(train.py:0, train.py:1, train.py:2, train.py:3 and 2 more)")
