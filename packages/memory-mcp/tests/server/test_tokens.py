"""Tokens at rest, and the command that makes them."""

import json
import os
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta

import pytest
from memory_core import ConfigError, InvalidInputError
from memory_mcp.http_access import RequireBodyInTime, are_tokens_optional, is_loopback, transport_security
from memory_mcp.tokens import TokenFile

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)


def test_a_token_stands_for_its_tenant_and_only_its_hash_is_kept(tokens):
    record, token = tokens.create("acme", "ci")
    assert tokens.verify(token).tenant_id == "acme"
    kept = tokens.path.read_text()
    secret = token.rpartition("_")[2]
    assert secret not in kept
    assert token not in kept
    assert record.id in kept
    assert tokens.path.stat().st_mode & 0o777 == 0o600


def test_whatever_is_not_the_token_is_refused(tokens):
    record, token = tokens.create("acme")
    _, other = tokens.create("globex")
    secret, other_secret = (text.split("_", 2)[2] for text in (token, other))
    wrong = ["", "mem", "mem__", f"mem_{record.id}_{other_secret}", f"tok_{record.id}_{secret}", token + "é", secret]
    assert [tokens.verify(text) for text in wrong] == [None] * len(wrong)


def test_a_token_ends_with_its_time(tokens):
    _, token = tokens.create("acme", days=2, now=NOW)
    assert tokens.verify(token, NOW + timedelta(days=1)) is not None
    assert tokens.verify(token, NOW + timedelta(days=2)) is None


def test_another_process_sees_a_change_at_once(tokens):
    reader = TokenFile(tokens.path)
    record, token = tokens.create("acme")
    assert reader.verify(token) is not None
    tokens.revoke(record.id)
    assert reader.verify(token) is None
    assert tokens.revoke(record.id) is None


def test_tokens_made_at_once_are_all_kept(tokens):
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda number: TokenFile(tokens.path).create(f"t{number}")[1], range(16)))
    assert all(tokens.verify(token) for token in made)


def test_a_file_that_others_can_write_is_not_trusted(tokens):
    tokens.create("acme")
    tokens.path.chmod(0o666)
    with pytest.raises(ConfigError, match="can be written by others"):
        TokenFile(tokens.path).records()


def test_a_spoilt_file_is_told_and_not_taken_for_empty(tokens):
    tokens.path.write_text("{")
    tokens.path.chmod(0o600)
    with pytest.raises(ConfigError, match=r"cannot be read: .*; restore it"):
        tokens.create("acme")


def test_a_token_without_life_or_tenant_is_refused(tokens):
    with pytest.raises(InvalidInputError, match="valid for 0 days"):
        tokens.create("acme", days=0)
    with pytest.raises(InvalidInputError, match="tenant_id"):
        tokens.create(" ")


def test_the_command_makes_lists_and_revokes(run_memory, tmp_path):
    place = {"MEMORY_SERVE__TOKEN_FILE": str(tmp_path / "t.json")}
    made = run_memory("token", "create", "--tenant=acme", "--name=ci", "--days=30", **place)
    assert made.exit_code == 0
    token = made.stdout.strip()
    record = TokenFile(tmp_path / "t.json").verify(token)
    assert (record.tenant_id, record.name) == ("acme", "ci")
    assert "is shown only now" in made.stderr

    listed = run_memory("token", "list", **place)
    assert record.id in listed.stdout
    [shown] = json.loads(run_memory("token", "list", "--json", **place).stdout)
    assert shown["tenant_id"] == "acme"
    assert "sha256" not in shown

    assert run_memory("token", "revoke", record.id, **place).exit_code == 0
    again = run_memory("token", "revoke", record.id, **place)
    assert again.exit_code == 1
    assert "there is no token" in again.stderr


def test_a_token_made_before_the_first_start_leaves_the_data_directory_usable(run_memory, tmp_path):
    data_dir = tmp_path / "data"
    data_dir.mkdir(mode=0o700)
    assert run_memory("token", "create", MEMORY_DATA_DIR=str(data_dir)).exit_code == 0
    assert (data_dir / "tokens.json").exists()
    expected = 0o711 if os.geteuid() == 0 else 0o700
    assert data_dir.stat().st_mode & 0o777 == expected


@pytest.mark.parametrize(
    ("host", "expected"),
    [("127.0.0.1", True), ("127.8.8.8", True), ("localhost", True), ("::1", True), ("[::1]", True),
     ("0.0.0.0", False), ("::", False), ("10.0.0.1", False), ("localhost.evil.example", False), ("", False)],
)  # fmt: skip
def test_loopback_is_recognised(host, expected):
    assert is_loopback(host) is expected


def test_tokens_are_optional_only_where_nobody_else_can_come_in(config):
    assert are_tokens_optional(config().serve, "127.0.0.1")
    assert not are_tokens_optional(config().serve, "192.168.0.7")
    assert not are_tokens_optional(config(require_token=True).serve, "127.0.0.1")
    assert not are_tokens_optional(config(allowed_hosts=["memory.example.org:*"]).serve, "127.0.0.1")
    assert are_tokens_optional(config(allowed_hosts=["localhost:9000", "127.0.0.1:*"]).serve, "127.0.0.1")


def test_configured_names_are_allowed_besides_the_own(config):
    allowed = transport_security(config(allowed_hosts=["memory.example.org"]).serve, "10.0.0.1")
    assert {"10.0.0.1:*", "127.0.0.1:*", "memory.example.org"} <= set(allowed.allowed_hosts)


@pytest.fixture
def config():
    from memory_core import MemoryModuleConfig

    return lambda **serve: MemoryModuleConfig.model_validate({"serve": serve})


async def test_a_body_that_does_not_arrive_in_time_is_given_up():
    import asyncio

    async def app(scope, receive, send):
        while (await receive()).get("more_body"):
            pass

    async def slow():
        await asyncio.Event().wait()

    sent = []

    async def send(message):
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/mcp", "headers": []}
    await asyncio.wait_for(RequireBodyInTime(app, seconds=0.01)(scope, slow, send), 5)
    assert sent[0]["status"] == 408
