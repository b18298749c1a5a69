from __future__ import annotations

from tests.reporting import example
from tracelens.advice.results import Form
from tracelens.reporting import runs


def test_a_set_up_is_told_as_what_it_takes_beyond_eager_s() -> None:
    eager = Form(2.0, 1.9, 2.1, "measured", setup_s=0.05)
    replay = Form(0.5, 0.5, 0.5, "measured", setup_s=0.35, break_even_steps=200.0)
    document = example.judged("replay", eager=eager, replay=replay)
    assert runs.set_up(document) == "The set-up beyond eager's has paid after: replay 200 steps (0.300 s)."


def test_a_measured_step_of_the_host_says_what_its_range_leaves_out() -> None:
    host = example.judged("replay", eager=Form(5.0, 4.9, 5.1, "measured"))
    assert runs.between_processes(host).endswith("another process may take about 20 % more or less.")
    assert runs.between_processes(example.judged("replay")) == ""
    host["attribution"]["classes"]["kernel"]["ns"] = 15_000_000
    assert runs.between_processes(host) == ""


def test_a_form_whose_batches_differ_much_is_hardly_known() -> None:
    eager, compiled = Form(172.0, 164.0, 185.0, "measured"), Form(6.7, 1.3, 87.1, "measured")
    document = example.judged("replay", eager=eager, compile=compiled)
    (told,) = runs.warnings(document)
    assert told.startswith("compile: equal batches of steps took 1.3-87.1 ms a step")
