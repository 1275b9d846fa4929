"""The named offer that every hook returns, and the marker that plugins put on their hook functions."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

import pluggy

PROJECT = "memory"

hookimpl = pluggy.HookimplMarker(PROJECT)

T_co = TypeVar("T_co", covariant=True)

Options = Mapping[str, Any]


@dataclass(frozen=True)
class Provider(Generic[T_co]):
    """A thing on offer: `create` builds it from the options under `[modules.memory.plugins.<name>]`."""

    name: str
    create: Callable[[Options], T_co]
