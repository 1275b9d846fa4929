"""What nobody sends by accident: it is answered in a few words, and the server goes on."""

import json

import httpx2
import pytest

POST = {"accept": "application/json, text/event-stream", "content-type": "application/json"}
TOLD_TO_NOBODY = ("Traceback", "asyncpg", "site-packages", "SELECT ", "INSERT ", "/work", "/home", "/usr")

BODIES = {
    "nothing": b"",
    "half an object": b'{"jsonrpc": "2.0", ',
    "a list": b"[]",
    "a text": b'"tools/list"',
    "not UTF-8": b"\xff\xfe\x00",
    "deeply nested": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":' + b"[" * 5000 + b"]" * 5000 + b"}",
    "no method": b'{"jsonrpc": "2.0", "id": 1}',
    "unknown method": b'{"jsonrpc": "2.0", "id": 1, "method": "memory/erase"}',
    "a call of nothing": b'{"jsonrpc": "2.0", "id": 1, "method": "tools/call"}',
    "arguments of another kind": b'{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":7}}',
}

ARGUMENTS = {
    "half a character": ("memory_store_rule", '{"content": "a\\ud800b"}'),
    "a number without end": ("memory_recall", '{"topic": "tea", "limit": 1e400}'),
    "no number": ("memory_store_episode", '{"content": "x", "butler": "b", "importance": NaN}'),
    "a huge number": ("memory_recall", '{"topic": "tea", "limit": 99999999999999999999999}'),
    "a statement": ("memory_get", '{"memory_type": "fact\'; DROP TABLE facts", "memory_id": "x"}'),
    "a large text": ("memory_store_rule", json.dumps({"content": "x" * 3_000_000})),
    "a large context": ("memory_stats", json.dumps({"request_context": {"request_id": "x" * 100_000}})),
    "a long tool name": ("memory_" + "x" * 10_000, "{}"),
}


async def still_answers(web: httpx2.AsyncClient, url: str) -> bool:
    body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}}
    answer = await web.post(url, json=body)
    return answer.status_code == 200 and '"isError":false' in answer.text


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
async def test_a_body_that_is_no_request_is_refused_in_few_words(shared, body):
    async with httpx2.AsyncClient(headers=POST, timeout=30) as web:
        answer = await web.post(shared.url, content=body)
        assert answer.status_code < 500 or "error" in answer.json()
        assert len(answer.text) < 2000
        assert not [told for told in TOLD_TO_NOBODY if told in answer.text]
        assert await still_answers(web, shared.url)


@pytest.mark.parametrize(("name", "arguments"), ARGUMENTS.values(), ids=ARGUMENTS)
async def test_arguments_that_break_a_rule_are_refused_in_few_words(shared, name, arguments):
    call = f'{{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{{"name":"{name}","arguments":{arguments}}}}}'
    async with httpx2.AsyncClient(headers=POST, timeout=30) as web:
        answer = await web.post(shared.url, content=call.encode())
        assert '"isError":false' not in answer.text
        assert '"internal_error"' not in answer.text
        assert '\\"internal_error\\"' not in answer.text
        assert '\\"database_error\\"' not in answer.text
        assert len(answer.text) < 5000
        assert not [told for told in TOLD_TO_NOBODY if told in answer.text]
        assert await still_answers(web, shared.url)
