"""A model that follows a script: what it answers is a function of the episodes and facts in its prompt alone."""

import json
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any
from uuid import UUID

import pytest
from memory_core import NewEpisode, store_episodes
from memory_core.spawning import SpawnerResult

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)

_EPISODE = re.compile(r'<episode id="([0-9a-f-]{36})"[^>]*>\n<episode_content>\n(.*?)\n</episode_content>', re.DOTALL)


def read_episodes(prompt: str) -> list[tuple[str, str]]:
    """The ids and texts of a prompt's episodes, as a model reads them."""
    return _EPISODE.findall(prompt)


def known_in(prompt: str, kind: str) -> list[dict[str, Any]]:
    """The existing facts or rules of a prompt."""
    section = prompt.partition(f"<existing_{kind}>\n")[2].partition(f"</existing_{kind}>")[0]
    return [json.loads(line) for line in section.splitlines()]


def scripted_answer(prompt: str) -> dict[str, Any]:
    """Turn episodes like `FACT user | city | Paris` into actions; what has no such form is small talk."""
    ids = {(fact["subject"], fact["predicate"]): fact["id"] for fact in known_in(prompt, "facts")}
    answer: dict[str, Any] = {"new_facts": [], "updated_facts": [], "new_rules": [], "confirmations": []}
    for episode_id, text in read_episodes(prompt):
        verb, _, rest = text.partition(" ")
        parts = [part.strip() for part in rest.split("|")]
        evidence = {"evidence_episode_ids": [episode_id]}
        if verb == "RULE":
            answer["new_rules"].append({"content": rest, **evidence})
        elif verb == "CONFIRM" and tuple(parts) in ids:
            answer["confirmations"].append({"id": ids[tuple(parts)], **evidence})
        elif verb in ("FACT", "UPDATE"):
            fact = dict(zip(("subject", "predicate", "content"), parts, strict=True)) | evidence
            target = ids.get((parts[0], parts[1])) if verb == "UPDATE" else None
            answer["updated_facts" if target else "new_facts"].append(fact | ({"target_id": target} if target else {}))
    return answer


@dataclass
class ScriptedModel:
    """A spawner that answers by script and remembers what it was asked."""

    answer: Callable[[str], Any] = scripted_answer
    prompts: list[str] = field(default_factory=list)
    sources: list[str] = field(default_factory=list)

    async def trigger(self, *, prompt: str, trigger_source: str) -> SpawnerResult:
        self.prompts.append(prompt)
        self.sources.append(trigger_source)
        answer = self.answer(prompt)
        if isinstance(answer, SpawnerResult):
            return answer
        output = answer if isinstance(answer, str) else f"Here it is:\n\n```json\n{json.dumps(answer)}\n```\n"
        return SpawnerResult(output, True, model="script", duration_ms=5, input_tokens=100, output_tokens=10)


@pytest.fixture
def model() -> ScriptedModel:
    return ScriptedModel()


@pytest.fixture
def scripted() -> type[ScriptedModel]:
    return ScriptedModel


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def tell(pool: Any, embedder: Any) -> Callable[..., Any]:
    """Store episodes a minute apart, the first an hour ago, and return their ids."""

    async def store(*contents: str, butler: str = "home", tenant_id: str = "default", at: datetime = NOW) -> list[UUID]:
        begin = at - timedelta(hours=1)
        episodes = [
            NewEpisode(content, butler, created_at=begin + timedelta(minutes=minute))
            for minute, content in enumerate(contents)
        ]
        return await store_episodes(pool, episodes, embedder, tenant_id=tenant_id, now=at)

    return store


@pytest.fixture
def rows(pool: Any) -> Callable[..., Any]:
    """Run a query and return its rows as tuples."""

    async def fetch(query: str, *arguments: object) -> Sequence[tuple[Any, ...]]:
        return [tuple(row) for row in await pool.fetch(query, *arguments)]

    return fetch


@pytest.fixture
def episodes_in() -> Callable[[str], list[tuple[str, str]]]:
    return read_episodes
