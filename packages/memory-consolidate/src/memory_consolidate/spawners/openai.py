"""The spawner for any endpoint that speaks OpenAI's chat completions: Ollama, llama.cpp, vLLM, hosted models."""

from __future__ import annotations

import asyncio
import json
import os
import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import Any
from urllib.parse import urlsplit

import httpx2
from memory_core import MemoryModuleError
from memory_core.spawning import SpawnerResult
from memory_core.validation import parse_moment

from memory_consolidate.spawners.answers import as_int, as_object
from memory_consolidate.spawners.command import failure
from memory_consolidate.spawners.options import OpenAIOptions, read_options

BUSY = frozenset({408, 429, 500, 502, 503, 504})
LOOPBACK = frozenset({"127.0.0.1", "::1", "localhost"})


class EndpointError(MemoryModuleError):
    """The endpoint did not answer as asked."""


class BusyEndpointError(EndpointError):
    """Asking again may help, after as many seconds as the endpoint says."""

    def __init__(self, message: str, wait: float | None = None) -> None:
        super().__init__(message)
        self.wait = wait


@dataclass(frozen=True)
class OpenAISpawner:
    """Asks an endpoint once per prompt, and again while it is busy."""

    options: OpenAIOptions

    async def trigger(self, *, prompt: str, trigger_source: str) -> SpawnerResult:
        """Ask the endpoint; a failure is a result with `success=False`."""
        began, limit = time.monotonic(), self.options.timeout_seconds
        try:
            async with asyncio.timeout(limit):
                result = await self._ask_until_answered(prompt, began + limit)
        except TimeoutError:
            result = failure(f"the endpoint did not answer within {limit:g} seconds")
        except EndpointError as error:
            result = failure(str(error))
        elapsed = round((time.monotonic() - began) * 1000)
        return replace(result, model=result.model or self.options.model, duration_ms=elapsed)

    async def _ask_until_answered(self, prompt: str, deadline: float) -> SpawnerResult:
        # A local model is never behind the proxy that the environment may name.
        direct = urlsplit(self.options.base_url).hostname in LOOPBACK
        async with httpx2.AsyncClient(timeout=self.options.timeout_seconds, trust_env=not direct) as client:
            for retries in range(self.options.max_retries):
                try:
                    return read_completion(await self._post(client, prompt))
                except BusyEndpointError as error:
                    pause = 2.0**retries if error.wait is None else error.wait
                    if time.monotonic() + pause > deadline:
                        raise EndpointError(f"{error}; waiting {pause:g} seconds would pass the time limit") from None
                    await asyncio.sleep(pause)
            return read_completion(await self._post(client, prompt))

    async def _post(self, client: httpx2.AsyncClient, prompt: str) -> bytes:
        url = f"{self.options.base_url.rstrip('/')}/chat/completions"
        try:
            async with client.stream("POST", url, json=self._body(prompt), headers=self._headers()) as response:
                body = await self._read(response)
        except httpx2.HTTPError as error:
            raise BusyEndpointError(f"the endpoint cannot be used: {type(error).__name__} {error}") from error
        if response.status_code in BUSY:
            raise BusyEndpointError(_status(response, body), retry_after(response.headers.get("retry-after", "")))
        if response.status_code != 200:
            raise EndpointError(_status(response, body))
        return body

    async def _read(self, response: httpx2.Response) -> bytes:
        body = bytearray()
        async for chunk in response.aiter_bytes():
            body += chunk
            if len(body) > self.options.max_output_bytes:
                raise EndpointError(f"the endpoint answered with more than {self.options.max_output_bytes:,} bytes")
        return bytes(body)

    def _body(self, prompt: str) -> dict[str, Any]:
        chosen = {"temperature": self.options.temperature, "max_tokens": self.options.max_tokens}
        return {
            "model": self.options.model,
            "messages": [{"role": "user", "content": prompt.encode("utf-8", "replace").decode()}],
            **{key: value for key, value in chosen.items() if value is not None},
            **self.options.extra_body,
            "stream": False,
        }

    def _headers(self) -> dict[str, str]:
        key = os.environ.get(self.options.api_key_env) if self.options.api_key_env else None
        return {"Authorization": f"Bearer {key}"} if key else {}


def read_completion(body: bytes) -> SpawnerResult:
    """Read a chat completion.

    Raises:
        EndpointError: it is none, it is a refusal, or it was cut off.
    """
    try:
        answer = as_object(json.loads(body))
    except ValueError:
        raise EndpointError(f"the endpoint did not answer with JSON: {body[:200]!r}") from None
    choices = answer.get("choices")
    choice = as_object(choices[0]) if isinstance(choices, list) and choices else {}
    message = as_object(choice.get("message"))
    if message.get("refusal"):
        raise EndpointError(f"the model refused: {message['refusal']}")
    if choice.get("finish_reason") in ("length", "content_filter"):
        raise EndpointError(f"the answer was cut off ({choice['finish_reason']}); raise max_tokens or shrink the batch")
    if not isinstance(message.get("content"), str):
        raise EndpointError(f"the endpoint's answer has no message: {body[:200]!r}")
    usage, model = as_object(answer.get("usage")), answer.get("model")
    return SpawnerResult(
        message["content"],
        True,
        model=model if isinstance(model, str) else None,
        input_tokens=as_int(usage.get("prompt_tokens")),
        output_tokens=as_int(usage.get("completion_tokens")),
    )


def retry_after(header: str, now: datetime | None = None) -> float | None:
    """Return how many seconds an endpoint asks to wait, in seconds or until a date; `None` if it does not say."""
    if header.strip().isdecimal():
        return float(header)
    try:
        moment = parsedate_to_datetime(header)
    except ValueError:
        return None
    return max((parse_moment(moment) - parse_moment(now)).total_seconds(), 0.0)


def create_openai(options: Mapping[str, Any]) -> OpenAISpawner:
    """Build the spawner `openai`.

    Raises:
        ConfigError: the options do not name a model, or one of them has a bad value.
    """
    return OpenAISpawner(read_options(OpenAIOptions, "openai", options))


def _status(response: httpx2.Response, body: bytes) -> str:
    return f"the endpoint answered {response.status_code}: {body[:300].decode('utf-8', 'replace')}"
