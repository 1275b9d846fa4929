"""How the server is configured, and what a caller can and cannot change."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import asyncpg
import psutil
import pytest
from memory_core.embedded import EmbeddedServer, server_log
from memory_core.errors import ConfigError, ServerError

Spawn = Callable[..., Any]


async def in_effect(server: EmbeddedServer, *names: str) -> dict[str, str]:
    connection = await asyncpg.connect(server.dsn)
    try:
        return {name: await connection.fetchval("SELECT current_setting($1)", name) for name in names}
    finally:
        await connection.close()


async def test_the_defaults_suit_a_laptop(data_dir: Path) -> None:
    expected = {
        "shared_buffers": "128MB",
        "work_mem": "16MB",
        "maintenance_work_mem": "256MB",
        "max_connections": "40",
        "jit": "off",
        "max_parallel_maintenance_workers": "0",
        "random_page_cost": "1.1",
        "TimeZone": "UTC",
        "server_encoding": "UTF8",
        "data_checksums": "on",
    }
    with EmbeddedServer(data_dir) as server:
        assert await in_effect(server, *expected) == expected


async def test_a_callers_settings_override_the_defaults(data_dir: Path) -> None:
    with EmbeddedServer(data_dir, settings={"work_mem": "8MB", "fsync": "off"}) as server:
        assert await in_effect(server, "work_mem", "fsync") == {"work_mem": "8MB", "fsync": "off"}


async def test_a_running_server_keeps_the_settings_it_has(data_dir: Path) -> None:
    with (
        EmbeddedServer(data_dir, settings={"work_mem": "8MB"}),
        EmbeddedServer(data_dir, settings={"work_mem": "32MB"}) as second,
    ):
        assert await in_effect(second, "work_mem") == {"work_mem": "8MB"}


async def test_texts_are_split_and_folded_as_unicode(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        lexemes = await connection.fetchval("SELECT to_tsvector('simple', 'Café — Привет')::text")
        provider = await connection.fetchval("SELECT datlocprovider::text FROM pg_database WHERE datname = 'memory'")
        await connection.close()
    assert lexemes == "'café':1 'привет':2"
    assert provider == "b"


@pytest.mark.parametrize("name", ["listen_addresses", "hba_file", "config_file", "port", "unix_socket_directories"])
def test_a_fixed_setting_is_refused_by_name(data_dir: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"'{name}' is fixed"):
        EmbeddedServer(data_dir, settings={name: "x"})


def test_a_name_that_is_no_setting_is_refused(data_dir: Path) -> None:
    with pytest.raises(ConfigError, match="'Work Mem' is not a PostgreSQL setting name"):
        EmbeddedServer(data_dir, settings={"Work Mem": "8MB"})


def test_a_value_that_no_command_line_can_carry_is_refused(data_dir: Path) -> None:
    with pytest.raises(ConfigError, match=r"'work_mem' has the value .* with a NUL"):
        EmbeddedServer(data_dir, settings={"work_mem": "8MB\0"})


def test_a_setting_that_the_server_rejects_ends_in_an_error_with_its_log(data_dir: Path) -> None:
    server = EmbeddedServer(data_dir, settings={"work_mem": "many"})
    with pytest.raises(ServerError, match=r'(?s)ended while it was starting.*"work_mem": "many"'):
        server.start()
    assert not server.status().running


def test_the_server_listens_on_its_socket_only(data_dir: Path, spawn: Spawn) -> None:
    client = spawn(data_dir)
    client.call("start")
    assert psutil.Process(client.call("pid")).net_connections("inet") == []


async def test_the_socket_lets_nobody_in_without_a_mapping(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        rules = await connection.fetch("SELECT type, auth_method, options::text[] FROM pg_hba_file_rules")
        await connection.execute("DROP ROLE IF EXISTS other; CREATE ROLE other LOGIN")
        with pytest.raises(asyncpg.InvalidAuthorizationSpecificationError, match="Peer authentication failed"):
            await asyncpg.connect(server.dsn, user="other")
        await connection.close()
    assert [tuple(rule) for rule in rules] == [("local", "peer", ["map=memory"])]


def test_a_log_that_has_grown_is_moved_aside_at_the_next_start(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        log = server.log_path
    for generation in ("older", "newer"):
        log.write_text(generation + "x" * server_log.ROTATE_BYTES)
        with EmbeddedServer(data_dir):
            assert log.stat().st_size < server_log.ROTATE_BYTES
        assert server_log.previous(log).read_text().startswith(generation)
    assert len(list(data_dir.glob("server.log*"))) == 2


async def test_a_clients_mistakes_and_texts_stay_out_of_the_log(data_dir: Path) -> None:
    with EmbeddedServer(data_dir) as server:
        connection = await asyncpg.connect(server.dsn)
        with pytest.raises(asyncpg.PostgresSyntaxError):
            await connection.execute("SELECT 'a private thought' FROM nowhere WHERE")
        await connection.close()
        assert "private" not in server.log_path.read_text()
