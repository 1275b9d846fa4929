"""What the entry point names: one function per hook, each offering one thing by the name `sample`."""

from pathlib import Path

from memory_core import Provider, hookimpl
from memory_core.migration_chains import MigrationChain

from memory_sample_plugin.letters import LetterEmbedder
from memory_sample_plugin.models import EchoSpawner
from memory_sample_plugin.ranking import ImportanceScorer, ShortestFirst
from memory_sample_plugin.visits import ForgetOldVisits, sample_visit


@hookimpl
def memory_embedding_backends():
    """Offer vectors that count letters."""
    return [Provider("sample", lambda options: LetterEmbedder(**options))]


@hookimpl
def memory_spawners():
    """Offer a model that repeats its prompt."""
    return [Provider("sample", lambda options: EchoSpawner(**options))]


@hookimpl
def memory_scorers():
    """Offer a score that knows only importance."""
    return [Provider("sample", lambda _options: ImportanceScorer())]


@hookimpl
def memory_rerankers():
    """Offer an order that begins with the shortest memory."""
    return [Provider("sample", lambda _options: ShortestFirst())]


@hookimpl
def memory_tools():
    """Offer a set of one tool."""
    return [Provider("sample", lambda _options: [sample_visit])]


@hookimpl
def memory_workers():
    """Offer work for every night."""
    return [Provider("sample", lambda options: ForgetOldVisits(**options))]


@hookimpl
def memory_migrations():
    """Offer the table that the tool writes to."""
    return [Provider("sample", lambda _options: MigrationChain("sample", Path(__file__).parent / "migrations"))]
