"""An OpenAI-compatible endpoint, as a real server on this machine behaves and misbehaves."""

import asyncio
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from memory_consolidate.spawners.openai import create_openai, retry_after


def spawner(endpoint, **options):
    return create_openai({"base_url": endpoint.url, "model": "asked-model"} | options)


async def ask(asked):
    return await asked.trigger(prompt="the prompt", trigger_source="schedule:consolidation")


async def test_an_answer_comes_with_its_model_and_usage(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k-123")
    endpoint.will_complete("the answer")
    result = await ask(spawner(endpoint, extra_body={"seed": 7, "stream": True}))
    assert (result.success, result.output, result.model) == (True, "the answer", "served-model")
    assert (result.input_tokens, result.output_tokens) == (12, 3)
    [request] = endpoint.requests
    assert request == {
        "model": "asked-model",
        "messages": [{"role": "user", "content": "the prompt"}],
        "temperature": 0.0,
        "seed": 7,
        "stream": False,
    }
    assert endpoint.paths == ["/v1/chat/completions"]
    assert endpoint.headers[0]["Authorization"] == "Bearer k-123"


async def test_half_a_character_in_a_prompt_is_replaced(endpoint):
    endpoint.will_complete("the answer")
    asked = spawner(endpoint)
    assert (await asked.trigger(prompt="cut \ud83d off", trigger_source="schedule:consolidation")).success
    assert endpoint.requests[0]["messages"][0]["content"] == "cut ? off"


async def test_no_key_is_sent_where_none_is_set(endpoint, monkeypatch):
    monkeypatch.setenv("OPENAI_API_KEY", "k-123")
    endpoint.will_complete("the answer")
    await ask(spawner(endpoint, api_key_env=None))
    assert "Authorization" not in endpoint.headers[0]


async def test_a_local_endpoint_is_reached_past_the_proxy_of_the_environment(endpoint, monkeypatch):
    monkeypatch.setenv("HTTP_PROXY", "http://127.0.0.1:9")
    endpoint.will_complete("the answer")
    assert (await ask(spawner(endpoint))).success


@pytest.mark.parametrize("status", [429, 500, 503])
async def test_a_busy_endpoint_is_asked_again_when_it_says(endpoint, status):
    endpoint.will(status, {"error": "busy"}, Retry_After="0")
    endpoint.will(status, {"error": "busy"}, Retry_After="0")
    endpoint.will_complete("the answer")
    assert (await ask(spawner(endpoint))).output == "the answer"
    assert len(endpoint.requests) == 3


async def test_a_wait_past_the_time_limit_is_not_begun(endpoint):
    endpoint.will(429, {"error": "busy"}, Retry_After="3600")
    result = await ask(spawner(endpoint))
    assert not result.success
    assert "429" in result.error
    assert result.error.endswith("waiting 3600 seconds would pass the time limit")
    assert len(endpoint.requests) == 1


async def test_an_endpoint_that_stays_broken_is_a_failed_result(endpoint):
    for _ in range(3):
        endpoint.will(500, {"error": {"message": "out of memory at /srv/models/x"}}, Retry_After="0")
    result = await ask(spawner(endpoint))
    assert (result.success, result.model) == (False, "asked-model")
    assert "the endpoint answered 500" in result.error
    assert "/srv/models" not in result.error


@pytest.mark.parametrize("status", [301, 400, 401, 404])
async def test_a_refused_request_is_not_repeated(endpoint, status):
    endpoint.will(status, {"error": "no"}, Location="http://127.0.0.1:9/elsewhere")
    result = await ask(spawner(endpoint))
    assert f"the endpoint answered {status}" in result.error
    assert len(endpoint.requests) == 1


async def test_a_slow_endpoint_is_given_up(endpoint):
    endpoint.will_stall()
    result = await ask(spawner(endpoint, timeout_seconds=0.3))
    assert (result.success, result.error) == (False, "the endpoint did not answer within 0.3 seconds")


async def test_an_endpoint_that_is_not_there_is_a_failed_result(endpoint):
    result = await ask(create_openai({"base_url": "http://127.0.0.1:9/v1", "model": "m", "max_retries": 0}))
    assert "the endpoint cannot be used: ConnectError" in result.error


@pytest.mark.parametrize(
    ("body", "error"),
    [
        (b"<html>hello</html>", "did not answer with JSON"),
        (b'data: {"choices": []}\n\ndata: [DONE]\n\n', "did not answer with JSON"),
        (b"\xff\xfe", "did not answer with JSON"),
        (b"[]", "has no message"),
        (b'{"choices": []}', "has no message"),
        (b'{"choices": [{"message": {"content": null}}]}', "has no message"),
        (b'{"choices": [{"message": {"refusal": "I will not"}}]}', "the model refused: I will not"),
        (b'{"choices": [{"finish_reason": "length", "message": {"content": "{"}}]}', "was cut off (length)"),
    ],
)
async def test_garbage_is_a_failed_result(endpoint, body, error):
    endpoint.will(200, body)
    result = await ask(spawner(endpoint))
    assert not result.success
    assert error in result.error


async def test_an_answer_without_end_is_cut(endpoint):
    endpoint.will(200, b"x" * 100_000)
    result = await ask(spawner(endpoint, max_output_bytes=50_000))
    assert result.error == "the endpoint answered with more than 50,000 bytes"


async def test_a_request_can_be_cancelled(endpoint):
    endpoint.will_stall()
    asking = asyncio.create_task(ask(spawner(endpoint)))
    async with asyncio.timeout(10):
        while not endpoint.requests:
            await asyncio.sleep(0.01)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking


def test_a_wait_is_told_in_seconds_or_as_a_date():
    noon = datetime(2026, 3, 1, 12, tzinfo=UTC)
    assert retry_after("7") == 7.0
    assert retry_after(format_datetime(noon + timedelta(seconds=90), usegmt=True), noon) == 90.0
    assert retry_after(format_datetime(noon - timedelta(seconds=90), usegmt=True), noon) == 0.0
    assert retry_after("") is None
    assert retry_after("soon") is None
    assert retry_after("nan") is None
