"""The registry of actions: no key means two things in one place, and texts come from it."""

from __future__ import annotations

from collections import Counter

import pytest

from tracelens.tui.actions import (
    ACTIONS,
    ADVICE,
    DIRECTORY,
    EVERYWHERE,
    FORMS,
    OVERVIEW,
    PAGE,
    SCOPES,
    TABLE,
    TIMELINE,
    Action,
    Situation,
    bindings,
    find,
    hints,
    in_scope,
    key_names,
    markdown,
    reminders,
    scopes_of,
)
from tracelens.tui.app import TraceLens
from tracelens.tui.links import VIEWS
from tracelens.tui.views.advice import AdviceView
from tracelens.tui.views.forms import FormsView
from tracelens.tui.views.opening import PickerView
from tracelens.tui.views.overview import OverviewView
from tracelens.tui.views.timeline import TimelineView
from tracelens.tui.widgets.linked import LinkedLines
from tracelens.tui.widgets.table import TableView

EATEN = {"ctrl+b", "ctrl+a", "ctrl+s", "f1"}
"""Keys that tmux, screen or terminals keep for themselves."""


@pytest.mark.parametrize("view", ["picker", *VIEWS])
def test_a_key_means_one_thing_in_a_view(view: str) -> None:
    scopes = (EVERYWHERE, *scopes_of(view))
    keys = Counter(key for scope in scopes for action in in_scope(scope) for key in action.keys)
    assert [key for key, count in keys.items() if count > 1] == []


def test_every_view_has_its_key() -> None:
    assert [find(f"view_{view}").keys for view in VIEWS][:9] == [(str(number),) for number in range(1, 10)]


def test_ids_are_unique_and_found() -> None:
    assert len({action.id for action in ACTIONS}) == len(ACTIONS)
    assert find("worst_gap").keys == ("G",)


def test_no_key_is_eaten_on_the_way() -> None:
    keys = {key for action in ACTIONS for key in action.keys}
    assert keys & EATEN == set()
    assert [key for key in keys if key.startswith(("alt+", "super+"))] == []


def test_every_action_has_a_binding_by_its_id() -> None:
    bound = [binding.id for scope in SCOPES for binding in bindings(scope)]
    assert sorted(bound) == sorted(action.id for action in ACTIONS)


def test_hints_show_only_what_is_valid() -> None:
    assert dict(hints("timeline", Situation())) == {"?": "help", "ctrl+p": "commands", "q": "quit"}
    assert "]" in dict(hints("timeline", Situation(loaded=True, events=True, selected=True)))


def test_reminders_give_way_but_for_help_and_quit() -> None:
    situation = Situation(loaded=True, events=True, gaps=True, selected=True)
    whole = reminders("timeline", situation, 200)
    assert whole == "  ".join(map(" ".join, hints("timeline", situation)))
    for width in range(len("? help  q quit"), len(whole)):
        line = reminders("timeline", situation, width)
        assert len(line) <= width
        assert line.endswith("? help  q quit")
    assert reminders("timeline", situation, 0) == "? help  q quit"


def test_the_readme_table_has_a_line_for_each_action() -> None:
    assert len(markdown().splitlines()) == len(ACTIONS) + 2
    assert "| timeline | `w` `+` `=` | Zoom in at the cursor |" in markdown()
    assert key_names(find("search")) == "/"


OWNERS = {
    EVERYWHERE: TraceLens,
    DIRECTORY: PickerView,
    PAGE: LinkedLines,
    OVERVIEW: OverviewView,
    TIMELINE: TimelineView,
    TABLE: TableView,
    ADVICE: AdviceView,
    FORMS: FormsView,
}


@pytest.mark.parametrize("action", ACTIONS, ids=lambda action: action.id)
def test_every_action_is_done_by_the_owner_of_its_scope(action: Action) -> None:
    assert callable(getattr(OWNERS[action.scope], f"action_{action.id}"))
