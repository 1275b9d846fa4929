"""The commands that run one tool: `search`, `recall`, `context`, `store`, `get`, `confirm`, `forget`, `stats`."""

import json

import asyncpg
import click
import pytest
from memory_core import retrieval_tools, storage_tools, tool
from memory_core.errors import InvalidInputError
from memory_mcp.installed_tools import installed_tool
from memory_mcp.tool_options import tool_parameters


@pytest.fixture
def jeeves(run_memory, dsn):
    """Run a command for the tenant `jeeves` on a fresh database."""

    def run(*arguments: str, **options: str):
        return run_memory("--dsn", dsn, "--tenant", "jeeves", *arguments, **options)

    return run


@pytest.fixture
def fact_id(jeeves) -> str:
    fact = ("user", "diet", "The user is a vegetarian.", "--permanence", "stable", "--tag", "food", "--tag", "health")
    stored = jeeves("store", "fact", *fact)
    assert stored.exit_code == 0
    return stored.stdout.strip()


def test_what_is_stored_is_found_by_its_meaning(jeeves, fact_id):
    found = jeeves("search", "May I serve a steak?", "--limit", "1")
    assert found.exit_code == 0
    assert "user diet: The user is a vegetarian." in found.stdout
    assert fact_id in found.stdout
    assert json.loads(jeeves("search", "meat", "--type", "rule", "--type", "episode", "--json").stdout) == []
    assert jeeves("search", "meat", "--type", "rule").stdout == "nothing found\n"


def test_a_memory_is_shown_in_full_confirmed_and_forgotten(jeeves, fact_id):
    shown = dict(line.split(maxsplit=1) for line in jeeves("get", "fact", fact_id).stdout.splitlines())
    assert shown["content"].strip() == "The user is a vegetarian."
    assert shown["permanence"].strip() == "stable"
    assert "entity_id" not in shown, "what has no value is left out"
    assert jeeves("confirm", "fact", fact_id).stdout == f"fact {fact_id} is confirmed\n"
    assert jeeves("forget", "fact", fact_id).stdout == f"fact {fact_id} is forgotten\n"
    told = json.loads(jeeves("get", "fact", fact_id, "--json").stdout)["memory"]
    assert (told["state"], told["tags"]) == ("retracted", ["food", "health"])


@pytest.mark.parametrize("command", ["get", "confirm", "forget"])
def test_a_memory_that_is_not_there_fails_and_machines_get_the_answer_still(jeeves, command):
    absent = "6f9619ff-8b86-4011-b42d-00c04fc964ff"
    people = jeeves(command, "fact", absent)
    assert (people.exit_code, people.stdout) == (1, "")
    assert "Error: the tenant has no such memory; `memory search` shows the ids of those it has" in people.stderr
    machines = jeeves(command, "fact", absent, "--json")
    assert (machines.exit_code, json.loads(machines.stdout)["found"]) == (1, False)


def test_a_recall_shows_scores_and_explains_them_if_asked(jeeves, fact_id):
    assert "rank by meaning" not in jeeves("recall", "dinner").stdout
    explained = jeeves("recall", "dinner", "--explain")
    assert f"{fact_id}  relevance " in explained.stdout
    assert "rank by meaning 1, by words " in explained.stdout
    one_order = jeeves("recall", "dinner", "--explain", MEMORY_RETRIEVAL__DEFAULT_MODE="semantic")
    assert f"{fact_id}  relevance " in one_order.stdout


def test_a_recall_of_an_empty_memory_says_so(jeeves):
    assert jeeves("recall", "dinner").stdout == "nothing is remembered about it\n"


def test_an_episode_and_a_rule_are_stored_and_counted(jeeves):
    assert jeeves("store", "episode", "Dinner with Ana.", "--butler", "alfred", "--importance", "8").exit_code == 0
    assert jeeves("store", "rule", "Ask before paying bills.").exit_code == 0
    counted = jeeves("stats")
    assert "episodes  1 total, 1 unconsolidated" in counted.stdout
    assert "facts     none" in counted.stdout
    assert "rules     1 total, 1 candidate" in counted.stdout
    assert "waits for 0.0 hours" in counted.stdout
    assert json.loads(jeeves("stats", "--json").stdout)["episodes"]["total"] == 1


def test_a_text_may_come_from_stdin(jeeves):
    stored = jeeves("store", "episode", "-", "--butler", "alfred", stdin="Two lines\nof a log.\n")
    shown = json.loads(jeeves("get", "episode", stored.stdout.strip(), "--json").stdout)
    assert shown["memory"]["content"] == "Two lines\nof a log."


