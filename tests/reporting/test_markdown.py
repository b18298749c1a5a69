from __future__ import annotations

import re

import pytest

from tests.reporting import example
from tracelens.reporting.markdown import code, escaped
from tracelens.reporting.report import Report


def test_the_answer_and_the_forms_are_open_and_the_details_folded() -> None:
    text = Report(example.analysis(), example.advice()).to_markdown()
    opened, folded = text.split("<details>", 1)
    assert opened.startswith("> **Trust: degraded**\n> - Steps differ by 1.6 x; record more steps after a warm-up.\n\n")
    assert "\n### Replay: 3.97 → 0.55 ms (predicted 0.52-0.60). After repair (32 .item() a step): both" in opened
    assert "| **replay** | 0.55 |" in opened
    assert "```python\ngraph = torch.cuda.CUDAGraph()" in opened
    assert "Kernels launched over 3 traced steps (2 more; --limit 0 shows all)" in folded
    assert "- **A sync point drains the queue.** Saves up to 300 us. Remove .item(). [sync_points: s-0]" in folded
    assert text.count("<details>") == text.count("</details>")


def test_rows_of_a_table_have_as_many_cells_as_its_head() -> None:
    analysis = example.with_column(example.analysis(), "kernels", name=["a|b\n`c`"] * 7)
    text = Report(analysis, example.advice()).to_markdown()
    for block in re.findall(r"(?:^\|.*\n)+", text, re.MULTILINE):
        widths = {len(re.findall(r"(?<!\\)\|", line)) for line in block.splitlines()}
        assert len(widths) == 1


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("<img src=x>", "\\<img src=x>"),
        ("[a](http://b)", "\\[a\\](http&#58;//b)"),
        ("@everyone see #12", "&#64;<!-- -->everyone see \\#12"),
        ("https://a.b/c ftp://d WWW.e.f", "https&#58;//a.b/c ftp&#58;//d WWW&#46;e.f"),
        ("mail a@b.cc aten::mm", "mail a&#64;<!-- -->b.cc aten::mm"),
        ("a|b *c* _d_ `e`", "a\\|b \\*c\\* \\_d\\_ \\`e\\`"),
        ("line\nbreak\x1b", "line\\\\x0abreak\\\\x1b"),
    ],
)
def test_words_of_the_trace_form_no_markup(text: str, written: str) -> None:
    assert escaped(text) == written


def test_code_spans_hold_any_name() -> None:
    assert code("void f<int>(x)") == "`void f<int>(x)`"
    assert code("a`b``c") == "``` a`b``c ```"
    assert code("a|b") == "`a\\|b`"
    assert code("") == ""
