"""Shows how far long work has come: a bar on stderr where that is a terminal, nothing elsewhere."""

from collections.abc import Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.markup import escape
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeRemainingColumn


class ProgressBar:
    """One bar, which appears with the first report."""

    def __init__(self, console: Console) -> None:
        columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
        self._bar = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task: TaskID | None = None

    def show(self, doing: str, done: int, total: int) -> None:
        """Show what is being done and how much of it is done."""
        if self._task is None:
            self._bar.start()
            self._task = self._bar.add_task("")
        self._bar.update(self._task, description=escape(doing), completed=done, total=total)

    def close(self) -> None:
        """Take the bar away."""
        self._bar.stop()


@contextmanager
def progress_bar() -> Iterator[ProgressBar]:
    """Give a bar that is gone when the block ends, however it ends."""
    bar = ProgressBar(Console(stderr=True))
    try:
        yield bar
    finally:
        bar.close()
