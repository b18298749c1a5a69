"""The one registry of what can be done: bindings, help, the command palette and the README's keys come from it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from textual.binding import Binding

EVERYWHERE: Final = "everywhere"
DIRECTORY: Final = "directory"
PAGE: Final = "overview, advice, forms"
OVERVIEW: Final = "overview"
TIMELINE: Final = "timeline"
TABLE: Final = "tables"
ADVICE: Final = "advice"
FORMS: Final = "forms"
SCOPES: Final = (EVERYWHERE, DIRECTORY, PAGE, OVERVIEW, TIMELINE, TABLE, ADVICE, FORMS)
SCOPES_OF: Final = {
    "picker": (DIRECTORY,),
    "overview": (OVERVIEW, PAGE),
    "timeline": (TIMELINE,),
    "advice": (ADVICE, PAGE),
    "forms": (FORMS, PAGE),
}
"""What is valid in a view beside what is valid everywhere; the other views are tables."""

KEPT: Final = ("help", "quit")
"""Hints that are shown however narrow the terminal is: where to read on, and how to leave."""


@dataclass(frozen=True, slots=True)
class Situation:
    """What decides whether an action makes sense now."""

    loaded: bool = False
    """A trace is open and analysed."""
    events: bool = False
    """It holds events to look at."""
    gaps: bool = False
    run: bool = False
    """A run directory with several forms is open."""
    directory: bool = False
    """A directory with several traces is open."""
    choosing: bool = False
    """It is shown, and nothing else."""
    selected: bool = False
    """An event or a gap is selected."""
    searching: bool = False
    ranged: bool = False
    """The tables are those of a selected range."""
    history: bool = False
    """There is a viewport to go back to."""
    snippet: bool = False
    """The recommendation comes with code."""
    aggregate: bool = False
    """The table's rows stand for many events each."""
    changed: bool = False
    """A kernel that differs between two forms is under the cursor."""


Valid = Callable[[Situation], bool]


@dataclass(frozen=True, slots=True)
class Action:
    """One thing to do: the method `action_<id>` of the widget that owns its scope."""

    id: str
    keys: tuple[str, ...]
    title: str
    scope: str
    valid: Valid
    hint: str = ""
    """One word for the line of keys at the bottom; "" keeps it out."""


def _always(situation: Situation) -> bool:
    return True


def _loaded(situation: Situation) -> bool:
    return situation.loaded


def _choosing(situation: Situation) -> bool:
    return situation.choosing


def _named(situation: Situation) -> bool:
    return situation.loaded or situation.choosing


def _events(situation: Situation) -> bool:
    return situation.events


def _gaps(situation: Situation) -> bool:
    return situation.gaps


def _selected(situation: Situation) -> bool:
    return situation.selected


def _changed(situation: Situation) -> bool:
    return situation.changed