def test_the_context_block_is_printed_as_a_model_gets_it(jeeves, fact_id):
    block = jeeves("context", "Plan a dinner", "--butler", "alfred", "--token-budget", "100")
    assert block.stdout.startswith("# Memory Context\n\n## Key Facts\n- [user] [diet]: The user is a vegetarian.")
    assert json.loads(jeeves("context", "Plan a dinner", "--butler", "alfred", "--json").stdout) in block.stdout


async def test_what_is_not_given_is_left_to_the_configuration(jeeves, dsn):
    for number in range(3):
        jeeves("store", "rule", f"Rule number {number} about tea.")
    assert len(json.loads(jeeves("search", "tea", "--json").stdout)) == 3
    limited = jeeves("search", "tea", "--json", MEMORY_RETRIEVAL__DEFAULT_LIMIT="2")
    assert len(json.loads(limited.stdout)) == 2
    chosen = jeeves("search", "tea", "--limit", "3", "--json", MEMORY_RETRIEVAL__DEFAULT_LIMIT="2")
    assert len(json.loads(chosen.stdout)) == 3


def test_the_text_of_a_memory_cannot_steer_the_terminal(jeeves):
    jeeves("store", "rule", "Tea\x1b[2J [bold]first[/bold]")
    found = jeeves("search", "tea").stdout
    assert "Tea\N{REPLACEMENT CHARACTER}[2J [bold]first[/bold]" in found
    assert "\x1b" not in found


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("search", "tea", "--limit", "0"), "Invalid value for '--limit': 0 is not in the range 1<=x<=1000"),
        (("search", "tea", "--mode", "psychic"), "'psychic' is not one of 'semantic', 'keyword', 'hybrid'"),
        (("get", "fact", "43"), "Invalid value for 'MEMORY_ID': '43' is not a valid UUID"),
        (("get", "dream", "43"), "'dream' is not one of 'episode', 'fact', 'rule'"),
        (("store", "fact", "user", "diet"), "Missing argument 'CONTENT'"),
        (("store", "episode", "Tea."), "Missing option '--butler'"),
        (("store", "rule", " "), "Error: content"),
        (("confirm", "episode", "6f9619ff-8b86-4011-b42d-00c04fc964ff"), "Error: "),
    ],
)
def test_what_is_typed_wrong_is_a_usage_error(jeeves, arguments, message):
    completed = jeeves(*arguments)
    assert completed.exit_code == 2
    assert message in completed.stderr
    assert completed.stdout == ""


CORE_TOOLS = [*storage_tools.TOOLS, *retrieval_tools.TOOLS]


@pytest.mark.parametrize("declared", CORE_TOOLS, ids=lambda declared: declared.name)
def test_every_parameter_of_a_tool_but_the_lineage_can_be_given(declared):
    made = {parameter.name: parameter for parameter in tool_parameters(declared)}
    assert set(made) == set(declared.parameters) - {"request_context"}
    for name, parameter in declared.parameters.items():
        if name in made:
            assert made[name].required == (parameter.default is parameter.empty)


def test_options_carry_what_the_declaration_says():
    @tool(title="Brew")
    async def brew(
        memory, leaves: list[str], strong: bool = False, minutes: float = 3, sugar: int | None = None
    ) -> str:
        """Brew tea."""
        return ""

    made = {made.name: made for made in tool_parameters(brew, named=("leaves",))}
    assert made["leaves"].opts == ["--leave"]
    assert (made["leaves"].multiple, made["leaves"].required) == (True, True)
    assert made["strong"].is_flag
    assert (made["minutes"].show_default, made["minutes"].type.name) == ("3", "float range")
    assert isinstance(made["sugar"].type, click.IntRange)


def test_a_tool_of_a_plugin_that_is_not_loaded_is_named(monkeypatch):
    assert installed_tool("consolidation", "memory_run_consolidation").name == "memory_run_consolidation"
    monkeypatch.setenv("MEMORY_DISABLED_PLUGINS", "consolidate")
    with pytest.raises(InvalidInputError, match="no plugin that is loaded brings the tool 'memory_run_consolidation'"):
        installed_tool("consolidation", "memory_run_consolidation")
    with pytest.raises(InvalidInputError, match="no plugin that is loaded brings the tool 'memory_dream'"):
        installed_tool("dreams", "memory_dream")


async def test_another_tenants_memories_are_not_seen(run_memory, dsn, fact_id):
    assert run_memory("--dsn", dsn, "search", "vegetarian").stdout == "nothing found\n"
    connection = await asyncpg.connect(dsn)
    assert await connection.fetchval("SELECT tenant_id FROM facts") == "jeeves"
    await connection.close()
