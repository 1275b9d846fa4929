"""Reads the configuration from a `butler.toml`, the environment and arguments; later ones win."""

import json
import os
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from memory_core.config import MemoryModuleConfig
from memory_core.errors import ConfigError

PREFIX = "MEMORY_"
CONFIG_FILE_VARIABLE = "MEMORY_CONFIG"
DISABLED_PLUGINS_VARIABLE = "MEMORY_DISABLED_PLUGINS"

# Variables with the prefix that are not settings of the module.
_OTHER_VARIABLES = frozenset({CONFIG_FILE_VARIABLE, DISABLED_PLUGINS_VARIABLE})


def load_config(
    path: str | Path | None = None,
    *,
    environ: Mapping[str, str] | None = None,
    overrides: Mapping[str, Any] | None = None,
) -> MemoryModuleConfig:
    """Return the configuration from a file, then MEMORY_* variables, then overrides.

    The file is `path`, else $MEMORY_CONFIG, else `butler.toml` in the working directory if there is one.
    `MEMORY_RETRIEVAL__DEFAULT_LIMIT=5` sets `retrieval.default_limit`.

    Raises:
        ConfigError: the file cannot be read, a key is unknown, or a value is bad; the message names the key.
    """
    variables = os.environ if environ is None else environ
    settings = _from_file(path or variables.get(CONFIG_FILE_VARIABLE))
    _merge(settings, _from_environment(variables))
    _merge(settings, {key: value for key, value in (overrides or {}).items() if value is not None})
    return parse_config(settings)


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
    file = Path(path) if path else Path("butler.toml")
    if not path and not file.is_file():
        return {}
    try:
        document = tomllib.loads(file.read_text(encoding="utf-8"))
    except OSError as error:
        raise ConfigError(f"the configuration file {str(file)!r} cannot be read: {error.strerror}") from error
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise ConfigError(f"the configuration file {str(file)!r} is not valid TOML: {error}") from error
    settings = document.get("modules", {}).get("memory", {})
    if not isinstance(settings, dict):
        raise ConfigError(f"modules.memory in {str(file)!r} is not a table; write [modules.memory]")
    return settings


def _from_environment(variables: Mapping[str, str]) -> dict[str, Any]:
    settings: dict[str, Any] = {}
    known = set(MemoryModuleConfig.model_fields) | {"schema"}
    for variable, text in variables.items():
        *sections, key = variable.removeprefix(PREFIX).lower().split("__")
        # Other programs may use the prefix too: only names that begin with a setting of ours are read.
        if not variable.startswith(PREFIX) or variable in _OTHER_VARIABLES or [*sections, key][0] not in known:
            continue
        target = settings
        for section in sections:
            target = target.setdefault(section, {})
        target[key] = _value(text)
    return settings


def _value(text: str) -> Any:
    """Read lists and objects as JSON; numbers and booleans are left to the model, which reads them from text."""
    if text[:1] in ("[", "{"):
        try:
            return json.loads(text)
        except ValueError:
            return text
    return text


def _merge(target: dict[str, Any], source: Mapping[str, Any]) -> None:
    for key, value in source.items():
        if isinstance(value, Mapping) and isinstance(target.get(key), dict):
            _merge(target[key], value)
        else:
            target[key] = dict(value) if isinstance(value, Mapping) else value
