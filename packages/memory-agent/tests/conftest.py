"""A memory of its own for each test, and clocks that only tests move."""

import sqlite3
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from memory_agent import MemoryManager, open_database

NOW = datetime(2026, 6, 15, 12, 0, tzinfo=UTC)


class TurnedClock:
    """Seconds that stand still until somebody turns them."""

    def __init__(self) -> None:
        self.seconds = 1000.0

    def __call__(self) -> float:
        return self.seconds

    def advance(self, seconds: float) -> None:
        self.seconds += seconds


@pytest.fixture
def now() -> datetime:
    return NOW


@pytest.fixture
def clock() -> TurnedClock:
    return TurnedClock()


@pytest.fixture
def db() -> Iterator[sqlite3.Connection]:
    connection = open_database(":memory:")
    yield connection
    connection.close()


@pytest.fixture
def manager(db: sqlite3.Connection, clock: TurnedClock) -> MemoryManager:
    return MemoryManager(db, clock=lambda: NOW, cache_clock=clock)


@pytest.fixture
def memory_file(tmp_path: Path) -> Path:
    return tmp_path / "memories.db"
