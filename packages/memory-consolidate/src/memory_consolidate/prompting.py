"""Builds the prompt: the instructions of SKILL.md, then what is known, then the episodes, all of it marked as data."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from typing import Any

from memory_core.rows import to_json

MAX_FACTS = 100
MAX_RULES = 50
DEFAULT_MAX_CHARS = 200_000
MAX_KNOWN_CHARS = 1_000  # of one existing fact or rule: enough to tell whether it is the same

# Context must leave room for the episodes, which are what the run is about.
CONTEXT_SHARE = 0.4

_TAG = re.compile(r"<(?=[\s/\\]*(?:episode_content|episodes?|existing_facts|existing_rules)\b)", re.IGNORECASE)

_FACT_KEYS = ("id", "subject", "predicate", "content", "permanence", "importance", "tags", "scope")
_RULE_KEYS = ("id", "content", "maturity", "tags", "scope")


def build_consolidation_prompt(
    episodes: Sequence[Mapping[str, Any]],
    existing_facts: Sequence[Mapping[str, Any]],
    existing_rules: Sequence[Mapping[str, Any]],
    butler_name: str,
    *,
    max_chars: int = DEFAULT_MAX_CHARS,
) -> str:
    """Return the prompt for one butler's episodes; what exceeds `max_chars` is shortened, and says so."""
    head = build_context(existing_facts, existing_rules, butler_name, max_chars=max_chars)
    frames = sum(len(_episode(episode, "")) + 1 for episode in episodes)
    room = max_chars - len(head) - len(_TAIL) - frames
    contents = shorten_contents([str(episode["content"]) for episode in episodes], room)
    shown = [_episode(episode, content) for episode, content in zip(episodes, contents, strict=True)]
    return head + "\n".join(shown) + _TAIL


def build_context(
    existing_facts: Sequence[Mapping[str, Any]],
    existing_rules: Sequence[Mapping[str, Any]],
    butler_name: str,
    *,
    max_chars: int = DEFAULT_MAX_CHARS,
) -> str:
    """Return everything of the prompt that comes before the first episode."""
    room = int(max_chars * CONTEXT_SHARE) // 2
    facts = _lines_within(room, (_known(fact, _FACT_KEYS) for fact in existing_facts[:MAX_FACTS]))
    rules = _lines_within(room, (_known(rule, _RULE_KEYS) for rule in existing_rules[:MAX_RULES]))
    return "\n".join(
        [
            skill_template(),
            f"## Butler\n\n{_json(butler_name)}\n",
            "## Existing facts (one JSON object a line)\n",
            f"<existing_facts>\n{facts}</existing_facts>\n",
            "## Existing rules (one JSON object a line)\n",
            f"<existing_rules>\n{rules}</existing_rules>\n",
            "## Episodes, oldest first\n",
            "<episodes>\n",
        ]
    )


def episode_room(max_chars: int) -> int:
    """Return how many characters a prompt has for its episodes, however much is known already."""
    return int(max_chars * (1 - CONTEXT_SHARE)) - len(build_context([], [], "", max_chars=0)) - len(_TAIL)


def fitting_episodes(episodes: Sequence[Mapping[str, Any]], room: int) -> int:
    """Return how many episodes, from the first on, fit into `room` characters; at least one, which may be shortened."""
    used = 0
    for count, episode in enumerate(episodes):
        used += len(_episode(episode, neutralise(str(episode["content"])))) + 1
        if used > room and count:
            return count
    return len(episodes)


def shorten_contents(contents: Sequence[str], room: int) -> list[str]:
    """Return texts that no longer break out of their tags and together take at most `room` characters."""
    safe = [neutralise(content) for content in contents]
    if sum(map(len, safe)) <= room:
        return safe
    # The longest give way first: a limit for each such that all of them fit.
    limit, left = 0, max(room, 0)
    for position, length in enumerate(sorted(map(len, safe))):
        limit = left // (len(safe) - position)
        if length > limit:
            break
        left -= length
    return [_shorten(content, limit) for content in safe]


def neutralise(text: str) -> str:
    """Return a text in which no tag of the prompt can be opened or closed."""
    return _TAG.sub("&lt;", text)


@cache
def skill_template() -> str:
    """Return the instructions."""
    return files("memory_consolidate").joinpath("SKILL.md").read_text(encoding="utf-8")


_TAIL = "\n</episodes>\n\nAnswer with the JSON object only.\n"


def _episode(episode: Mapping[str, Any], content: str) -> str:
    created = to_json(episode.get("created_at"))
    return (
        f'<episode id="{episode["id"]}" created_at="{created}">\n'
        f"<episode_content>\n{content}\n</episode_content>\n</episode>"
    )


def _known(memory: Mapping[str, Any], keys: Sequence[str]) -> str:
    shown = {key: to_json(memory[key]) for key in keys if memory.get(key) is not None}
    shown["content"] = _shorten(str(memory["content"]), MAX_KNOWN_CHARS)
    if memory.get("last_confirmed_at") is not None:
        shown["as_of"] = to_json(memory["last_confirmed_at"])
    return _json(shown)


def _json(value: Any) -> str:
    # An escaped bracket is the same JSON and can be no tag.
    return json.dumps(value, ensure_ascii=False).replace("<", "\\u003c")


def _lines_within(room: int, lines: Iterator[str]) -> str:
    kept = ""
    for line in lines:
        if len(kept) + len(line) + 1 > room:
            break
        kept += line + "\n"
    return kept


def _shorten(text: str, limit: int) -> str:
    if len(text) <= limit:
        return text
    note = f" [… {len(text) - limit:,} characters left out]"
    return text[: max(limit - len(note), 0)] + note[: max(limit, 0)]
