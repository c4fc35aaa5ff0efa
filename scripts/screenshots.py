#!/usr/bin/env python3
"""The pictures of the README, taken from the real app on a bundled incident.

Usage: scripts/screenshots.py [--readme] [--out FOLDER] [--incident NAME] [--png]

Writes SVG files: home, verdict, checks, evidence, asked, library, help, at 80x24 and 140x40, dark and light. With --readme
only those that the README shows, to .github/pictures. With --png also PNG files, by the package cairosvg or the program
rsvg-convert, whichever is there.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Awaitable, Callable
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from textual.pilot import Pilot  # noqa: E402
from textual.widgets import Input  # noqa: E402

from assistant.cli.tui import _demos  # noqa: E402
from assistant.settings import cache_dir  # noqa: E402
from assistant.tui.app import FirstfaultApp  # noqa: E402
from assistant.tui.conversation import ChatConversation  # noqa: E402
from assistant.tui.services import Services  # noqa: E402
from assistant.tui.theme import DARK, LIGHT  # noqa: E402
from corpus.catalogue import Catalogue  # noqa: E402

SIZES = ((80, 24), (140, 40))
THEMES = {"dark": DARK.name, "light": LIGHT.name}
README = {"verdict-140x40"}
"""What the README shows, each dark and light."""
QUESTION = "How do I confirm it?"
PATIENCE = 60.0


async def until(pilot: Pilot[None], state: Callable[[], object]) -> None:
    """Wait for a state of the app."""
    for _ in range(int(PATIENCE / 0.05)):
        if state():
            return
        await pilot.pause(0.05)
    raise SystemExit("screenshots: the app did not get where it should")


async def pictures(
    app: FirstfaultApp, pilot: Pilot[None], incident: str, take: Callable[[str], Awaitable[None]]
) -> None:
    """Go through the states, and take one picture of each."""
    await until(pilot, lambda: app.loaded)
    await take("home")
    assert app.loaded is not None
    app.read_demo(next(demo for demo in app.loaded.demos if demo.name == incident))
    await until(pilot, lambda: app.case is not None and isinstance(app.focused, Input))
    await take("verdict")
    await pilot.press("f4", "right_square_bracket", "space")
    await take("checks")
    await pilot.press(*["right_square_bracket"] * 3)
    await take("evidence")
    await pilot.press("f3")
    line = app.focused
    assert isinstance(line, Input)
    line.value = QUESTION
    await pilot.press("enter")
    await until(pilot, lambda: app.screen.query("Turn.-answer"))
    await take("asked")
    await pilot.press("f1")
    await take("help")
    await pilot.press("escape", "ctrl+l")
    await until(pilot, lambda: app.screen.query("#library"))
    await take("library")


async def shoot(size: tuple[int, int], theme: str, incident: str, out: Path, wanted: set[str]) -> list[Path]:
    """The wanted pictures of one size and theme; all where none is named."""
    services = Services(
        lambda: Catalogue.load(cache_dir=cache_dir()),
        lambda catalogue: ChatConversation(catalogue, None, keeps=False),
        _demos,
    )
    app = FirstfaultApp(services)
    made: list[Path] = []
    async with app.run_test(size=size) as pilot:

        async def take(name: str) -> None:
            for line in app.screen.query(Input):
                line.cursor_blink = False
            await pilot.pause(0.3)
            stem = f"{name}-{size[0]}x{size[1]}"
            if wanted and stem not in wanted:
                return
            path = out / f"{stem}-{theme}.svg"
            path.write_text(app.export_screenshot(title="firstfault"), encoding="utf-8")
            made.append(path)

        await until(pilot, lambda: app.is_screen_installed("home"))
        app.theme = THEMES[theme]
        await pictures(app, pilot, incident, take)
    return made


def to_png(path: Path) -> bool:
    """The same picture in dots; False where nothing here can make it."""
    png = path.with_suffix(".png")
    # The font is fetched from the web by the SVG; a drawing program has only those of this machine.
    text = _without_leading_blanks(path.read_text(encoding="utf-8").replace("Fira Code", "DejaVu Sans Mono"))
    if importlib.util.find_spec("cairosvg") is not None:
        import cairosvg

        cairosvg.svg2png(bytestring=text.encode(), write_to=str(png), output_width=1400)
        return True
    if shutil.which("rsvg-convert"):
        with tempfile.NamedTemporaryFile("w", suffix=".svg", encoding="utf-8") as file:
            file.write(text)
            file.flush()
            subprocess.run(["rsvg-convert", "-w", "1400", "-o", str(png), file.name], check=True)
        return True
    return False


def _without_leading_blanks(svg: str) -> str:
    """Texts that begin where their first letter is; rsvg-convert draws no blanks before it, browsers do."""

    def shifted(found: re.Match[str]) -> str:
        blanks = len(found[5]) // len("&#160;")
        column = 12.2  # as Rich draws it
        x, length = float(found[2]) + blanks * column, float(found[4]) - blanks * column
        return f"{found[1]}{x:.1f}{found[3]}{max(length, 0.1):.1f}{found[6]}"

    return re.sub(
        r'(<text [^>]*x=")([\d.]+)("[^>]*textLength=")([\d.]+)(?="[^>]*>((?:&#160;)+)[^<])("[^>]*>)(?:&#160;)+',
        shifted,
        svg,
    )


def main() -> int:
    """Take all pictures."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--readme", action="store_true", help="only what the README shows, to where it looks for it")
    parser.add_argument("--out", type=Path, help="where the pictures go (default: build/screenshots)")
    parser.add_argument("--incident", default="xid79-node-b", help="name of a bundled incident")
    parser.add_argument("--png", action="store_true", help="PNG files, too")
    options = parser.parse_args()
    out = options.out or ROOT / (".github/pictures" if options.readme else "build/screenshots")
    out.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        for theme in THEMES:
            for path in asyncio.run(shoot(size, theme, options.incident, out, README if options.readme else set())):
                print(path)
                if options.png and not to_png(path):
                    print("screenshots: neither cairosvg nor rsvg-convert is here, so SVG only", file=sys.stderr)
                    options.png = False
    return 0


if __name__ == "__main__":
    sys.exit(main())
