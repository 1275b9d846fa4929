"""A memory file per tenant, used from one thread so that a busy file never holds up an event loop."""

import asyncio
import weakref
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar
from urllib.parse import quote

from memory_agent.agent_memory import MemoryManager
from memory_agent.files import open_database

DEFAULT_TENANT = "default"

T = TypeVar("T")


class TenantFiles:
    """Opens each tenant's file on first use and closes them all when it is no longer used itself."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._managers: dict[str, MemoryManager] = {}
        # One thread: a connection serves one call at a time.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory-agent")
        self.close = weakref.finalize(self, _close, self._thread, self._managers)

    def path_of(self, tenant_id: str) -> Path:
        """Return where a tenant's memories lie; a file of its own is a wall that no query can cross."""
        if tenant_id == DEFAULT_TENANT:
            return self._path
        return self._path.with_name(f"{self._path.stem}.{quote(tenant_id, safe='')}{self._path.suffix}")

    async def run(self, tenant_id: str, action: Callable[[MemoryManager], T]) -> T:
        """Do something with a tenant's memories.

        Raises:
            UnusableFileError: the file is no memory file, is damaged, or was written by a newer version.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._act, tenant_id, action)

    def _act(self, tenant_id: str, action: Callable[[MemoryManager], T]) -> T:
        if tenant_id not in self._managers:
            # Closed by whichever thread drops the last reference, so not bound to the one that opens it.
            db = open_database(self.path_of(tenant_id), check_same_thread=False)
            self._managers[tenant_id] = MemoryManager(db)
        return action(self._managers[tenant_id])


def _close(thread: ThreadPoolExecutor, managers: dict[str, MemoryManager]) -> None:
    # Not waited for: the thread may be the one that this runs in, and it has no call left to finish.
    thread.shutdown(wait=False)
    for manager in managers.values():
        manager.close()
