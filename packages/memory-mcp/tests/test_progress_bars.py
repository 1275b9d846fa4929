"""Where progress is shown, and where not."""

from io import StringIO

from memory_mcp.progress_bars import ProgressBar
from rich.console import Console


def shown(*, terminal: bool, reports: list[tuple[str, int, int]]) -> str:
    stderr = StringIO()
    bar = ProgressBar(Console(file=stderr, force_terminal=terminal, width=100))
    for report in reports:
        bar.show(*report)
    bar.close()
    return stderr.getvalue()


def test_a_terminal_gets_a_bar_with_what_is_done():
    told = shown(terminal=True, reports=[("embedding [facts]", 1, 2), ("embedding [facts]", 2, 2)])
    assert "embedding [facts]" in told
    assert "2/2" in told


def test_anything_else_gets_nothing():
    assert shown(terminal=False, reports=[("embedding", 1, 2)]).strip() == ""


def test_work_that_reports_nothing_shows_nothing():
    assert shown(terminal=True, reports=[]) == ""
