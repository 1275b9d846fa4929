"""The options of the spawners, as `[modules.memory.plugins.<name>]` spells them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated, Any, TypeVar
from urllib.parse import urlsplit

from memory_core import ConfigError
from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError


def _reachable_url(url: str) -> str:
    # Reading the port checks it too; what is wrong with an address is to be said at the start, not by each run.
    parts = urlsplit(url)
    if not parts.hostname or parts.port == 0:
        raise ValueError("name a host, and a port from 1 to 65535 if any")
    return url


class SpawnerOptions(BaseModel):
    """What every spawner can be told."""

    model_config = ConfigDict(extra="forbid", frozen=True, allow_inf_nan=False)

    timeout_seconds: float = Field(default=600, gt=0, description="How long one run may take.")
    max_output_bytes: int = Field(default=1_048_576, ge=1024, description="How much a run may answer.")


class ProgramOptions(SpawnerOptions):
    """What every spawner that starts a program can be told."""

    pass_environment: list[str] = Field(default=[], description="Variables that the program sees besides the usual.")


class CommandOptions(ProgramOptions):
    """The options of `command`."""

    command: list[str] = Field(min_length=1, description="The program and its arguments; it reads the prompt on stdin.")
    model: str | None = Field(default=None, description="The name under which its runs are recorded.")


class AgentOptions(ProgramOptions):
    """The options of `claude`, `codex` and `gemini`."""

    executable: str | None = Field(default=None, description="Where the program is, if not on the PATH.")
    model: str | None = Field(default=None, description="The model to use; the program's own default without it.")
    args: list[str] | None = Field(
        default=None, description="Arguments instead of the usual ones, for another version of the program."
    )


class OpenAIOptions(SpawnerOptions):
    """The options of `openai`."""

    base_url: Annotated[str, AfterValidator(_reachable_url)] = Field(
        default="http://127.0.0.1:11434/v1", pattern="^https?://", description="The endpoint up to and with /v1."
    )
    model: str = Field(min_length=1, description="The model's name at that endpoint.")
    api_key_env: str | None = Field(default="OPENAI_API_KEY", description="The variable that holds the key, if any.")
    temperature: float | None = Field(default=0.0, ge=0, le=2, description="Left out of the request if null.")
    max_tokens: int | None = Field(default=None, ge=1, description="Tokens that the answer may have.")
    max_retries: int = Field(default=2, ge=0, le=10, description="How often a busy or failing endpoint is asked again.")
    extra_body: dict[str, Any] = Field(default={}, description="Further fields of the request.")


Options = TypeVar("Options", bound=SpawnerOptions)


def read_options(kind: type[Options], name: str, options: Mapping[str, Any]) -> Options:
    """Return checked options.

    Raises:
        ConfigError: a key is unknown, missing or has a bad value; the message names it.
    """
    try:
        return kind.model_validate(dict(options))
    except ValidationError as error:
        problems = "; ".join(
            f"modules.memory.plugins.{'.'.join([name, *map(str, problem['loc'])])}: {problem['msg']}"
            for problem in error.errors(include_input=False, include_url=False)
        )
        raise ConfigError(f"{problems}; the options of {name!r} are: {', '.join(kind.model_fields)}") from None
