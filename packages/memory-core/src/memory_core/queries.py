"""Loads SQL from `sql/*.sql`: blocks that begin with a line `-- name --`."""

import re
from collections.abc import Mapping
from functools import cache
from importlib.resources import files

_NAME = re.compile(r"^-- (\w+) --$", re.MULTILINE)


@cache
def load_queries(topic: str, package: str = "memory_core") -> Mapping[str, str]:
    """Return the statements of `sql/<topic>.sql` in a package, by name."""
    text = files(package).joinpath("sql", f"{topic}.sql").read_text(encoding="utf-8")
    _, *parts = _NAME.split(text)
    names, bodies = parts[::2], parts[1::2]
    if len(set(names)) != len(names):
        raise ValueError(f"{package}/sql/{topic}.sql names a statement twice: {sorted(names)}")
    return {name: body.strip().rstrip(";") for name, body in zip(names, bodies, strict=True)}
