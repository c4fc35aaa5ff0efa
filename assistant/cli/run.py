"""`firstfault run -- CMD...`: run a job, keep what it prints, diagnose it at the end."""

from __future__ import annotations

import sys
from pathlib import Path

import click

from assistant.cli.common import color_option, corpus_option, load_catalogue, settings_from
from assistant.cli.group import verb
from assistant.console import Console, escape, size
from assistant.console import exit_code as _exit_code
from assistant.diagnosis.exitcodes import signal_of
from assistant.settings import Settings, state_dir


@verb("run", context_settings={"ignore_unknown_options": True, "allow_interspersed_args": False})
@click.argument("words", nargs=-1, required=True, metavar="-- CMD [ARG]...", type=click.UNPROCESSED)
@click.option("--log", "log", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help="Keep the output here (default: among the last few in the state directory).")  # fmt: skip
@click.option("--report", metavar="FILE", type=click.Path(dir_okay=False, path_type=Path),
              help="Write the result here instead of to stderr.")  # fmt: skip
@click.option("--format", type=click.Choice(["text", "json", "markdown"]), help="Form of the result (default text).")
@click.option(
    "--exit-code",
    is_flag=True,
    help="Exit 10, 11 or 12 by the verdict (11 also where a failed job printed nothing); if it is healthy, or its output"
    " could not be read, with the job's status all the same.",
)
@corpus_option
@color_option
@click.pass_context
def command(
    context: click.Context,
    /,
    words: tuple[str, ...],
    log: Path | None,
    report: Path | None,
    exit_code: bool,
    **flags: object,
) -> None:
    """Run a job and diagnose its output at the end; the exit status is the job's, unless --exit-code stands before it.

    Its output goes through unchanged, signals reach it, and stdout stays its own: the result goes to stderr, or to
    --report FILE. Of endless output the first and the last part are kept. Python jobs print unbuffered, so that their
    last lines are not lost with them; set PYTHONUNBUFFERED yourself to decide otherwise.
    """
    from assistant.jobs.runner import run_job

    settings = settings_from(**flags)
    console = Console()
    place = log or new_log()
    outcome = run_job(words, place)
    if outcome.error:
        console.say(outcome.error)
        place.unlink(missing_ok=True)
        context.exit(outcome.status)
    if outcome.left_out:
        console.say(f"{size(outcome.left_out)} in the middle of the output were not kept.")
    by_verdict: int | None = None
    if place.stat().st_size:
        by_verdict = tell(place, outcome.status, settings, console, report)
    else:
        place.unlink()
        console.say(f"the job ended with status {outcome.status} and printed nothing")
        # Nothing tells why it failed, as in a log that just ends; a job that is silent and ends well is well.
        by_verdict = _exit_code("inconclusive", by_status=True, partial=False) if outcome.status else None
    # Without a verdict the job's own status is all there is to say, and no verdict makes a failed job a good one.
    context.exit(by_verdict if by_verdict and exit_code else outcome.status)


def new_log() -> Path:
    """A place for the output of one run: the state directory, where all but the last few are removed, or a new one."""
    import os
    import tempfile

    from assistant.jobs.runner import prune

    folder = state_dir() / "runs"
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        prune(folder)
        can_write = os.access(folder, os.W_OK | os.X_OK)
    except OSError:
        can_write = False
    if not can_write:
        # A job must run where nobody may write in the home directory; the last row says where its output lies.
        folder = Path(tempfile.mkdtemp(prefix="firstfault-"))
    return folder / f"run-{os.getpid()}.log"


def tell(place: Path, status: int, settings: Settings, console: Console, report: Path | None) -> int | None:
    """Diagnose what was kept; the exit status that the verdict stands for.

    None where there is no verdict: whatever goes wrong here, the job's exit status stands.
    """
    from assistant import reports
    from assistant.chat.session import remember
    from assistant.cli.diagnose import run
    from corpus.errors import FirstfaultError

    by_verdict = None
    try:
        catalogue = load_catalogue(settings)
        diagnosis, lines_around = run((str(place),), settings, catalogue, console)
        by_verdict = _exit_code(diagnosis.status, by_status=True, partial=False)
        untold = remember(diagnosis) if settings.session else ""
        options: dict[str, object] = {}
        if settings.format == "text":
            out = Console(stdout=console.stderr, stderr=console.stderr)
            options = {
                "width": out.width(settings.width or None),
                "colour": report is None and out.colour(settings.color),
                "context": settings.context,
                "lines_around": lines_around,
            }
        text = reports.render(settings.format, diagnosis, catalogue, **options)
        if report is not None:
            report.write_text(text, encoding="utf-8")
        elif settings.format != "text" or status or diagnosis.status not in {"healthy", "inconclusive"}:
            (console.stderr or sys.stderr).write(f"\n{text}")
        if untold and not settings.quiet:
            console.say(escape(untold))
    except (FirstfaultError, OSError) as error:
        console.say(f"the output could not be diagnosed: {error}")
    if status and by_verdict == 0:
        # What is read is the output alone, and a program can say that it finished and fail on its way out.
        console.say(f"its output names no fault, but the job did not end well: {_decoded(status)}")
    console.say(f"the job ended with status {status}; its output is kept in {escape(str(place))}")
    return by_verdict


def _decoded(status: int) -> str:
    """An exit status in words."""
    name = signal_of(status)
    return f"status {status} means that {name} ended it" if name else f"status {status} is its own"
