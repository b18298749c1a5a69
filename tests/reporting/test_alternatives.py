from __future__ import annotations

from tests.reporting import example
from tracelens.advice.results import NO_GRAPH, Blocker, Form
from tracelens.reporting import markdown, phrases, text
from tracelens.reporting.forms import form_rows, of_module


def test_a_form_that_the_compiler_did_nothing_for_is_no_alternative() -> None:
    nothing = (Blocker(NO_GRAPH, "compile did nothing (0 graphs), which tells nothing", None, None, ""),)
    document = example.judged("neither", compile=Form(2.0, 1.9, 2.1, "measured", blockers=nothing))
    assert "Not compile alone: compile did nothing (0 graphs)." in phrases.alternatives(document)
    gains = {row.name: row.speedup for row in form_rows(document)}
    assert not gains["compile"]
    assert gains["eager"] == "1.00x"


def test_unknown_forms_are_named_together() -> None:
    unseen = Form(None, None, None, "predicted", error="not visible")
    document = example.judged("replay", own="replay", eager=unseen, compile=unseen)
    assert phrases.alternatives(document) == "Both: 0.47 ms. Unknown: eager, compile."


def test_without_operators_nothing_is_said_to_be_free() -> None:
    document = example.judged("replay", replay=Form(0.553, 0.521, 0.602, "predicted"))
    document["trust"]["checks"].append(
        {"id": "no_operators", "passed": False, "value": 0.0, "threshold": 1.0, "message": "no operators are recorded"}
    )
    told = phrases.alternatives(document)
    assert "Nothing in the trace" not in told
    assert told.endswith("What blocks replay may go unseen: the trace has no operators.")


def test_the_other_forms_in_a_few_words() -> None:
    free = Form(0.553, 0.521, 0.602, "predicted")
    blocked = Form(None, None, None, "predicted", blockers=(example.SYNC,))
    assert phrases.alternatives(example.judged("replay", replay=free)) == (
        "Not compile alone: 3.91 ms. Both: 0.47 ms. Nothing in the trace blocks replay."
    )
    assert phrases.alternatives(example.judged("both", replay=blocked)) == (
        "Not compile alone: 3.91 ms. Replay blocked: 32 .item() a step. Nothing in the trace blocks both."
    )
    told = phrases.alternatives(example.judged("replay"))
    assert told.endswith("Replay runs despite 32 .item() a step at model.py:41.")
    assert phrases.alternatives(example.judged("abstain")) == ""


def test_a_form_that_failed_says_how_in_one_line_of_bounded_length() -> None:
    failed = Form(None, None, None, "measured", error="RuntimeError: boom " + "x" * 5_000 + "\nsecond")
    document = example.judged("neither", compile=failed)
    told = phrases.alternatives(document)
    assert "Compile failed: RuntimeError: boom xxx" in told
    assert "Unknown" not in told
    assert "second" not in text.render(document)
    assert "x" * 300 not in text.render(document) + markdown.render(document)


def test_a_form_that_ran_for_a_module_alone_may_be_one_that_the_step_cannot_run() -> None:
    document = example.judged("neither")
    eager, replay = document["forms"]["eager"], document["forms"]["replay"]
    eager |= {"source": "measured", "predicted": {"step_ms": 3.9, "low": 3.5, "high": 4.3}}
    replay |= {"source": "measured", "predicted": None}
    target: dict[str, str | None] = {"kind": "module", "name": "torch.nn.Linear", "where": None}
    document["run"] = {
        "path": "run", "id": None, "command": [], "complete": True, "target": target, "environment": {},
        "measured": ["eager", "replay"], "traces": {}, "notes": [],
    }  # fmt: skip
    told = "Of replay, Linear alone was measured; predicted is the whole step, which cannot run so."
    assert of_module(document) == told
    assert told in markdown.render(document)
    target["kind"] = "function"
    assert not of_module(document)
