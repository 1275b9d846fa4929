"""Where settings come from: butler.toml, then the environment, then arguments."""

import logging

import pytest
from memory_core import ConfigError, MemoryModuleConfig, load_config


@pytest.fixture
def butler_toml(tmp_path):
    def write(text: str):
        path = tmp_path / "butler.toml"
        path.write_text(text, encoding="utf-8")
        return path

    return write


@pytest.mark.scenario("Custom configuration overrides")
def test_values_of_butler_toml_override_the_defaults_and_leave_the_rest(butler_toml):
    path = butler_toml("""
        [butler]
        name = "jeeves"
        [modules.other]
        anything = 1
        [modules.memory.retrieval]
        default_limit = 7
        default_mode = "keyword"
        score_weights = { relevance = 0.9 }
    """)
    retrieval = load_config(path, environ={}).retrieval
    assert (retrieval.default_limit, retrieval.default_mode) == (7, "keyword")
    assert (retrieval.score_weights.relevance, retrieval.score_weights.importance) == (0.9, 0.3)
    assert retrieval.context_token_budget == 3000


def test_without_file_and_variables_the_defaults_hold(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert load_config(environ={}) == MemoryModuleConfig()


def test_a_butler_toml_in_the_working_directory_is_read(butler_toml, monkeypatch):
    monkeypatch.chdir(butler_toml("[modules.memory]\ntenant_id = 'house'").parent)
    assert load_config(environ={}).tenant_id == "house"


def test_a_file_without_our_table_means_the_defaults(butler_toml):
    assert load_config(butler_toml("[butler]\nname = 'jeeves'"), environ={}) == MemoryModuleConfig()


def test_a_variable_names_the_file_and_an_argument_another(butler_toml, tmp_path):
    butler_toml("[modules.memory]\ntenant_id = 'from-variable'")
    other = tmp_path / "other.toml"
    other.write_text("[modules.memory]\ntenant_id = 'from-argument'", encoding="utf-8")
    environ = {"MEMORY_CONFIG": str(tmp_path / "butler.toml")}
    assert load_config(environ=environ).tenant_id == "from-variable"
    assert load_config(other, environ=environ).tenant_id == "from-argument"


def test_the_environment_wins_over_the_file_and_an_argument_over_both(butler_toml):
    path = butler_toml(
        "[modules.memory]\ntenant_id = 'file'\npool_max_size = 3\n[modules.memory.episodes]\ngrace_days = 1"
    )
    environ = {"MEMORY_TENANT_ID": "environment", "MEMORY_POOL_MAX_SIZE": "4"}
    config = load_config(path, environ=environ, overrides={"tenant_id": "argument", "dsn": None})
    assert (config.tenant_id, config.pool_max_size, config.episodes.grace_days) == ("argument", 4, 1)
    assert config.dsn is None


def test_an_argument_inside_a_table_leaves_the_rest_of_the_table(butler_toml):
    path = butler_toml("[modules.memory.retrieval]\ndefault_limit = 7\ndefault_mode = 'keyword'")
    retrieval = load_config(path, environ={}, overrides={"retrieval": {"default_limit": 9}}).retrieval
    assert (retrieval.default_limit, retrieval.default_mode) == (9, "keyword")


def test_variables_reach_every_depth_with_two_underscores():
    environ = {
        "MEMORY_DSN": "postgresql://db/memory",
        "MEMORY_SCHEMA": "jeeves",
        "MEMORY_POOLER": "true",
        "MEMORY_RETRIEVAL__DEFAULT_LIMIT": "5",
        "MEMORY_RULES__PROMOTE_TO_PROVEN__MIN_SUCCESSES": "20",
        "MEMORY_TOOLS__SETS": '["core"]',
        "MEMORY_PLUGINS": '{"sentence-transformers": {"model": "x"}}',
        "MEMORY_PLUGINS__ONNX__THREADS": "2",
        "MEMORY_PLUGINS__ONNX__MODEL_PATH": "/models/minilm",
        "MEMORY_SCHEDULE__DECAY_SWEEP": "",
    }
    config = load_config(environ=environ)
    assert (config.dsn, config.schema_name, config.pooler) == ("postgresql://db/memory", "jeeves", True)
    assert config.retrieval.default_limit == 5
    assert config.rules.promote_to_proven.min_successes == 20
    assert config.tools.sets == ["core"]
    assert config.plugins["sentence-transformers"] == {"model": "x"}
    assert config.plugins["onnx"] == {"threads": 2, "model_path": "/models/minilm"}
    assert config.schedule.decay_sweep == ""


@pytest.mark.parametrize(
    ("environ", "message"),
    [
        ({"MEMORY_RETRIEVAL__LIMIT": "5"}, "unknown key modules.memory.retrieval.limit"),
        ({"MEMORY_RETREIVAL__DEFAULT_LIMIT": "5"}, "in the variable MEMORY_RETREIVAL__DEFAULT_LIMIT"),
        ({"MEMORY_POOL_MAX_SIZE": "many"}, "bad value for modules.memory.pool_max_size"),
        ({"MEMORY_TOOLS__SETS": "[core]"}, "bad value for modules.memory.tools.sets"),
        ({"MEMORY_DSN": "postgresql://x", "MEMORY_DSN__HOST": "y"}, "bad value for modules.memory.dsn"),
    ],
)
def test_a_wrong_variable_is_refused_naming_the_key(environ, message):
    with pytest.raises(ConfigError) as caught:
        load_config(environ=environ)
    assert message in str(caught.value)


def test_variables_of_other_programs_are_left_alone_but_a_likely_typo_is_told(caplog):
    with caplog.at_level(logging.WARNING):
        config = load_config(environ={"MEMORY_DNS": "postgresql://x", "MEMORY_LIMIT": "2G", "MEMORY": "1"})
    assert config == MemoryModuleConfig()
    assert [record.getMessage() for record in caplog.records] == [
        "MEMORY_DNS is not a setting and is ignored; is MEMORY_DSN meant?"
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("[modules.memory", "is not valid TOML"),
        ("modules = 3", "bad value for modules in"),
        ("[modules]\nmemory = true", "bad value for modules.memory in"),
        ("[modules.memory]\npool_max_size = [1]", "bad value for modules.memory.pool_max_size"),
        ("[modules.memory]\nretrieval = 'best'", "bad value for modules.memory.retrieval"),
        ("[modules.memory.retrieval]\ndefault_limit = 2.5", "bad value for modules.memory.retrieval.default_limit"),
        ("[modules.memory]\ndsn = 5432", "bad value for modules.memory.dsn"),
        ("[modules.memory]\nport = 5432", "unknown key modules.memory.port"),
    ],
)
def test_a_wrong_file_is_refused_in_one_line(butler_toml, text, message):
    with pytest.raises(ConfigError) as caught:
        load_config(butler_toml(text), environ={})
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_a_file_that_is_not_utf_8_is_refused(tmp_path):
    path = tmp_path / "butler.toml"
    path.write_bytes(b"[modules.memory]\ntenant_id = '\xff'")
    with pytest.raises(ConfigError, match="is not valid TOML"):
        load_config(path, environ={})


def test_a_named_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ConfigError, match=r"the configuration file '.*absent\.toml' cannot be read: No such file"):
        load_config(tmp_path / "absent.toml", environ={})
    with pytest.raises(ConfigError, match="cannot be read: Is a directory"):
        load_config(environ={"MEMORY_CONFIG": str(tmp_path)})
