"""The forms of a run directory: what was measured, what differs, and one step of each on the same scale."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import partial
from typing import ClassVar

from textual import work
from textual.app import ComposeResult
from textual.binding import BindingType
from textual.containers import Vertical
from textual.message import Message

from tracelens.errors import TraceLensError
from tracelens.loading.runs import Run
from tracelens.tui.actions import FORMS, bindings
from tracelens.tui.links import Place
from tracelens.tui.pages.forms import forms
from tracelens.tui.runs import StepFacts, step_facts
from tracelens.tui.search import Query
from tracelens.tui.session import Session
from tracelens.tui.targets import FormOf, KernelOf
from tracelens.tui.timeline import ZOOM_IN, ZOOM_OUT, TimelineState
from tracelens.tui.views.messages import Changed, Follow, OpenPath, Said
from tracelens.tui.widgets.linked import LinkedLines
from tracelens.tui.widgets.timeline import LaneView, Ruler


class FormsView(Vertical):
    """Reads the trace of each form in a thread, once; the page chooses what the aligned steps show."""

    DEFAULT_CSS = """
    FormsView > #forms-page { height: 1fr; }
    FormsView > #steps { height: 45%; max-height: 22; border-top: solid $quiet; }
    """
    BINDINGS: ClassVar[list[BindingType]] = [*bindings(FORMS)]

    @dataclass
    class Read(Message):
        """The trace of a form has been read; its facts are None where that failed."""

        name: str
        facts: StepFacts | None

    def __init__(self, run: Run, session: Session) -> None:
        super().__init__(id="forms")
        self._run_directory, self._session = run, session
        self._facts: dict[str, StepFacts] = {}
        self._unread = set(run.traces)
        self._chosen = next(iter(run.forms), "")
        self._state = TimelineState([])
        self.page = LinkedLines(id="forms-page")
        """Times, kernels that differ and what the compiler did."""
        self._ruler, self._lanes = Ruler(self._state), LaneView(self._state)

    def compose(self) -> ComposeResult:
        """The page above the steps."""
        yield self.page
        with Vertical(id="steps"):
            yield self._ruler
            yield self._lanes

    @property
    def changed(self) -> str | None:
        """The kernel under the cursor."""
        link = self.page.link
        return link.name if isinstance(link, KernelOf) else None

    def on_mount(self) -> None:
        """Begin reading."""
        self._read()

    def on_resize(self) -> None:
        """Columns follow the width."""
        self.call_after_refresh(self._draw)

    @work(thread=True, exclusive=True, group="forms", exit_on_error=False)
    def _read(self) -> None:
        # Deferred with all that a further trace needs.
        from tracelens.analysis import analyze
        from tracelens.loading import load_trace

        for name, path in self._run_directory.traces.items():
            try:
                found = step_facts(analyze(load_trace(path)), name)
            except TraceLensError as error:
                self.post_message(Said(str(error)))
                found = None
            self.post_message(self.Read(name, found))

    def on_forms_view_read(self, message: Read) -> None:
        """Show what was read so far."""
        self._unread.discard(message.name)
        if message.facts is not None:
            self._facts[message.name] = message.facts
            self._align()
        self._draw()

    def open(self, session: Session) -> None:
        """Compare with what another window of the first form's trace predicts."""
        if session.path == self._session.path:
            self._session = session
            self._draw()

    def _align(self) -> None:
        """Lanes of all forms from the same moment: the first form and the chosen one above the others."""
        names = sorted(self._facts, key=lambda name: name not in (next(iter(self._facts)), self._chosen))
        steps = [self._facts[name].step for name in names]
        low, high = min(step.begin for step in steps), max(step.end for step in steps)
        self._state = TimelineState([lane for step in steps for lane in step.lanes], low=low, high=high)
        self._ruler.state = self._state
        self._lanes.turn_to(self._state)
        self._mark()

    def _mark(self) -> None:
        """Underline the kernel under the cursor in the steps of all forms."""
        name = self.changed
        self._state.search(Query(name, re.compile(f"^{re.escape(name)}$"), inverse=False) if name else None)
        self._sync()

    def _sync(self) -> None:
        self._lanes.sync()
        self._ruler.sync(None)

    def _draw(self) -> None:
        session = self._session
        # A range's predictions are not of the step that was measured.
        document = session.document if session.portion.stretch is None else None
        self.page.fill(partial(forms, self._run_directory, self._facts, self._unread, document, self._chosen))

    def on_linked_lines_pointed(self, message: LinkedLines.Pointed) -> None:
        """A form is compared with the first, a kernel is marked in all steps."""
        if isinstance(message.link, FormOf) and message.link.name != self._chosen:
            self._chosen = message.link.name
            if self._facts:
                self._align()
            self._draw()
        self._mark()
        self.post_message(Changed())

    def on_follow(self, message: Follow) -> None:
        """Open the trace of a form, or the kernel where it is."""
        if isinstance(message.link, FormOf | KernelOf):
            message.stop()
        if isinstance(message.link, FormOf):
            self._open(message.link.name, Place())
        elif isinstance(message.link, KernelOf):
            after = self._facts.get(self._chosen)
            here = after is not None and message.link.name in after.examples
            self._open_kernel(self._chosen if here else next(iter(self._facts)))

    def action_before(self) -> None:
        """The kernel in the trace of the first form."""
        self._open_kernel(next(iter(self._facts)))

    def action_after(self) -> None:
        """The kernel in the trace of the chosen form."""
        self._open_kernel(self._chosen)

    def _open_kernel(self, form: str) -> None:
        found = self._facts.get(form)
        handle = found.examples.get(self.changed or "") if found is not None else None
        if handle is None:
            self.post_message(Said(f"{form.capitalize()} does not run this kernel." if self.changed else ""))
        else:
            self._open(form, Place("timeline", handle))

    def _open(self, form: str, place: Place) -> None:
        path = self._run_directory.trace(form)
        self.post_message(OpenPath(str(path), place) if path is not None else Said("This form left no trace."))

    # -- the steps ------------------------------------------------------------------------------------------

    def action_steps_in(self) -> None:
        """Half the time."""
        self._state.zoom(ZOOM_IN)
        self._sync()

    def action_steps_out(self) -> None:
        """Twice the time."""
        self._state.zoom(ZOOM_OUT)
        self._sync()

    def action_steps_left(self) -> None:
        """To earlier."""
        self._state.pan(-1)
        self._sync()

    def action_steps_right(self) -> None:
        """To later."""
        self._state.pan(1)
        self._sync()

    def action_steps_fit(self) -> None:
        """All of the longest step."""
        self._state.fit()
        self._sync()

    def on_lane_view_wheeled(self, message: LaneView.Wheeled) -> None:
        """Zoom at the pointer, or pan with shift."""
        if message.shift:
            self._state.pan(message.direction)
        else:
            self._state.zoom(ZOOM_IN if message.direction < 0 else ZOOM_OUT, message.at)
        self._sync()
