"""Turns a user's query into a full-text expression that holds nothing but quoted words."""

from memory_agent.documents import scoped_word
from memory_agent.tokens import index_words

# Beyond this a query is a pasted text; FTS5 limits the depth of an expression too.
MAX_QUERY_WORDS = 32


def match_expression(agent: int, query: str) -> str | None:
    """Return the expression that finds an agent's documents with every word of the query; None without any word.

    The words of the index are letters and digits alone, so no quote, operator or column name can get in.
    """
    phrases = dict.fromkeys(filter(None, (phrase(agent, word) for word in query.split())))
    # A prefix: "kube" finds "kubernetes".
    return " AND ".join(f"{words}*" for words in list(phrases)[:MAX_QUERY_WORDS]) or None


def phrase(agent: int, text: str) -> str:
    """Return a text's words as one quoted phrase of the agent's own words; empty when it has none."""
    words = [scoped_word(agent, word) for word in index_words(text)]
    return f'"{" ".join(words)}"' if words else ""
