"""What periodic work looks like, and which of it the plugins bring."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

from memory_core.errors import InvalidInputError

if TYPE_CHECKING:
    from memory_core.plugins import Plugins
    from memory_core.runtime import Memory


class Worker(Protocol):
    """Work that runs on a cron line, in one process of many at a time."""

    @property
    def name(self) -> str:
        """The name under which runs are recorded and scheduled."""

    @property
    def cron(self) -> str:
        """When it runs unless the configuration says otherwise."""

    async def run(self, memory: Memory) -> Mapping[str, int]:
        """Do the work once and return what was counted; doing it twice must be harmless."""


def collect_workers(plugins: Plugins) -> dict[str, Worker]:
    """Return the workers of all plugins, by name."""
    created = (plugins.create("memory_workers", name) for name in plugins.providers("memory_workers"))
    return {worker.name: worker for worker in created}


def find_worker(plugins: Plugins, name: str) -> Worker:
    """Return a worker by name.

    Raises:
        InvalidInputError: no plugin brings it.
    """
    workers = collect_workers(plugins)
    if name not in workers:
        raise InvalidInputError(f"worker {name!r} is not one of: {', '.join(workers) or 'none is installed'}")
    return workers[name]
