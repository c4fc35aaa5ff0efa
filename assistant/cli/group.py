"""The group of verbs, loaded one by one so that `--help` costs nothing."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Callable
from typing import Any, Final

import click
from click.shell_completion import CompletionItem

from assistant.console import is_terminal

VERBS: Final = {
    "diagnose": "Say which fault came first (the default: `firstfault PATH...`).",
    "tui": "Open the terminal user interface (the default: `firstfault` alone).",
    "ask": "Ask about the last diagnosis, another log, or an entry.",
    "search": "Search the corpus by meaning, by words or by a piece of log.",
    "control": "Compare a failed run with one that differs in one thing.",
    "excerpt": "Print the decisive excerpt, masked and in a budget of tokens, to paste elsewhere.",
    "mask": "Print a log with secrets, hosts, users and addresses masked.",
    "run": "Run a job, keep its output, and diagnose it at the end.",
    "show": "Show an entry: what it is, how to confirm it, how to mend it.",
    "related": "Show what an entry causes, what causes it and what looks like it.",
    "list": "List the entries of the corpus.",
    "demo": "Diagnose a bundled incident.",
    "index": "Build the index that finds entries by meaning, or show its state.",
    "corpus": "Write, check and test entries.",
    "doctor": "Check this installation.",
}
_OWN_OPTIONS: Final = frozenset({"-h", "--help", "--version"})


class VerbGroup(click.Group):
    """Verbs by name; a first word that is no verb, or no word at all, means `diagnose`."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """All verbs in the order of the help."""
        return list(VERBS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Import the module of a verb."""
        if cmd_name not in VERBS:
            return None
        command: click.Command = importlib.import_module(f"assistant.cli.{cmd_name}").command
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Put `diagnose` in front of anything that is not a verb."""
        if not args and ctx.resilient_parsing:  # completion of the first word
            return super().parse_args(ctx, args)
        if not args and (sys.stdin is None or is_terminal(sys.stdin)):
            if _has_person():
                return super().parse_args(ctx, ["tui"])
            raise click.UsageError(
                "Nothing to read: name a log file or a directory, or pipe a log in; "
                "`firstfault demo` shows what comes out",
                ctx,
            )
        if not args or (args[0] not in VERBS and args[0] not in _OWN_OPTIONS):
            args = ["diagnose", *args]
        return super().parse_args(ctx, args)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """The verbs with their one line, without importing any."""
        with formatter.section("Verbs"):
            formatter.write_dl(list(VERBS.items()))

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """Verbs, and files, because a path may stand where a verb stands."""
        verbs = [CompletionItem(name, help=text) for name, text in VERBS.items() if name.startswith(incomplete)]
        return [*verbs, CompletionItem(incomplete, type="file")]


def _has_person() -> bool:
    """Whether somebody sits at a screen: results go to stdout, the interface draws on stderr."""
    return all(is_terminal(stream) for stream in (sys.stdin, sys.stdout, sys.stderr))


HELP: Final = """Say which fault came first in the logs of a dead job, and prove it.

Reads files, directories with one log per rank, archives and pipes; nothing leaves this machine.

\b
  firstfault job.log dmesg.log     diagnose some files
  firstfault logs/                 diagnose a directory
  kubectl logs POD | firstfault    diagnose a pipe
  firstfault                       look into logs, ask, browse
  firstfault ask "may I restart?"  ask about the last diagnosis
  firstfault demo                  see it work

A first word that is a verb is the verb; a file called like one is written ./show."""

EPILOG: Final = """Exit status: 0 done, 2 usage, nothing readable or result not written, 4 corpus broken, 5 result given but some input
unreadable or truncated, 70 internal error, 130 interrupted. With --exit-code also 10 first fault found, 11 not found,
12 degraded; `run` ends with the job's own status (see `firstfault run -h`).

Shell completion: eval "$(_FIRSTFAULT_COMPLETE=bash_source firstfault)" (or zsh_source, fish_source)."""


def verb(name: str, **settings: Any) -> Callable[[Callable[..., None]], click.Command]:
    """The decorator of a verb: a click command with `-h`, and its line from `VERBS` in the overview."""
    context = {"help_option_names": ["-h", "--help"], "max_content_width": 100, **settings.pop("context_settings", {})}
    return click.command(name, context_settings=context, short_help=VERBS[name], **settings)
