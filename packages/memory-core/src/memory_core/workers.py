"""What periodic work looks like."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Protocol

if TYPE_CHECKING:
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
        """Do the work once and return what was counted."""
