"""`tracelens capture [options] script.py [arguments]`: options, and the run from start to end."""

from __future__ import annotations

import argparse
import math
import shlex
import uuid
from datetime import datetime
from pathlib import Path
from typing import Any, NoReturn

from capture.campaign import GRAPH_FORMS, Campaign, Interrupted, first_job
from capture.job import Job, Plan, Target
from capture.launcher import interrupt_at_every_end
from capture.manifest import RunDirectory, RunDirectoryError
from capture.own_code import find_function
from capture.progress import say
from capture.ranks import this_rank
from capture.records import FORMS
from capture.script import Script, ScriptError
from capture.tape import Tape

Group = argparse._ArgumentGroup  # pyright: ignore[reportPrivateUsage]
USAGE, INTERRUPTED = 2, 130
LONGEST, MOST_DIGITS = 300, 18
"""Characters of a message and digits of a count, however long the words that were typed."""
SEEDS = range(-(2**63), 2**64)
"""What torch.manual_seed takes."""
MODES = ("default", "reduce-overhead", "max-autotune", "max-autotune-no-cudagraphs")


class Parser(argparse.ArgumentParser):
    """Says what is wrong in one line, without the usage."""

    def error(self, message: str) -> NoReturn:
        """End with the message and the exit code of a wrong command."""
        if len(message) > LONGEST:
            message = f"{message[: LONGEST // 2]}...{message[-LONGEST // 2 :]}"
        say(f"{self.prog}: {message}; see {self.prog} --help")
        raise SystemExit(USAGE)


class Words(argparse.Action):
    """Takes all words from the script on: they are the script's, whatever they look like."""

    def __call__(self, parser: argparse.ArgumentParser, namespace: argparse.Namespace, values: Any, *_: Any) -> None:
        """Set the script and its arguments; an error without a script."""
        script, *arguments = (values[1:] if values[:1] == ["--"] else values) or [None]
        if script is None:
            parser.error("a script is missing: tracelens capture [options] script.py [its arguments]")
        namespace.script, namespace.arguments = script, arguments


def main(argv: list[str]) -> int:
    """Run the command; returns the exit code, as its help lists them."""
    options = parser().parse_args(argv)
    try:
        return _run(options, argv)
    except (ScriptError, RunDirectoryError) as error:
        say(f"tracelens capture: {error}")
        return USAGE
    except FileNotFoundError as error:
        say(f"tracelens capture: no folder for {error.filename} any more; the script must leave it alone")
        return USAGE


def parser() -> Parser:
    """Return the command's options."""
    parser = Parser(
        prog="tracelens capture",
        description="Run a script unchanged as eager, compile, replay and both; leave one run directory.",
        allow_abbrev=False,
        epilog="The script runs once per form, and what it writes is written once per form. Exit codes: 0 done; the "
        "script's own where eager fails, 128 + N after signal N; 2 the command is wrong, or eager gave nothing to "
        "measure or not in time; 130 interrupted.",
    )
    parser.add_argument("-m", dest="is_module", action="store_true", help="the script is a module's name")
    parser.add_argument(
        "script",
        nargs=argparse.REMAINDER,
        action=Words,
        help="script.py, or with -m a module, and behind it the script's own arguments",
    )
    _add_target(parser.add_argument_group("what repeats (found by itself if not named)"))
    _add_phases(parser.add_argument_group("phases"))
    _add_forms(parser.add_argument_group("forms"))
    _add_output(parser.add_argument_group("output"))
    return parser


def _add_target(group: Group) -> None:
    which = group.add_mutually_exclusive_group()
    which.add_argument(
        "--function", metavar="NAME", help="a function of the script or what it imports beside it, by qualified name"
    )
    which.add_argument("--module", metavar="NAME", help="a module, by its class or its global name (model.encoder)")


def _add_phases(group: Group) -> None:
    plan = Plan()
    group.add_argument(
        "--warmup", type=_count, default=plan.warmup, metavar="N", help="steps before measuring (%(default)s)"
    )
    group.add_argument(
        "--measure", type=_count, metavar="N", help=f"steps without profiler ({plan.measure}, short ones more often)"
    )
    group.add_argument("--active", type=_count, default=plan.active, metavar="N", help="traced steps (%(default)s)")
    group.add_argument("--to-end", action="store_true", help="let the script run to its end after the last needed step")
    group.add_argument(
        "--timeout", type=_seconds, default=900.0, metavar="S", help="seconds for one form (%(default).0f)"
    )
    group.add_argument("--seed", type=_seed, default=0, metavar="N", help="seed of every form (%(default)s)")


