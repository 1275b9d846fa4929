"""Reads the configuration from a `butler.toml`, the environment and arguments; later ones win."""

import json
import logging
import os
import tomllib
from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memory_core.config import MemoryModuleConfig
from memory_core.errors import ConfigError

PREFIX = "MEMORY_"
CONFIG_FILE_VARIABLE = "MEMORY_CONFIG"
DISABLED_PLUGINS_VARIABLE = "MEMORY_DISABLED_PLUGINS"
DEFAULT_FILE = "butler.toml"

# Variables with the prefix that are not settings of the module.
_OTHER_VARIABLES = frozenset({CONFIG_FILE_VARIABLE, DISABLED_PLUGINS_VARIABLE})

logger = logging.getLogger(__name__)


def load_config(
    path: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> MemoryModuleConfig:
    """Return the configuration from a file, then MEMORY_* variables, then overrides.

    The file is `path`, else $MEMORY_CONFIG, else `butler.toml` in the working directory if there is one.
    `MEMORY_RETRIEVAL__DEFAULT_LIMIT=5` sets `retrieval.default_limit`. An override of `None` is none.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or a value is bad; the message names the key.
    """
    variables = os.environ if environ is None else environ
    given = {key: value for key, value in (overrides or {}).items() if value is not None}
    settings = _from_file(path or variables.get(CONFIG_FILE_VARIABLE))
    return parse_config(_merged(_merged(settings, _from_environment(variables)), given))


def parse_config(settings: Mapping[str, Any]) -> MemoryModuleConfig:
    """Return checked settings.

    Raises:
        ConfigError: a key is unknown or a value is bad; the message names the key.
    """
    try:
        return MemoryModuleConfig.model_validate(dict(settings))
    except ValidationError as error:
        raise ConfigError("; ".join(_explain(problem) for problem in error.errors())) from None


def disabled_plugins(environ: Mapping[str, str] | None = None) -> list[str]:
    """Return the plugin names that MEMORY_DISABLED_PLUGINS lists, separated by commas."""
    names = (os.environ if environ is None else environ).get(DISABLED_PLUGINS_VARIABLE, "")
    return [name.strip() for name in names.split(",") if name.strip()]


def _explain(problem: Any) -> str:
    key = ".".join(["modules.memory", *(str(part) for part in problem["loc"])])
    if problem["type"] == "extra_forbidden":
        return f"unknown key {key}; remove it or check its spelling (docs/configuration.md lists all keys)"
    return f"bad value for {key}: {problem['msg']} (got {str(problem['input'])[:80]!r})"


def _from_file(path: str | Path | None) -> dict[str, Any]:
    file = Path(path or DEFAULT_FILE)
    if not path and not file.is_file():
        return {}
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the configuration file {str(file)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration file {str(file)!r} is not valid TOML: {error}") from error
    settings: Any = document
    for depth, section in enumerate(("modules", "memory"), start=1):
        settings = settings.get(section, {})
        if not isinstance(settings, dict):
            name = ".".join(("modules", "memory")[:depth])
            raise ConfigError(f"bad value for {name} in {str(file)!r}: it is not a table; write [modules.memory]")
    return dict(settings)


def _from_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    # In the order of their names, so that MEMORY_TOOLS is read before the MEMORY_TOOLS__SETS that refines it.
    for variable in sorted(variables):
        if variable.startswith(PREFIX) and variable not in _OTHER_VARIABLES:
            path = variable.removeprefix(PREFIX).lower().split("__")
            if _is_setting(variable, path):
                settings = _merged(settings, _nested(path, _value(path, variables[variable])))
    return settings


def _is_setting(variable: str, path: list[str]) -> bool:
    """Tell ours from others: programs share prefixes, so a foreign name is left alone unless it looks like a typo."""
    known = {field.alias or name for name, field in MemoryModuleConfig.model_fields.items()}
    if path[0] in known:
        return True
    if len(path) > 1:
        raise ConfigError(
            f"unknown key modules.memory.{'.'.join(path)} in the variable {variable}; "
            "remove it or check its spelling (docs/configuration.md lists all keys)"
        )
    for meant in get_close_matches(path[0], known, n=1, cutoff=0.65):
        logger.warning("%s is not a setting and is ignored; is %s%s meant?", variable, PREFIX, meant.upper())
    return False


def _nested(path: list[str], value: Any) -> dict[str, Any]:
    for section in reversed(path):
        value = {section: value}
    nested: dict[str, Any] = value
    return nested


def _value(path: list[str], text: str) -> Any:
    """Read lists and objects as JSON; numbers and booleans are left to the model, which reads them from text."""
    # A plugin's options have no model here: whatever is JSON is read as such.
    if text[:1] in ("[", "{") or (path[0] == "plugins" and len(path) > 1):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _merged(base: Mapping[str, Any], over: Mapping[str, Any]) -> dict[str, Any]:
    """Return both, tables merged key by key; where both have a value, that of `over`."""
    merged = dict(base)
    for key, value in over.items():
        below = merged.get(key)
        both = isinstance(value, Mapping) and isinstance(below, Mapping)
        merged[key] = _merged(below, value) if both else value  # type: ignore[arg-type]
    return merged
