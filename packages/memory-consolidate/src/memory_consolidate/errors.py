"""How an attempt at consolidating a batch can end without a result."""

from memory_core import MemoryModuleError


class AttemptFailedError(MemoryModuleError):
    """The model gave no usable answer, or nothing of it could be applied; nothing was changed."""


class LeaseLostError(MemoryModuleError):
    """Another process has taken the episodes, or they are gone; nothing was changed."""