ACTIONS: Final = (
    Action("view_overview", ("1",), "Overview: verdict, forms and where the step goes", EVERYWHERE, _loaded),
    Action("view_timeline", ("2",), "Timeline: threads, streams and gaps", EVERYWHERE, _loaded),
    Action("view_kernels", ("3",), "Kernels", EVERYWHERE, _loaded),
    Action("view_operators", ("4",), "Operators", EVERYWHERE, _loaded),
    Action("view_gaps", ("5",), "Gaps", EVERYWHERE, _loaded),
    Action("view_syncs", ("6",), "Sync points", EVERYWHERE, _loaded),
    Action("view_launches", ("7",), "Launches", EVERYWHERE, _loaded),
    Action("view_advice", ("8",), "Advice: findings, blockers and what to do first", EVERYWHERE, _loaded),
    Action("view_findings", ("9",), "Findings as a table", EVERYWHERE, _loaded),
    Action("view_forms", ("F",), "Forms: the same step in each form, side by side", EVERYWHERE, lambda s: s.run),
    Action("choose_trace", ("D",), "Directory: open another of its traces", EVERYWHERE, lambda s: s.directory),
    Action("next_view", ("tab",), "Next view", EVERYWHERE, _loaded),
    Action("previous_view", ("shift+tab",), "Previous view", EVERYWHERE, _loaded),
    Action("next_gap", ("g",), "Next gap", EVERYWHERE, _gaps, "gap"),
    Action("previous_gap", ("b",), "Previous gap", EVERYWHERE, _gaps),
    Action("worst_gap", ("G",), "Worst gap; again: the next worst", EVERYWHERE, _gaps, "worst"),
    Action("search", ("slash",), "Search names (regular expression, ! for all others)", EVERYWHERE, _named, "search"),
    Action("next_match", ("n",), "Next match", EVERYWHERE, lambda s: s.searching),
    Action("previous_match", ("N",), "Previous match", EVERYWHERE, lambda s: s.searching),
    Action("filter", ("backslash",), "Filter to names (regular expression, ! for all others)", EVERYWHERE, _loaded),
    Action("whole_window", ("V",), "Tables of the whole window again", EVERYWHERE, lambda s: s.ranged),
    Action("cancel", ("escape",), "Clear the search, the range or the filter", EVERYWHERE, _named),
    Action("copy", ("y",), "Copy the name, the row or the verdict in view", EVERYWHERE, _loaded),
    Action("copy_link", ("Y",), "Copy the command that opens this view", EVERYWHERE, _loaded),
    Action("export", ("e",), "Export a report or a picture of the screen", EVERYWHERE, _loaded, "export"),
    Action("toggle_dark", ("ctrl+t",), "Light or dark", EVERYWHERE, _always),
    Action("help", ("question_mark",), "Help on the keys", EVERYWHERE, _always, "help"),
    Action("command_palette", ("ctrl+p",), "Find a command, a kernel or a time", EVERYWHERE, _always, "commands"),
    Action("quit", ("q", "ctrl+c"), "Quit", EVERYWHERE, _always, "quit"),
    Action("trace_up", ("up", "k"), "Trace above", DIRECTORY, _choosing),
    Action("trace_down", ("down", "j"), "Trace below", DIRECTORY, _choosing),
    Action("trace_page_up", ("pageup",), "Page up", DIRECTORY, _choosing),
    Action("trace_page_down", ("pagedown", "space"), "Page down", DIRECTORY, _choosing),
    Action("first_trace", ("home",), "First trace", DIRECTORY, _choosing),
    Action("last_trace", ("end",), "Last trace", DIRECTORY, _choosing),
    Action("pick", ("enter",), "Open the trace or run", DIRECTORY, _choosing, "open"),
    Action("link_up", ("up", "k"), "Link above, or scroll up", PAGE, _loaded),
    Action("link_down", ("down", "j"), "Link below, or scroll down", PAGE, _loaded),
    Action("link_left", ("left", "h"), "Link before", PAGE, _loaded),
    Action("link_right", ("right", "l"), "Link behind", PAGE, _loaded),
    Action("link_page_up", ("pageup",), "Screen up", PAGE, _loaded),
    Action("link_page_down", ("pagedown", "space"), "Screen down", PAGE, _loaded),
    Action("follow_link", ("enter",), "Go where the link leads: the evidence of a number", PAGE, _loaded, "evidence"),
    Action("cost_1", ("z",), "Jump to the largest cost", OVERVIEW, _loaded),
    Action("cost_2", ("x",), "Jump to the second largest cost", OVERVIEW, _loaded),
    Action("cost_3", ("c",), "Jump to the third largest cost", OVERVIEW, _loaded),
    Action("checks", ("t",), "All checks of the trace's trust", OVERVIEW, _loaded),
    Action("zoom_in", ("w", "plus", "equals_sign"), "Zoom in at the cursor", TIMELINE, _events, "zoom"),
    Action("zoom_out", ("s", "minus"), "Zoom out", TIMELINE, _events),
    Action("pan_left", ("a",), "Pan to earlier", TIMELINE, _events, "pan"),
    Action("pan_right", ("d",), "Pan to later", TIMELINE, _events),
    Action("fit", ("0",), "Fit the whole trace", TIMELINE, _events),
    Action("focus", ("f",), "Centre the selection; again: fit it", TIMELINE, _selected, "focus"),
    Action("back", ("backspace",), "Back to the last zoom", TIMELINE, lambda s: s.history),
    Action("previous_event", ("left", "h", "comma"), "Previous event of the lane", TIMELINE, _events),
    Action("next_event", ("right", "l", "full_stop"), "Next event of the lane", TIMELINE, _events),
    Action("lane_up", ("up", "k"), "Lane above", TIMELINE, _events),
    Action("lane_down", ("down", "j"), "Lane below", TIMELINE, _events),
    Action("follow", ("right_square_bracket",), "Follow: operator to launch to kernel", TIMELINE, _selected, "follow"),
    Action("follow_back", ("left_square_bracket",), "Follow back: kernel to launch to operator", TIMELINE, _selected),
    Action("range", ("v",), "Start a range at the cursor; again: end it", TIMELINE, _selected, "range"),
    Action("pin", ("p",), "Pin the lane to the top", TIMELINE, _events),
    Action("lanes", ("t",), "Show only lanes whose title matches", TIMELINE, _events),
    Action("all_lanes", ("T",), "Show all lanes again", TIMELINE, _events),
    Action("python", ("P",), "Show or hide Python frames", TIMELINE, _events),
    Action("details", ("enter",), "All arguments of the event, read from the file", TIMELINE, _selected, "details"),
    Action("row_up", ("up", "k"), "Row above", TABLE, _loaded),
    Action("row_down", ("down", "j"), "Row below", TABLE, _loaded),
    Action("page_up", ("pageup",), "Page up", TABLE, _loaded),
    Action("page_down", ("pagedown",), "Page down", TABLE, _loaded),
    Action("first_row", ("home",), "First row", TABLE, _loaded),
    Action("last_row", ("end",), "Last row", TABLE, _loaded),
    Action("sort_next", ("greater_than_sign", "right"), "Sort by the next column", TABLE, _loaded, "sort"),
    Action("sort_previous", ("less_than_sign", "left"), "Sort by the previous column", TABLE, _loaded),
    Action("sort_reverse", ("r",), "Reverse the order", TABLE, _loaded),
    Action("jump", ("enter",), "Jump to the event in the timeline", TABLE, _loaded, "jump"),
    Action("events", ("x",), "The single events behind a row; again: back", TABLE, lambda s: s.aggregate, "events"),
    Action("copy_table", ("M",), "Copy the table as Markdown", TABLE, _loaded),
    Action("copy_snippet", ("c",), "Copy the code that applies the advice", ADVICE, lambda s: s.snippet, "code"),
    Action("steps_in", ("w", "plus", "equals_sign"), "Zoom in on all steps", FORMS, lambda s: s.run, "zoom"),
    Action("steps_out", ("s", "minus"), "Zoom out", FORMS, lambda s: s.run),
    Action("steps_left", ("a",), "Pan to earlier", FORMS, lambda s: s.run),
    Action("steps_right", ("d",), "Pan to later", FORMS, lambda s: s.run, "pan"),
    Action("steps_fit", ("0",), "Fit the longest step", FORMS, lambda s: s.run),
    Action("before", ("left_square_bracket",), "The kernel in the first form's timeline", FORMS, _changed, "before"),
    Action("after", ("right_square_bracket",), "The kernel in the chosen form's timeline", FORMS, _changed, "after"),
)

