"""The forms of a run directory."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from textual import work
from textual.binding import BindingType
from textual.message import Message

from tracelens.errors import TraceLensError
from tracelens.loading.runs import Run
from tracelens.tui.actions import FORMS, bindings
from tracelens.tui.pages.forms import forms
from tracelens.tui.runs import StepFacts, step_facts
from tracelens.tui.session import Session
from tracelens.tui.views.messages import OpenPath, Said
from tracelens.tui.widgets.lines import Lines


class FormsView(Lines, can_focus=True):
    """Reads the trace of each form in a thread, once."""

    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FORMS)]

    @dataclass
    class Read(Message):
        """The trace of a form has been read."""

        name: str
        facts: StepFacts

    def __init__(self, run: Run, session: Session) -> None:
        super().__init__(id="forms")
        self._run_directory, self._session = run, session
        self._facts: dict[str, StepFacts] = {}
        self._names = list(run.forms)
        self._chosen = 0

    def on_mount(self) -> None:
        """Begin reading."""
        self._read()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self._draw()

    @work(thread=True, exclusive=True, group="forms", exit_on_error=False)
    def _read(self) -> None:
        # Deferred with all that a further trace needs.
        from tracelens.analysis import analyze
        from tracelens.loading import load_trace

        for name in self._names:
            path = self._run_directory.trace(name)
            if path is None:
                continue
            try:
                found = step_facts(analyze(load_trace(path)))
            except TraceLensError as error:
                self.post_message(Said(str(error)))
                continue
            self.post_message(self.Read(name, found))

    def on_forms_view_read(self, message: Read) -> None:
        """Show what was read so far."""
        self._facts[message.name] = message.facts
        self._draw()

    def _draw(self) -> None:
        if self.size.width and self._names:
            chosen = self._names[self._chosen]
            self.show(forms(self._run_directory, self._facts, self._session.document, chosen, self.size.width))

    def _choose(self, by: int) -> None:
        self._chosen = min(max(self._chosen + by, 0), max(len(self._names) - 1, 0))
        self._draw()

    def action_form_up(self) -> None:
        """To the form above."""
        self._choose(-1)

    def action_form_down(self) -> None:
        """To the form below."""
        self._choose(1)

    def action_open_form(self) -> None:
        """Open the trace of the chosen form."""
        path = self._run_directory.trace(self._names[self._chosen]) if self._names else None
        self.post_message(OpenPath(str(path)) if path is not None else Said("This form left no trace."))
