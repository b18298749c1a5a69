"""The phases of one form, told step by step: warm up, measure without a profiler, trace."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Generator, Iterator
from dataclasses import replace
from itertools import pairwise
from typing import Any

import torch

from capture import torch_private, tracing
from capture.clock import Clock, median
from capture.compare import NOTHING_TO_COMPARE, RandomWatch, Samples, parameters
from capture.forms import Form
from capture.job import Job
from capture.progress import Board, say
from capture.records import FormRecord
from capture.region import StopScript
from capture.stamping import stamp
from capture.syncs import SyncLog

CHUNKS = 6
"""Timed chunks of steps; their spread is the reported range."""
CHUNK_S = 0.5
"""A chunk takes no more steps than fit in so many seconds, so that slow steps are not repeated beyond need."""
LEAST_CHUNK_S = 0.05
"""A chunk of short steps takes as many as last so long."""
COMPARED = 3
"""Steps before the end of the warm-up whose outputs are compared."""
QUIET = 3
"""Steps without a compilation or a capture after which a form has settled."""
SETTLING = 4
"""Times the planned warm-up after which an unsettled form is measured all the same."""

OWN_GRAPH = "the script captures a CUDA graph itself: its replays are not seen, only the calls before"

OWN_PROFILER = "a profiler of the script's records while its steps are measured: they take longer than without it"


class Recorder:
    """Watches one region. `advance` is called between steps, and one `yield` of a phase lets one step run."""

    def __init__(self, job: Job, board: Board, form: Form, save: Callable[[], None]) -> None:
        self.job, self.record, self.plan = job, FormRecord(variant=job.variant), job.plan
        self.finished = False
        self.step = 0
        self._board, self._form, self._save = board, form, save
        self._cuda = torch.cuda.is_available() and torch.cuda.is_initialized()
        self._clock, self._samples, self._syncs = Clock(self._cuda), Samples(), SyncLog()
        self._random = RandomWatch(self._cuda)
        self._sampling, self._steps_on_call = False, True
        self._step_s = LEAST_CHUNK_S
        self._phases = self._all_phases()
        self._named_parameters: Callable[[], Iterator[tuple[str, torch.Tensor]]] | None = None
        self._installed = time.perf_counter()

    def begin(self, first: int, steps_on_call: bool, named_parameters: Callable[[], Any] | None) -> None:
        """Take over at step `first` of the script; steps end at the region's calls or, if not, at `advance`."""
        self.step, self._steps_on_call, self._named_parameters = first, steps_on_call, named_parameters
        if named_parameters is not None:
            self._samples.before = parameters(named_parameters())
        if first and self.job.target.ordinal is None:  # found by watching: the compared steps are still to come
            self.plan = replace(self.plan, warmup=max(self.plan.warmup, first + COMPARED + 1))

    def is_away(self) -> bool:
        """Whether the script captures a CUDA graph of its own: what it calls then runs later, and may not be timed."""
        away = self._cuda and torch.cuda.is_current_stream_capturing()
        self._note(OWN_GRAPH, away)
        return away

    def _note(self, note: str, seen: bool) -> None:
        if seen and note not in self.record.notes:
            self.record.notes.append(note)

    def before_call(self) -> Any:
        """End a step where steps end at calls, and mark the call's start."""
        if self._steps_on_call:
            self.advance()
        if self._sampling:
            self._random.look()
        if not self._clock.detailed:
            return None
        return self._clock.boundary if self._steps_on_call else self._clock.mark()

    def after_call(self, began: Any, output: Any) -> None:
        """Keep the call's time or its output, as the phase wants."""
        if began is not None and self._clock.detailed:
            self._clock.region(began)
        if self._sampling:
            self.record.random = self.record.random or self._random.moved()
            self._samples.take(f"step {self.step}", output)

    def advance(self) -> None:
        """End one step and begin the next; after the last one the script is stopped."""
        if not self.finished:
            try:
                next(self._phases)
            except StopIteration:
                self._finish()
        if self.finished and not self.job.to_end:
            raise StopScript

    def report_form(self, record: FormRecord) -> None:
        """Let the form write what it knows into the record of its failure."""
        self._form.report(record)

    def close(self) -> None:
        """Leave the phase under way, as when the script has ended by itself."""
        self._phases.close()

    def _finish(self) -> None:
        self.finished = True
        self._form.report(self.record)
        self._save()
        self._board.show("done")

    def _all_phases(self) -> Generator[None]:
        yield from self._warm_up()
        if not self.job.check_only:
            yield from self._measure()
            yield from self._trace()

    def _warm_up(self) -> Iterator[None]:
        first, state, quiet = self.step, self._form.state(), 0
        while self.step < self.plan.warmup or (quiet < QUIET and self.step < self._latest_start()):
            self._board.show("warming up", self.step, self.plan.warmup)
            self._sampling = self.plan.warmup - COMPARED <= self.step < self.plan.warmup
            began = self._clock.drain()
            self._syncs.listen(self.job.form == "eager" and self._cuda and self.step == first + 1)
            yield
            self._syncs.listen(False)
            self._step_s = self._clock.drain() - began
            self.step += 1
            if self.step == self.plan.warmup:
                self._compare()
            quiet = quiet + 1 if state == self._form.state() else 0
            state = self._form.state()
        self._sampling = False
        self.record.setup_s = self._clock.drain() - self._installed
        torch_private.stop_compile_workers()
        self.record.warmup_steps = self.step
        self.record.syncs = self._syncs.rows() if self._cuda and self.job.form == "eager" else None
        self._save()
        self._warn_of_no_device()

    def _warn_of_no_device(self) -> None:
        """Say early, and once in a run, what it will leave out."""
        lost = " and ".join(self.job.need_cuda)
        if lost and not self._cuda and self.job.form == "eager" and self.job.turn == 1:
            say(f"no CUDA device in use: without one the run leaves out {lost}")

    def _latest_start(self) -> int:
        """Return the step at which measuring begins at the latest."""
        rest = self.plan.steps - self.plan.warmup
        available = self.plan.available
        if self.plan.in_step:
            return self.plan.warmup
        return self.plan.warmup * SETTLING if available is None else available - rest

    def _compare(self) -> None:
        if self._named_parameters is not None:
            self._samples.after = parameters(self._named_parameters())
        if self.job.form == "eager" and not self.job.check_only:
            self._samples.save(self.job.eager_outputs)
            known = self._samples.comparable
            self.record.outputs = "match" if known else "unchecked"
            self.record.outputs_note = "the reference" if known else NOTHING_TO_COMPARE
            return
        verdict = self._samples.compare(self.job.eager_outputs)
        self.record.outputs, self.record.largest_error = verdict.outputs, verdict.largest_error
        self.record.outputs_note, self.record.error_over_tolerance = verdict.note, verdict.excess

    def _measure(self) -> Iterator[None]:
        """Run one detailed chunk, then the timed ones; with too few steps for that, every chunk is both."""
        chunks, spare = CHUNKS + 1, self._spare()
        few = self.plan.measure < chunks
        ends = [self.plan.measure * chunk // chunks for chunk in range(chunks + 1)]
        for chunk, (begin, end) in enumerate(pairwise(ends)):
            if begin < end:
                steps = self._fitting(end - begin, spare / (chunks - chunk))
                spare -= max(0, steps - (end - begin))
                yield from self._measure_chunk(steps, chunk == 0 or few, chunk > 0 or few)
        self._keep_times()
        self._save()

    def _spare(self) -> float:
        """Return how many steps more than planned may be measured."""
        if not self.plan.longer:
            return 0
        rest = self.plan.steps - self.plan.warmup
        return math.inf if self.plan.available is None else max(0, self.plan.available - self.step - rest)

    def _fitting(self, steps: int, spare: float) -> int:
        """Return how many steps a chunk takes, judged by the last ones: the host alone may run far ahead of them."""
        if self.plan.in_step:
            return steps
        enough, most = math.ceil(LEAST_CHUNK_S / self._step_s), max(1, CHUNK_S / self._step_s)
        return int(min(max(steps, enough), steps + spare, most))

    def _measure_chunk(self, steps: int, detailed: bool, timed: bool) -> Iterator[None]:
        """Run that many steps, or fewer if they take longer than they should."""
        longest = math.inf if self.plan.in_step else CHUNK_S
        self._clock.start_chunk(detailed)
        self._board.show("measuring", 0, steps)
        self._note(OWN_PROFILER, torch_private.is_profiled())
        done, seconds = 0, 0.0
        while done < steps and seconds < longest:
            self._board.step(done)
            yield
            self.step += 1
            done += 1
            seconds = self._clock.end_step()
        self._step_s = self._clock.end_chunk(timed)
        self._note(OWN_PROFILER, torch_private.is_profiled())
        self.record.steps = (self.record.steps or 0) + done * timed

    def _keep_times(self) -> None:
        clock, record = self._clock, self.record
        record.step_ms, record.low, record.high = median(clock.chunk_ms), min(clock.chunk_ms), max(clock.chunk_ms)
        record.event_step_ms, record.region_ms = median(clock.step_ms), median(clock.region_ms)
        record.chunk_ms, record.wall_ms = clock.chunk_ms, median(clock.wall_ms)
        if self._cuda:
            record.peak_mib = torch.cuda.max_memory_allocated() / 2**20
            record.reserved_mib = torch.cuda.max_memory_reserved() / 2**20
        self._form.report(record)

    def _trace(self) -> Iterator[None]:
        with tracing.profiler(self.job, self._cuda) as profiler:
            for _ in range(self.plan.profiler_warmup):
                yield from self._traced_step("tracing", 0)
                self._clock.drain()
                profiler.step()
            began = time.perf_counter()
            for step in range(1, self.plan.active + 1):
                yield from self._traced_step("tracing", step)
                if step == self.plan.active:
                    self._stamp(profiler, self._clock.drain() - began)
                profiler.step()
        self.record.trace = str(self.job.raw_trace)

    def _traced_step(self, phase: str, step: int) -> Iterator[None]:
        self._board.show(phase, step, self.plan.active)
        yield
        self.step += 1

    def _stamp(self, profiler: Any, seconds: float) -> None:
        self._board.show("exporting")
        self.record.traced_steps = self.plan.active
        if self.record.step_ms:
            self.record.traced_over_untraced = seconds * 1e3 / self.plan.active / self.record.step_ms
        tracing.add_stamp(profiler, stamp(self.record, self.job.form, self.job.run))