def _add_forms(group: Group) -> None:
    group.add_argument("--forms", type=_forms, default=FORMS, metavar="LIST", help="of eager,compile,replay,both (all)")
    group.add_argument("--compile-mode", choices=MODES, help="mode of torch.compile in the compile form")
    group.add_argument("--dynamic", action=argparse.BooleanOptionalAction, help="dynamic shapes in torch.compile")
    group.add_argument(
        "--max-graphs", type=_count, default=8, metavar="N", help="CUDA graphs, one per signature (%(default)s)"
    )
    group.add_argument("--stack", action="store_true", help="record Python stacks in the traces (slower steps)")
    group.add_argument("--memory", action="store_true", help="record memory in the traces (slower steps)")


def _add_output(group: Group) -> None:
    group.add_argument("--output", type=Path, metavar="DIR", help="run directory (runs/SCRIPT-TIME)")
    group.add_argument("--force", action="store_true", help="replace the run that is there")


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= MOST_DIGITS and int(text)):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1 on")
    return int(text)


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 < seconds < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds above 0")
    return seconds


def _seed(text: str) -> int:
    try:
        seed = int(text)
    except ValueError:
        seed = SEEDS.stop
    if seed not in SEEDS:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from -2^63 to 2^64 - 1")
    return seed


def _forms(text: str) -> tuple[str, ...]:
    wanted = [name.strip() for name in text.split(",")]
    unknown = [name for name in wanted if name not in FORMS]
    if unknown:
        raise argparse.ArgumentTypeError(f"unknown form {unknown[0]}; the forms are {', '.join(FORMS)}")
    if len(wanted) > len(set(wanted)):
        raise argparse.ArgumentTypeError(f"{text!r} names a form twice; each runs once")
    return tuple(form for form in FORMS if form in wanted)


def _expect_used(options: argparse.Namespace) -> None:
    """ScriptError for an option of torch.compile that no form asked for would take."""
    asked = ", ".join(options.forms)
    if options.compile_mode is not None and "compile" not in options.forms:
        raise ScriptError(f"--compile-mode is for the compile form, and --forms asks for {asked}")
    if options.dynamic is not None and not {"compile", "both"}.intersection(options.forms):
        raise ScriptError(f"--dynamic is for compile and both, and --forms asks for {asked}")


def _run(options: argparse.Namespace, argv: list[str]) -> int:
    _expect_used(options)
    script = Script.find(options.script, options.is_module)
    target = _target(options, script)
    run = uuid.uuid4().hex[:12]
    path = _output(options, script)
    directory = RunDirectory(path.absolute(), ["tracelens", "capture", *argv], run, this_rank())
    directory.create(options.force)
    forms = ", ".join(options.forms)
    say(f"{options.script} runs once per form ({forms}); so do its side effects. Run: {path}")
    campaign = Campaign(_job(options, target, directory.work, run), options.forms, directory, options.timeout, Tape(0))
    complete, code = False, INTERRUPTED
    interrupt_at_every_end()
    try:
        code = campaign.run()
        complete = True
    except (Interrupted, KeyboardInterrupt):
        say(f"interrupted; what was finished is in {path}")
    finally:
        directory.finish(complete)
    if code == 0:
        say(f"tracelens report {shlex.quote(str(path))} tells what it means")
    return code


def _output(options: argparse.Namespace, script: Script) -> Path:
    if options.output is None and this_rank() is not None:
        raise RunDirectoryError("several ranks record into one directory: name it with --output")
    return options.output or Path("runs") / f"{script.path.stem}-{datetime.now():%Y%m%d-%H%M%S}"


def _target(options: argparse.Namespace, script: Script) -> Target:
    if options.function is None:
        return Target(module=options.module)
    name, file = find_function(script, options.function)
    return Target(name, str(file) if file else None)


def _plan(options: argparse.Namespace) -> Plan:
    measure = options.measure or Plan().measure
    in_step = this_rank() is not None
    return Plan(
        options.warmup, measure, options.active, longer=options.measure is None and not in_step, in_step=in_step
    )


def _job(options: argparse.Namespace, target: Target, work: Path, run: str) -> Job:
    return first_job(
        options.script,
        tuple(options.arguments),
        work,
        run,
        is_module=options.is_module,
        plan=_plan(options),
        target=target,
        seed=options.seed,
        compile_mode=options.compile_mode,
        dynamic=options.dynamic,
        max_graphs=options.max_graphs,
        stack=options.stack,
        memory=options.memory,
        to_end=options.to_end,
        need_cuda=tuple(form for form in options.forms if form in GRAPH_FORMS),
    )
