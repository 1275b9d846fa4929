"""The three agent programs, stood in for by real programs that speak as they do."""

import json

import pytest
from memory_consolidate.spawners.claude import create_claude, read_claude_answer
from memory_consolidate.spawners.codex import create_codex, read_codex_answer
from memory_consolidate.spawners.gemini import create_gemini, read_gemini_answer

CLAUDE = {
    "type": "result",
    "subtype": "success",
    "is_error": False,
    "result": "PROMPT",
    "usage": {"input_tokens": 3, "cache_read_input_tokens": 40, "cache_creation_input_tokens": 7, "output_tokens": 9},
    "modelUsage": {"claude-model": {}},
}
CODEX = [
    {"type": "thread.started", "thread_id": "t"},
    {"type": "item.completed", "item": {"type": "reasoning", "text": "hm"}},
    {"type": "item.completed", "item": {"type": "agent_message", "text": "PROMPT"}},
    {"type": "turn.completed", "usage": {"input_tokens": 50, "cached_input_tokens": 20, "output_tokens": 9}},
]
GEMINI = {
    "response": "PROMPT",
    "stats": {"models": {"gemini-model": {"tokens": {"prompt": 50, "candidates": 7, "thoughts": 2, "total": 59}}}},
}
AGENTS = {
    "claude": (create_claude, json.dumps(CLAUDE), "claude-model", 50),
    "codex": (create_codex, "\n".join(map(json.dumps, CODEX)), "asked-model", 50),
    "gemini": (create_gemini, "Loaded cached credentials.\n" + json.dumps(GEMINI), "gemini-model", 50),
}
# Writes its arguments into the answer, so that a test sees both.
AGENT = """
import json, sys
prompt = sys.stdin.read() + " " + " ".join(sys.argv[1:])
sys.stdout.write({output!r}.replace("PROMPT", json.dumps(prompt)[1:-1]))
"""


@pytest.mark.parametrize("name", AGENTS)
async def test_an_agent_gets_the_prompt_on_stdin_and_tells_its_usage(program, name):
    create, output, model, tokens = AGENTS[name]
    path = program(AGENT.format(output=output), name)
    spawner = create({"executable": path, "model": "asked-model"})
    result = await spawner.trigger(prompt="the prompt", trigger_source="schedule:consolidation")
    assert result.success
    assert result.output.startswith("the prompt ")
    assert "--model asked-model" in result.output
    assert "json" in result.output
    assert (result.model, result.input_tokens, result.output_tokens) == (model, tokens, 9)


@pytest.mark.parametrize("name", AGENTS)
async def test_the_usual_arguments_can_be_replaced(program, name):
    create, output, _, _ = AGENTS[name]
    path = program(AGENT.format(output=output), name)
    result = await create({"executable": path, "args": ["--only", "this"]}).trigger(prompt="p", trigger_source="s")
    assert result.output in ("p --only this", "p --only this -")


@pytest.mark.parametrize("name", AGENTS)
async def test_an_agent_that_fails_is_a_failed_result(program, name):
    create = AGENTS[name][0]
    path = program("import sys; print('{}'); sys.exit('not logged in')", name)
    result = await create({"executable": path}).trigger(prompt="p", trigger_source="s")
    assert not result.success
    assert result.error
    missing = await create({"executable": path + "-missing"}).trigger(prompt="p", trigger_source="s")
    assert "cannot be started" in missing.error


@pytest.mark.parametrize(
    ("read", "stdout", "error"),
    [
        (read_claude_answer, "Not JSON", "claude did not print JSON"),
        (read_claude_answer, "[1]", "claude gave no result"),
        (read_claude_answer, json.dumps({"subtype": "error_max_turns"}), "claude gave no result: error_max_turns"),
        (
            read_claude_answer,
            json.dumps(CLAUDE | {"is_error": True, "result": "limit"}),
            "claude reported an error: limit",
        ),
        (read_codex_answer, "", "codex printed no message"),
        (read_codex_answer, '{"type": "error", "message": "no quota"}', "codex reported an error: no quota"),
        (
            read_codex_answer,
            json.dumps(CODEX[2]) + '\n{"type": "turn.failed", "error": {"message": "cut"}}',
            "codex reported an error: cut",
        ),
        (read_gemini_answer, "", "gemini did not print JSON"),
        (read_gemini_answer, '{"error": {"message": "no key"}}', "gemini reported an error: no key"),
        (read_gemini_answer, '{"response": null}', "gemini gave no response"),
    ],
)
def test_an_answer_that_is_none_says_why(read, stdout, error):
    result = read(stdout)
    assert not result.success
    assert error in result.error


def test_noise_between_the_events_is_passed_over():
    stdout = "warning: x\n" + "\n[]\n".join(map(json.dumps, CODEX))
    assert read_codex_answer(stdout).output == "PROMPT"
