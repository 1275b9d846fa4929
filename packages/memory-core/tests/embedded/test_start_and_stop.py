"""What a client sees: a server after start, none after the last stop."""

import os
import pwd
from collections.abc import Callable
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import asyncpg
import pytest
from memory_core.embedded import EmbeddedServer
from memory_core.errors import ServerError

Spawn = Callable[..., Any]
Account = pwd.struct_passwd | None


async def test_start_gives_a_dsn_that_asyncpg_connects_to(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        row = await connection.fetchrow("SELECT current_user::text AS role, current_database()::text AS database")
        await connection.close()
    assert row is not None
    assert dict(row) == {"role": "memory", "database": "memory"}


def test_each_kind_of_user_can_use_the_server(account: Account, account_dir: Path, spawn: Spawn) -> None:
    client = spawn(account_dir, account)
    client.call("start")
    owner = client.call("query", "SELECT pg_get_userbyid(datdba)::text FROM pg_database WHERE datname = 'memory'")
    assert owner == "memory"


async def test_vectors_and_trigrams_are_at_hand(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        await connection.execute("CREATE EXTENSION IF NOT EXISTS vector; CREATE EXTENSION IF NOT EXISTS pg_trgm")
        distance = await connection.fetchval("SELECT '[1,0]'::vector <=> '[0,1]'::vector")
        await connection.close()
    assert distance == 1.0


def test_stop_ends_the_server_and_can_be_repeated(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir)
    server.start()
    assert server.status().running
    server.stop()
    server.stop()
    assert not server.status().running


def test_start_can_be_repeated_and_needs_one_stop(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir)
    assert server.start() == server.start()
    server.stop()
    assert not server.status().running


def test_two_objects_in_one_process_share_the_server_until_both_stop(data_dir: Path) -> None:
    first, second = EmbeddedServer(data_dir), EmbeddedServer(data_dir)
    assert first.start() == second.start()
    first.stop()
    assert second.status().running
    second.stop()
    assert not second.status().running


def test_rows_survive_a_stop_and_a_start(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    client.call("query", "CREATE TABLE kept AS SELECT 42 AS answer")
    client.call("stop")
    client.call("start")
    assert client.call("query", "SELECT answer FROM kept") == 42


def test_dsn_before_start_says_to_start(data_dir: Path) -> None:
    with pytest.raises(ServerError, match=r"call start\(\) first"):
        _ = EmbeddedServer(data_dir).dsn


def test_status_of_a_server_that_never_was_changes_nothing(fresh_dir: Path) -> None:
    status = EmbeddedServer(fresh_dir).status()
    assert (status.running, status.pid, status.socket_dir) == (False, None, None)
    assert not fresh_dir.exists()


def test_status_names_the_server_and_its_clients(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        status = server.status()
        assert status.running
        assert status.socket_dir == server.socket_dir
        assert status.client_pids in ((os.getpid(),), None)
        assert status.version is not None
        assert status.version.startswith("18.")
        assert status.pid is not None
        os.kill(status.pid, 0)


def test_dsn_names_the_socket_and_the_port(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        parts = urlsplit(server.dsn)
        assert parts.path == "/memory"
        assert parse_qs(parts.query) == {"host": [str(server.socket_dir)], "port": ["5432"]}


def test_variables_meant_for_another_server_do_not_mislead(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir, PGPORT="1", PGHOST="nowhere.invalid", PGDATA="/nonexistent", PGOPTIONS="-c x.y=1")
    client.call("start")
    assert client.call("query", "SELECT 1") == 1
