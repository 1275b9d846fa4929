"""What a model is told when a call fails: which kind of failure, what was wrong, and what to do about it.

Only texts that were written for callers leave the process. Whatever else an error says (statements, paths, hosts) goes
to the log, under a reference that the answer names.
"""

import json
import logging
from dataclasses import asdict, dataclass
from uuid import uuid4

import asyncpg
from memory_core import (
    EmbeddingError,
    InvalidInputError,
    InvalidTransitionError,
    MemoryModuleError,
    TenantMismatchError,
)
from memory_core.database import UNAVAILABLE
from memory_core.errors import ServerError

logger = logging.getLogger(__name__)


class NotReadyError(MemoryModuleError):
    """The database is starting or away; the message says which."""


class AnswerTooLargeError(MemoryModuleError):
    """An answer is larger than clients take."""


class CallTimeoutError(MemoryModuleError):
    """A call took longer than it may."""


class SpoolFullError(MemoryModuleError):
    """The database is away and no more episodes can wait for it."""


# What a call meets when the database is starting or away.
AWAY_ERRORS: tuple[type[Exception], ...] = (NotReadyError, *UNAVAILABLE)


@dataclass(frozen=True)
class ToolFailure:
    """One failed call, as a model reads it."""

    error: str
    message: str
    recovery: str

    def text(self) -> str:
        """Return it as JSON."""
        return json.dumps(asdict(self), ensure_ascii=False)


AWAY = ToolFailure(
    "unavailable",
    "the memory database cannot be reached at the moment; it is tried again all the time",
    "Go on without memory and call again in a minute; if it stays away, tell the user.",
)

# The first class that fits decides: subclasses come before their parents.
_TOLD: tuple[tuple[type[Exception], str, str], ...] = (
    (TenantMismatchError, "wrong_tenant", "Leave the tenant out: a call always works on your own tenant's memories."),
    (InvalidTransitionError, "invalid_transition", "Read the memory's state with memory_get; do not repeat the call."),
    (InvalidInputError, "invalid_input", "Correct the arguments and call again."),
    (NotReadyError, "unavailable", AWAY.recovery),
    (SpoolFullError, "spool_full", "Nothing was stored. Tell the user that the memory database is away."),
    (AnswerTooLargeError, "answer_too_large", "Ask for less: a smaller limit, fewer types, one scope."),
    (CallTimeoutError, "timeout", "Call again once; if it times out again, ask for less."),
)


def explain_failure(error: Exception, tool: str) -> ToolFailure:
    """Return what a caller may know of an error, and log the rest."""
    for kind, name, recovery in _TOLD:
        if isinstance(error, kind):
            logger.info("%s refused: %s", tool, error)
            return ToolFailure(name, str(error), recovery)
    if isinstance(error, (ServerError, *UNAVAILABLE)):
        logger.warning("%s failed because the database is away: %s", tool, error or type(error).__name__)
        return AWAY
    return _unforeseen(error, tool)


def _unforeseen(error: Exception, tool: str) -> ToolFailure:
    reference = uuid4().hex[:8]
    logger.error("%s failed (reference %s)", tool, reference, exc_info=error)
    logged = f"the server's log has the details under reference {reference}"
    if isinstance(error, asyncpg.PostgresError):
        message = f"the database refused the call and nothing was changed; {logged}"
        return ToolFailure("database_error", message, "Do not repeat the call unchanged; tell the user the reference.")
    if isinstance(error, EmbeddingError):
        message = f"the text could not be turned into a vector; {logged}"
        return ToolFailure("embedding_failed", message, "Tell the user the reference: the server has to be mended.")
    return ToolFailure(
        "internal_error", f"the call failed; {logged}", "Tell the user the reference; do not repeat the call unchanged."
    )
