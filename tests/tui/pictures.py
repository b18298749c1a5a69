"""Makes the README's pictures of the app from a sample run: python -m tests.tui.pictures."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

ROOT = Path(__file__).parent.parent.parent
RUN = ROOT / "sample_traces" / "host_bound"
PICTURES = {"overview": (), "timeline": ("G",), "forms": ("down", "down", "down", "down")}
SIZE = (120, 36)


async def picture(view: str, keys: tuple[str, ...]) -> str:
    """The screen of a view, after some keys, as SVG."""
    from tests.tui.screens import settled
    from tracelens.loading.runs import read_run
    from tracelens.tui.app import TraceLens
    from tracelens.tui.links import Place
    from tracelens.tui.opening import Opening

    run = read_run(RUN.relative_to(ROOT))
    assert run is not None
    opening = Opening(str(run.first_trace()), run=run)
    app = TraceLens(opening, place=Place(view), run=run)
    opening.start()
    async with app.run_test(size=SIZE) as pilot:
        await settled(app, pilot)
        for key in keys:
            await pilot.press(key)
            await pilot.pause(0.2)
        return app.export_screenshot(title=f"tracelens, {view}")


def main() -> None:
    """Write sample_traces/pictures/VIEW.svg."""
    os.chdir(ROOT)
    os.environ |= {"TERM": "xterm-256color", "COLORTERM": "truecolor"}
    os.environ.pop("NO_COLOR", None)
    for view, keys in PICTURES.items():
        path = ROOT / "sample_traces" / "pictures" / f"{view}.svg"
        path.parent.mkdir(exist_ok=True)
        path.write_text(asyncio.run(picture(view, keys)), encoding="utf-8")
        print(path)


if __name__ == "__main__":
    main()