NAMES: Final = {
    "slash": "/",
    "backslash": "\\",
    "question_mark": "?",
    "plus": "+",
    "minus": "-",
    "equals_sign": "=",
    "comma": ",",
    "full_stop": ".",
    "left_square_bracket": "[",
    "right_square_bracket": "]",
    "greater_than_sign": ">",
    "less_than_sign": "<",
}


def in_scope(scope: str) -> tuple[Action, ...]:
    """The actions of one scope, in their order."""
    return tuple(action for action in ACTIONS if action.scope == scope)


def find(id: str) -> Action:
    """The action of an id; KeyError when there is none."""
    return _BY_ID[id]


def bindings(scope: str) -> list[Binding]:
    """What Textual needs to know of a scope's keys."""
    return [
        Binding(",".join(action.keys), action.id, action.title, show=False, id=action.id) for action in in_scope(scope)
    ]


def key_names(action: Action) -> str:
    """The keys as they are written ("w + =")."""
    return " ".join(NAMES.get(key, key) for key in action.keys)


def offered(view: str, situation: Situation) -> Iterator[Action]:
    """The actions that make sense in a view now, its own first."""
    for scope in (*scopes_of(view), EVERYWHERE):
        yield from (action for action in in_scope(scope) if action.valid(situation))


def scopes_of(view: str) -> tuple[str, ...]:
    """The scopes of a view's own actions; none before a trace is open."""
    return SCOPES_OF.get(view, (TABLE,)) if view else ()


def hints(view: str, situation: Situation) -> Iterator[tuple[str, str]]:
    """Key and word of the actions worth a reminder."""
    for action in offered(view, situation):
        if action.hint:
            yield NAMES.get(action.keys[0], action.keys[0]), action.hint


def reminders(view: str, situation: Situation, width: int) -> str:
    """The hints in one line, as many as `width` cells hold, the first before the last; those of KEPT always."""
    told = list(hints(view, situation))
    while len(line := "  ".join(map(" ".join, told))) > width and (
        spare := [one for one in told if one[1] not in KEPT]
    ):
        told.remove(spare[-1])
    return line


def markdown() -> str:
    """The table of keys in the README."""
    lines = ["| Where | Key | What it does |", "|---|---|---|"]
    for scope in SCOPES:
        lines += [f"| {scope} | {_code(action)} | {action.title} |" for action in in_scope(scope)]
    return "\n".join(lines) + "\n"


def _code(action: Action) -> str:
    return " ".join(f"`{NAMES.get(key, key)}`" for key in action.keys)


_BY_ID: Final = {action.id: action for action in ACTIONS}
