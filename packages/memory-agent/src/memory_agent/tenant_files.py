"""A memory file per tenant, used from one thread so that a busy file never holds up an event loop."""

import asyncio
import weakref
from collections import OrderedDict
from collections.abc import Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from hashlib import sha256
from pathlib import Path
from string import ascii_lowercase, digits
from typing import TypeVar

from memory_agent.agent_memory import MemoryManager
from memory_agent.files import open_database

DEFAULT_TENANT = "default"
# Each open file takes up to three descriptors, of which a process usually has 1,024.
MAX_OPEN_FILES = 64

# File systems allow 255 bytes, and the file's own name and SQLite's endings have to fit too.
_MAX_NAME_CHARS = 120
_PLAIN = frozenset((ascii_lowercase + digits + "-_.").encode())

T = TypeVar("T")


class TenantFiles:
    """Opens each tenant's file on first use, and closes those not used lately, or all with itself."""

    def __init__(self, path: str | Path) -> None:
        self._path = Path(path)
        self._managers: OrderedDict[str, MemoryManager] = OrderedDict()
        # One thread: a connection serves one call at a time.
        self._thread = ThreadPoolExecutor(max_workers=1, thread_name_prefix="memory-agent")
        self.close = weakref.finalize(self, _close, self._thread, self._managers)

    def path_of(self, tenant_id: str) -> Path:
        """Return where a tenant's memories lie; a file of its own is a wall that no query can cross."""
        if tenant_id == DEFAULT_TENANT:
            return self._path
        return self._path.with_name(f"{self._path.stem}.{file_name_part(tenant_id)}{self._path.suffix}")

    async def run(self, tenant_id: str, action: Callable[[MemoryManager], T]) -> T:
        """Do something with a tenant's memories.

        Raises:
            UnusableFileError: the file is no memory file, is damaged, or was written by a newer version.
        """
        return await asyncio.get_running_loop().run_in_executor(self._thread, self._act, tenant_id, action)

    def _act(self, tenant_id: str, action: Callable[[MemoryManager], T]) -> T:
        if tenant_id not in self._managers:
            while len(self._managers) >= MAX_OPEN_FILES:
                self._managers.popitem(last=False)[1].close()
            # Closed by whichever thread drops the last reference, so not bound to the one that opens it.
            db = open_database(self.path_of(tenant_id), check_same_thread=False)
            self._managers[tenant_id] = MemoryManager(db)
        self._managers.move_to_end(tenant_id)
        return action(self._managers[tenant_id])


def file_name_part(tenant_id: str) -> str:
    """Return a part of a file name that no other tenant has, also where file names have no case."""
    encoded = tenant_id.encode()
    name = "".join(chr(byte) if byte in _PLAIN else f"%{byte:02x}" for byte in encoded)
    # In a name as above two digits follow each "%", so none of them looks like this one.
    return name if len(name) <= _MAX_NAME_CHARS else f"%sha256-{sha256(encoded).hexdigest()}"


def _close(thread: ThreadPoolExecutor, managers: Mapping[str, MemoryManager]) -> None:
    # Not waited for: the thread may be the one that this runs in, and it has no call left to finish.
    thread.shutdown(wait=False)
    for manager in managers.values():
        manager.close()
