"""Reads a language model's answer. Whatever the text is, the outcome is a result with its errors listed."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator, Mapping
from typing import Any, NoReturn, TypeVar

from pydantic import ValidationError

from memory_consolidate.actions import Action, Confirmation, ConsolidationResult, NewFact, NewRule, UpdatedFact

NO_JSON = "No JSON block found in consolidation output"
KEYS = ("new_facts", "updated_facts", "new_rules", "confirmations")
MAX_ACTIONS = 1_000
MAX_ERRORS = 100
MAX_FALSE_STARTS = 1_000
# How many times its own length a text may be read in search of the objects in it.
MAX_READINGS = 8
MAX_DIGITS = 4_000

_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})[ \t]*(?:json\w*)?\s*", re.I)

A = TypeVar("A", bound=Action)


def parse_consolidation_output(text: str) -> ConsolidationResult:
    """Return what the answer asks for; what cannot be read is reported in `parse_errors`, nothing is raised."""
    result = ConsolidationResult()
    blocks = list(_answer_blocks(text))
    if not blocks:
        result.parse_errors.append(NO_JSON)
        return result
    answer = _merged(blocks)
    if not answer:
        result.parse_errors.append(f"The JSON has none of the keys {', '.join(KEYS)}")
        return result
    result.new_facts = _read(answer, "new_facts", NewFact, result.parse_errors)
    result.updated_facts = _read(answer, "updated_facts", UpdatedFact, result.parse_errors)
    result.new_rules = _read(answer, "new_rules", NewRule, result.parse_errors)
    for confirmation in _read(answer, "confirmations", Confirmation, result.parse_errors):
        evidence = result.confirmation_evidence.setdefault(confirmation.target_id, ())
        named = dict.fromkeys((*evidence, *confirmation.evidence_episode_ids))
        result.confirmation_evidence[confirmation.target_id] = tuple(named)
    result.confirmations = list(result.confirmation_evidence)
    del result.parse_errors[MAX_ERRORS:]
    return result


def _answer_blocks(text: str) -> list[dict[str, Any]]:
    """Return the JSON objects of the fenced blocks, or else of the whole text."""
    if not isinstance(text, str):
        return []
    fenced = [block for inside in _fenced_texts(text) for block in _objects(inside)]
    return fenced if _merged(fenced) else fenced + list(_objects(text))


def _fenced_texts(text: str) -> Iterator[str]:
    """Yield what stands between fences; line by line, because a pattern would read on from every fence to the end."""
    fence: str | None = None
    inside: list[str] = []
    for line in text.split("\n"):
        if fence is not None and line.lstrip(" \t").startswith(fence):
            yield "\n".join(inside)
            fence, inside = None, []
        elif fence is not None:
            inside.append(line)
        elif opening := _FENCE.fullmatch(line):
            fence = opening[1]


def _objects(text: str) -> Iterator[dict[str, Any]]:
    """Yield the outermost JSON objects in a text; the decoder itself knows which braces are inside strings."""
    position, false_starts, readable = text.find("{"), 0, MAX_READINGS * len(text)
    # Bounded, because each false start may read far ahead: nested openings would otherwise cost the square of the text.
    while position >= 0 and false_starts < MAX_FALSE_STARTS and readable >= 0:
        try:
            value, end = _DECODER.raw_decode(text, position)
        except (ValueError, RecursionError) as error:
            end, false_starts = position + 1, false_starts + 1
            readable -= _end_of_reading(error, text) - position
        else:
            yield value
        position = text.find("{", end)


def _end_of_reading(error: Exception, text: str) -> int:
    # A string that never ends is reported where it begins, after all of the text was read.
    if isinstance(error, json.JSONDecodeError) and not error.msg.startswith("Unterminated string"):
        return error.pos
    return len(text)


def _merged(blocks: list[dict[str, Any]]) -> dict[str, Any]:
    """Return the known keys of all blocks: an answer in pieces adds up, and a final version replaces its draft."""
    return {key: block[key] for block in blocks for key in KEYS if key in block}


def _read(answer: Mapping[str, Any], key: str, kind: type[A], errors: list[str]) -> list[A]:
    entries = answer.get(key)
    if entries is None:
        return []
    if not isinstance(entries, list):
        errors.append(f"{key}: expected a list, got {type(entries).__name__}")
        return []
    if len(entries) > MAX_ACTIONS:
        errors.append(f"{key}: {len(entries)} entries, only the first {MAX_ACTIONS} are read")
    read = []
    for position, entry in enumerate(entries[:MAX_ACTIONS]):
        try:
            read.append(kind.model_validate(entry))
        except ValidationError as error:
            errors.append(f"{key}[{position}]: {_explain(error)}")
    return read


def _explain(error: ValidationError) -> str:
    problems = error.errors(include_url=False, include_context=False, include_input=False)
    return "; ".join(
        f"{'.'.join(str(part) for part in found['loc'])}: {found['msg']}".lstrip(": ") for found in problems
    )


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"{name} is not JSON")


def _bounded_integer(digits: str) -> float:
    # Python refuses to read thousands of digits, and one absurd number must not cost the whole answer.
    return int(digits) if len(digits) <= MAX_DIGITS else math.nan


_DECODER = json.JSONDecoder(parse_constant=_refuse_constant, parse_int=_bounded_integer)
