"""Lets work that takes long tell how far it has come, to whoever listens: a progress bar, an MCP client, or nobody.

A tool's signature is what its callers see, so progress does not travel through it: whoever calls a tool and wants to
know listens around the call, and only that call's own work is heard.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar

# Called with what is being done, how much of it is done, and how much there is.
Listener = Callable[[str, int, int], object]

_LISTENER: ContextVar[Listener | None] = ContextVar("memory progress listener", default=None)


@contextmanager
def listening(listener: Listener) -> Iterator[None]:
    """Hear the progress of everything that is called in the block."""
    token = _LISTENER.set(listener)
    try:
        yield
    finally:
        _LISTENER.reset(token)


def report_progress(doing: str, done: int, total: int) -> None:
    """Tell whoever listens how far the work has come."""
    listener = _LISTENER.get()
    if listener is not None:
        listener(doing, done, total)
