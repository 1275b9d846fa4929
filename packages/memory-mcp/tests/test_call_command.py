"""`memory call`."""

import json


def test_without_a_tool_the_tools_are_listed(run_memory):
    completed = run_memory("call")
    assert completed.exit_code == 0
    assert "memory_get(memory_type, memory_id)\n    Read one memory in full by its id" in completed.stdout


def test_a_tool_is_run_and_its_answer_printed_as_json(run_memory, dsn):
    fact = ("subject=user", "predicate=city", "content=Lisbon = home", 'tags=["home"]', "importance=8")
    stored = run_memory("--dsn", dsn, "--tenant", "anna", "call", "memory_store_fact", *fact)
    assert stored.exit_code == 0
    assert stored.stderr.startswith("memory is in postgresql://")
    memory_id = json.loads(stored.stdout)["id"]

    asked = ("call", "memory_get", "memory_type=fact", f"memory_id={memory_id}")
    found = json.loads(run_memory("--dsn", dsn, "--tenant", "anna", *asked).stdout)["memory"]
    assert (found["content"], found["tags"], found["importance"]) == ("Lisbon = home", ["home"], 8.0)
    assert not json.loads(run_memory("--dsn", dsn, *asked).stdout)["found"], "another tenant's"


def test_wrong_arguments_are_usage_errors(run_memory, dsn):
    for arguments, message in [
        (("memory_get", "fact"), "argument 'fact' is not NAME=VALUE"),
        (("memory_get", "memory_type=fact", "memory_type=rule"), "argument 'memory_type' is given twice"),
        (("memory_get", "memory_type=fact"), "memory_get: memory_id is missing"),
        (("memory_gte",), "tool 'memory_gte' is not one of: memory_store_episode"),
    ]:
        completed = run_memory("--dsn", dsn, "call", *arguments)
        assert completed.exit_code == 2
        assert message in completed.stderr
