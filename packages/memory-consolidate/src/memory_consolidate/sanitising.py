"""Makes error texts fit to be stored and shown: no secrets, no paths, one line, bounded."""

import re

from memory_core import MemoryModuleError

MAX_ERROR_CHARS = 500

_RULES: tuple[tuple[re.Pattern[str], str], ...] = (
    # The order matters: a URL's password goes before its path, a named secret before the shapes of unnamed ones.
    (re.compile(r"\b([a-z][a-z0-9+.-]*://)[^\s/@]+@", re.I), r"\1[secret]@"),
    (re.compile(r"\b(bearer|basic)\s+[\w.~+/=-]+", re.I), r"\1 [secret]"),
    (
        re.compile(
            r"""\b([\w-]*(?:api[_-]?key|token|secret|passw(?:or)?d|authorization|credential)[\w-]*["']?\s*[:=]\s*)"""
            r"""("[^"]*"|'[^']*'|[^\s,;}]+)""",
            re.I,
        ),
        r"\1[secret]",
    ),
    (re.compile(r"\b(?:sk|pk|rk|ghp|gho|ghs|xox[abps]|AIza|AKIA|glpat|hf|eyJ)[\w.-]{8,}"), "[secret]"),
    (
        re.compile(
            r"\b(?=[\w+/-]*\d)(?=[\w+/-]*[A-Za-z])(?![0-9a-f]{8}-(?:[0-9a-f]{4}-){3}[0-9a-f]{12}\b)[\w+/-]{32,}={0,2}"
        ),
        "[secret]",
    ),
    (re.compile(r"(?<![\w:/.\]@])~?(?:/[^\s/'\":,;()<>]+){2,}/?"), "[path]"),
    (re.compile(r"\b[A-Za-z]:\\[^\s'\",;()<>]+"), "[path]"),
)


def sanitise_error(error: object) -> str:
    """Return an error's text without tokens and paths, in one line of at most 500 characters."""
    # Cut before the patterns run: an error may carry a whole answer, and only its beginning is kept.
    text = " ".join("".join(c if c.isprintable() else " " for c in str(error)[: 8 * MAX_ERROR_CHARS]).split())
    for pattern, replacement in _RULES:
        text = pattern.sub(replacement, text)
    return text if len(text) <= MAX_ERROR_CHARS else text[: MAX_ERROR_CHARS - 1] + "…"


def describe_error(error: BaseException) -> str:
    """Return an exception as a sanitised line; ours explain themselves, others are named by their type too."""
    text = str(error)
    return sanitise_error(text if isinstance(error, MemoryModuleError) and text else f"{type(error).__name__}: {text}")
