"""The entry point: runs a verb and turns every way it can end into a sentence and an exit code."""

from __future__ import annotations

import atexit
import contextlib
import errno
import gc
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final, TextIO

import click

from assistant import __version__
from assistant.cli.group import EPILOG, HELP, VERBS, VerbGroup
from assistant.console import Console, ExitCode, OutputError
from corpus.errors import FirstfaultError

NAME: Final = "firstfault"
_CANNOT_WRITE: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EBADF})
LONGEST_VERB: Final = 40
"""Characters up to which a first word may be a verb with a slip in it; a pasted line is none."""
LONGEST_ECHO: Final = 300
"""Characters of an argument that an error repeats: a path fits, a pasted log does not."""
LONGEST_SENTENCE: Final = 4_000
COMPLETE: Final = "_FIRSTFAULT_COMPLETE"


@click.group(
    NAME,
    cls=VerbGroup,
    help=HELP,
    epilog=EPILOG,
    subcommand_metavar="PATH... | VERB [ARGS]...",
    context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100},
)
@click.version_option(__version__, message="%(prog)s %(version)s")
def cli() -> None:
    """The group of all verbs; its help is `HELP`."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program and return its exit status; nothing but a defect of the interpreter escapes."""
    # Start-up makes many objects and no garbage; looking for it would cost a tenth of a short run.
    gc.set_threshold(100_000, 20, 50)
    # Nor is any looked for at the end: that takes a sixth of a short run.
    atexit.unregister(gc.freeze)
    atexit.register(gc.freeze)
    words = list(sys.argv[1:] if arguments is None else arguments)
    console = Console()
    try:
        code = _run(words)
        _flush()
    except click.exceptions.Exit as end:
        code = end.exit_code
    except click.ClickException as error:
        code = _say_usage(console, error, words)
    except OutputError as error:
        console.say(str(error))
        _close_stdout()
        code = error.exit_code
    except FirstfaultError as error:
        console.say(f"{_without_bulk(str(error), words)}{_meant_verb(words)}")
        code = error.exit_code
    except (KeyboardInterrupt, click.Abort):
        console.say("interrupted")
        code = ExitCode.INTERRUPTED
    except BrokenPipeError:
        _close_stdout()
        code = ExitCode.DONE
    except OSError as error:
        # Help is printed by click, which knows nothing of our streams.
        if error.errno not in _CANNOT_WRITE or error.filename is not None:
            code = _internal_error(console, error, words)
        else:
            console.say(f"The result could not be written: {error.strerror}. Free some space and try again.")
            _close_stdout()
            code = OutputError.exit_code
    except Exception as error:  # noqa: BLE001  whatever it is, a person gets a sentence and we get a report
        code = _internal_error(console, error, words)
    _settle_stderr()
    return int(code)


def _run(words: list[str]) -> int:
    instruction = os.environ.get(COMPLETE)
    if instruction:
        from click.shell_completion import shell_complete

        return shell_complete(cli, {}, NAME, COMPLETE, instruction)
    with cli.make_context(NAME, words) as context:
        cli.invoke(context)
    return ExitCode.DONE


def _flush() -> None:
    if sys.stdout is not None:
        sys.stdout.flush()


def _close_stdout() -> None:
    """Give the interpreter's last flush a place to go after the reader of the pipe left."""
    _lead_away(sys.stdout)


def _settle_stderr() -> None:
    """Drop talk that nobody can hear: what is still buffered would turn the exit status into 120."""
    try:
        if sys.stderr is not None:
            sys.stderr.flush()
    except (OSError, ValueError):
        _lead_away(sys.stderr)


def _lead_away(stream: TextIO) -> None:
    with contextlib.suppress(OSError, ValueError, AttributeError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())


def _without_bulk(sentence: str, words: Sequence[str]) -> str:
    """A sentence that echoes no argument at length; a pasted log is one argument, and may be a megabyte."""
    for word in words:
        if len(word) > LONGEST_ECHO:
            short = f"{word[:LONGEST_ECHO]}... ({len(word):,} characters)"
            for form in (word, repr(word)[1:-1]):
                sentence = sentence.replace(form, short)
    if len(sentence) > LONGEST_SENTENCE:
        sentence = f"{sentence[: LONGEST_SENTENCE // 2]} ... {sentence[-LONGEST_SENTENCE // 2 :]}"
    return sentence


def _say_usage(console: Console, error: click.ClickException, words: Sequence[str]) -> int:
    """One sentence, and where to read on."""
    sentence = _without_bulk(error.format_message().strip().rstrip("."), words)
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else NAME
    mark = "" if sentence.endswith("?") else "."
    console.say(f"{sentence}{mark} `{path} -h` shows the usage.")
    return error.exit_code


def _meant_verb(words: Sequence[str]) -> str:
    """A hint for a first word that is no file but nearly a verb."""
    behind = next((word for word in words if not word.startswith("-")), "")
    if words and words[0].startswith("-") and behind in VERBS and not Path(behind).exists():
        return f" (Options stand behind the verb: `firstfault {behind} {words[0]} ...`.)"
    if not words or words[0] in VERBS or words[0].startswith("-") or len(words[0]) > LONGEST_VERB:
        return ""
    if Path(words[0]).exists():
        return ""
    import difflib

    close = difflib.get_close_matches(words[0], VERBS, n=1, cutoff=0.6)
    return f" (Did you mean the verb `{close[0]}`?)" if close else ""


def _internal_error(console: Console, error: Exception, words: Sequence[str]) -> int:
    from assistant.cli.crash import write_report

    if os.environ.get("FIRSTFAULT_DEBUG"):
        import traceback

        console.say("internal error:\n" + "".join(traceback.format_exception(error)))
        return ExitCode.INTERNAL
    path = write_report(error, words)
    where = f"A report without any log text is in {path}; please" if path else "Please"
    console.say(
        f"internal error ({type(error).__name__}). {where} file it as an issue; FIRSTFAULT_DEBUG=1 shows the traceback."
    )
    return ExitCode.INTERNAL
