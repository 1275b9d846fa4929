"""Which of ten categories a memory belongs to, by its key first and its words second; no storage."""

import re
from typing import NamedTuple, get_args

from memory_agent.records import CategoryResult, MemoryCategory

KEY_WEIGHT = 3
KEYWORD_WEIGHT = 1
FULL_CONFIDENCE_SCORE = 5
CONFIDENCE_FLOOR = 0.1


class _Vocabulary(NamedTuple):
    category: MemoryCategory
    key: re.Pattern[str]
    content: re.Pattern[str]


def _phrases(text: str) -> re.Pattern[str]:
    # Whole words only: an "author" is no "auth", and a plural is the same word.
    alternatives = "|".join(re.escape(phrase.strip()).replace(r"\ ", r"\s+") for phrase in text.split(","))
    return re.compile(rf"\b(?:{alternatives})s?\b")


# In the order of the taxonomy: of two categories with one score the earlier wins. `general` needs no words.
_VOCABULARIES = (
    _Vocabulary(
        "config",
        _phrases("config, configuration, cfg, setting, env, environment, option, flag, parameter"),
        _phrases("config, configuration, configure, setting, environment variable, env var, port, timeout, flag, yaml"),
    ),
    _Vocabulary(
        "code",
        _phrases("code, function, func, class, module, snippet, bug, regex, algorithm, script, lib, library"),
        _phrases(
            "function, method, class, module, import, variable, algorithm, refactor, compile, compiler, bug, "
            "stack trace, exception, syntax, typescript, javascript, python, rust, sql, regex, unit test"
        ),
    ),
    _Vocabulary(
        "person",
        _phrases("person, people, contact, user, team, owner, author, colleague, member, name"),
        _phrases("person, people, colleague, teammate, manager, email, phone, birthday, works at, lives in, role is"),
    ),
    _Vocabulary(
        "project",
        _phrases("project, repo, repository, roadmap, milestone, release, sprint, product"),
        _phrases("project, repository, repo, roadmap, milestone, release, sprint, codebase, architecture, deliverable"),
    ),
    _Vocabulary(
        "credential",
        _phrases(
            "api key, apikey, credential, password, passwd, secret, token, auth, oauth, ssh key, private key, cert"
        ),
        _phrases(
            "password, passphrase, secret, token, api key, credential, private key, ssh key, bearer, oauth, auth, "
            "certificate, login"
        ),
    ),
    _Vocabulary(
        "preference",
        _phrases("preference, pref, favorite, favourite, like, dislike, style, theme"),
        _phrases("prefer, preference, favorite, favourite, i like, dislike, hate, love, always use, never use"),
    ),
    _Vocabulary(
        "fact",
        _phrases("fact, info, definition, knowledge, note, reference, doc"),
        _phrases("fact, is defined as, means, known as, according to, located in, founded in, equal, definition"),
    ),
    _Vocabulary(
        "conversation",
        _phrases("conversation, chat, discussion, meeting, message, thread, session, talk"),
        _phrases(
            "conversation, discussed, discussion, said, asked, replied, told, mentioned, meeting, chat, talked about"
        ),
    ),
    _Vocabulary(
        "task",
        _phrases("task, todo, to do, reminder, action item, ticket, deadline, issue"),
        _phrases(
            "todo, to do, task, deadline, remind, reminder, need to, must finish, due, action item, ticket, follow up"
        ),
    ),
)

_CAMEL_HUMP = re.compile(r"(?<=[a-z0-9])(?=[A-Z])")
_KEY_SEPARATOR = re.compile(r"[\W_]+")


def all_categories() -> list[MemoryCategory]:
    """Return the ten categories in the order of the taxonomy."""
    return list(get_args(MemoryCategory))


def categorize(key: str, content: str) -> CategoryResult:
    """Return the category whose words a memory uses most; `general` with confidence 0.0 when it uses none."""
    key_words = _KEY_SEPARATOR.sub(" ", _CAMEL_HUMP.sub(" ", key)).lower()
    text = content.lower()
    scores = [(_score(vocabulary, key_words, text), vocabulary.category) for vocabulary in _VOCABULARIES]
    best, category = max(scores, key=lambda scored: scored[0])
    return CategoryResult(category, _confidence(best)) if best else CategoryResult("general", 0.0)


def _score(vocabulary: _Vocabulary, key_words: str, text: str) -> int:
    # Distinct words: saying "token" ten times makes a memory no more of a credential.
    in_key = len(set(vocabulary.key.findall(key_words)))
    in_content = len(set(vocabulary.content.findall(text)))
    return KEY_WEIGHT * in_key + KEYWORD_WEIGHT * in_content


def _confidence(score: int) -> float:
    return max(CONFIDENCE_FLOOR, min(1.0, score / FULL_CONFIDENCE_SCORE))
