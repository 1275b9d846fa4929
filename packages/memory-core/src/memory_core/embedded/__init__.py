"""The embedded PostgreSQL server: one per data directory, shared by every process that uses it."""

import sys

from memory_core.embedded.status import ServerStatus

if sys.platform == "win32":
    from memory_core.embedded.unsupported import EmbeddedServer
else:
    from memory_core.embedded.server import EmbeddedServer

__all__ = ["EmbeddedServer", "ServerStatus"]
