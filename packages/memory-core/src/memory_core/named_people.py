"""Finds the people and things that a query names, and takes their names out of what is embedded: pure.

A name swamps the vector of a short question: with it, every turn that greets Caroline is nearer to "What did Caroline
research?" than the turn that answers. The words of the query keep it.
"""

from __future__ import annotations

import re
from collections.abc import Collection

MAX_PHRASES = 60

_WORD = re.compile(r"[^\W\d_](?:[^\W_]|['’.-](?=[^\W\d_]))*")
_POSSESSIVE = re.compile(r"['’]s?$")
# Words that begin questions with a capital letter without naming anybody.
_NOT_NAMES = frozenset(
    re.findall(
        r"\w+",
        """
        a about after all an and any are at be been before but by can could did do does during for from had
        has have he her his how i if in is it its may me my of on or our she should since so tell than that
        the their them there these they this those to was we were what when where which who whom whose why
        will with would you your
        """,
    )
)


def name_phrases(query: str) -> list[str]:
    """Return the phrases of a query that may be names, in lower case: capitalised words alone, in pairs and in threes.

    A query without a capital letter may name somebody anywhere.
    """
    words = [_bare(word) for word in _WORD.findall(query)]
    careless = query == query.lower()
    runs: list[list[str]] = [[]]
    for word in words:
        if word.lower() not in _NOT_NAMES and (careless or word[:1].isupper()):
            runs[-1].append(word.lower())
        elif runs[-1]:
            runs.append([])
    phrases = (
        " ".join(run[start : start + size])
        for run in runs
        for size in (1, 2, 3)
        for start in range(len(run) - size + 1)
    )
    return list(dict.fromkeys(phrases))[:MAX_PHRASES]


def mask_names(query: str, names: Collection[str]) -> str:
    """Return a query with the names replaced by `someone`; one that says nothing else stays as it is.

    Capitalised words right behind a name belong to it: of "Ada Lovelace" only "ada" may be known.
    """
    if not names:
        return query
    longest_first = sorted(names, key=len, reverse=True)
    joined = "|".join(re.escape(name).replace(r"\ ", r"\s+") for name in longest_first)
    named = rf"(?<!\w)(?i:{joined})(?!\w)(?:\s+[A-Z][^\W\d_]+)*(?!\w)"
    masked = re.sub(named, "someone", query)
    left = [word for word in _WORD.findall(masked) if _bare(word).lower() not in _NOT_NAMES | {"someone"}]
    return masked if left else query


def _bare(word: str) -> str:
    return _POSSESSIVE.sub("", word)
