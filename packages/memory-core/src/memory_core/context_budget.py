"""Fits sections of lines into a budget of tokens: pure, and never over."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

CHARS_PER_TOKEN = 4

TokenCounter = Callable[[str], int]


@dataclass(frozen=True)
class Section:
    """A heading, its lines in the order of their worth, and the share of the block that it may take at first."""

    heading: str
    lines: Sequence[str]
    share: float


def estimate_tokens(text: str) -> int:
    """Return the tokens of a text by the usual estimate of four characters each, rounded up."""
    return -(-len(text) // CHARS_PER_TOKEN)


def fit_sections(
    title: str, sections: Sequence[Section], token_budget: int, count_tokens: TokenCounter = estimate_tokens
) -> str:
    """Return a block within a budget, by characters and by the counter; nothing where not even the title fits.

    Each section first takes lines within its share and what those before it left. Then what is still left goes to
    the lines that found no room, in the same order. A line that does not fit is passed over for shorter ones.
    """
    if not _fits(title, token_budget, count_tokens):
        return ""
    fitting = (_without_giants(section, token_budget) for section in sections)
    present = [section for section in fitting if section.lines]
    total = sum(section.share for section in present) or 1.0
    chosen: list[set[int]] = [set() for _ in present]
    granted = 0.0
    for index, section in enumerate(present):
        granted += section.share / total
        _take(title, present, chosen, index, int(token_budget * granted), count_tokens)
    for index in range(len(present)):
        _take(title, present, chosen, index, token_budget, count_tokens)
    return _render(title, present, chosen)


def _without_giants(section: Section, token_budget: int) -> Section:
    """Leave out lines that no block could hold, before they are copied again and again."""
    lines = [line for line in section.lines if len(line) <= token_budget * CHARS_PER_TOKEN]
    return replace(section, lines=lines)


def _take(
    title: str,
    sections: Sequence[Section],
    chosen: Sequence[set[int]],
    index: int,
    token_budget: int,
    count_tokens: TokenCounter,
) -> None:
    """Add the lines of one section that fit, in order."""
    for place in range(len(sections[index].lines)):
        if place not in chosen[index]:
            chosen[index].add(place)
            if not _fits(_render(title, sections, chosen), token_budget, count_tokens):
                chosen[index].remove(place)


def _render(title: str, sections: Sequence[Section], chosen: Sequence[set[int]]) -> str:
    block = title
    for section, places in zip(sections, chosen, strict=True):
        if places:
            lines = [line for place, line in enumerate(section.lines) if place in places]
            block += f"\n{section.heading}\n" + "".join(f"{line}\n" for line in lines)
    return block


def _fits(text: str, token_budget: int, count_tokens: TokenCounter) -> bool:
    return len(text) <= token_budget * CHARS_PER_TOKEN and count_tokens(text) <= token_budget
