#!/usr/bin/env python3
"""The pictures of the README, taken from the real app on a bundled incident.

Usage: scripts/screenshots.py [--out FOLDER] [--incident NAME] [--png]

Writes SVG files: home, verdict, checks, evidence, asked, library, at 80x24 and 140x40. With --png also PNG files, by
the package cairosvg or the program rsvg-convert, whichever is there.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.util
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

from assistant.cli.demo import incidents  # noqa: E402
from assistant.settings import cache_dir  # noqa: E402
from assistant.tui.app import FirstfaultApp  # noqa: E402
from assistant.tui.conversation import ChatConversation  # noqa: E402
from assistant.tui.services import Demo, Services  # noqa: E402
from corpus.catalogue import Catalogue  # noqa: E402

SIZES = ((80, 24), (140, 40))
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
    await pilot.press("ctrl+l")
    await until(pilot, lambda: app.screen.query("#library"))
    await take("library")


async def shoot(size: tuple[int, int], incident: str, out: Path) -> list[Path]:
    """All pictures of one size."""
    demos = [Demo(item.name, item.title, item.folder, item.sources) for item in incidents()]
    services = Services(
        lambda: Catalogue.load(cache_dir=cache_dir()),
        lambda catalogue: ChatConversation(catalogue, None, keeps=False),
        lambda: demos,
    )
    app = FirstfaultApp(services)
    made: list[Path] = []
    async with app.run_test(size=size) as pilot:

        async def take(name: str) -> None:
            for line in app.screen.query(Input):
                line.cursor_blink = False
            await pilot.pause(0.3)
            path = out / f"{name}-{size[0]}x{size[1]}.svg"
            path.write_text(app.export_screenshot(title="firstfault"), encoding="utf-8")
            made.append(path)

        await pictures(app, pilot, incident, take)
    return made


def to_png(path: Path) -> bool:
    """The same picture in dots; False where nothing here can make it."""
    png = path.with_suffix(".png")
    # The font is fetched from the web by the SVG; a drawing program has only those of this machine.
    text = path.read_text(encoding="utf-8").replace("Fira Code", "DejaVu Sans Mono")
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


def main() -> int:
    """Take all pictures."""
    assert __doc__ is not None
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, default=ROOT / "build" / "screenshots", help="where the pictures go")
    parser.add_argument("--incident", default="xid79-node-b", help="name of a bundled incident")
    parser.add_argument("--png", action="store_true", help="PNG files, too")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    for size in SIZES:
        for path in asyncio.run(shoot(size, options.incident, options.out)):
            print(path)
            if options.png and not to_png(path):
                print("screenshots: neither cairosvg nor rsvg-convert is here, so SVG only", file=sys.stderr)
                options.png = False
    return 0


if __name__ == "__main__":
    sys.exit(main())
