"""The settings themselves: every section of the specification, with its defaults and its limits."""

import pytest
from memory_core import ConfigError, MemoryModuleConfig, RetrievalConfig
from memory_core.config_sources import parse_config
from memory_core.scoring import ScoreWeights


@pytest.mark.scenario("Default configuration values")
def test_without_any_configuration_every_setting_has_the_default_of_the_specification():
    config = MemoryModuleConfig()
    assert isinstance(config.retrieval, RetrievalConfig)
    assert config.retrieval.context_token_budget == 3000
    assert config.retrieval.default_limit == 20
    assert config.retrieval.default_mode == "hybrid"
    assert config.retrieval.score_weights.model_dump() == {
        "relevance": 0.4,
        "importance": 0.3,
        "recency": 0.2,
        "confidence": 0.1,
    }
    assert config.retrieval.score_weights.weights() == ScoreWeights()


def test_every_section_of_the_project_plan_is_there_with_its_defaults():
    """The table of the plan, key by key: a host that spells all of it out must be understood."""
    plan = {
        "enabled": True,
        "embedding_model": "all-MiniLM-L6-v2",
        "embedding_dimensions": 384,
        "episodes": {"default_ttl_days": 7, "max_entries": 10000},
        "facts": {"retrieval_confidence_threshold": 0.2, "expiry_confidence_threshold": 0.05},
        "rules": {
            "promote_to_established": {"min_successes": 5, "min_effectiveness": 0.6},
            "promote_to_proven": {"min_successes": 15, "min_effectiveness": 0.8, "min_age_days": 30},
            "harmful_to_antipattern": {"min_harmful": 3, "max_effectiveness": 0.3},
        },
        "retrieval": {
            "default_limit": 20,
            "default_mode": "hybrid",
            "context_token_budget": 3000,
            "score_weights": {"relevance": 0.4, "importance": 0.3, "recency": 0.2, "confidence": 0.1},
        },
        "schedule": {"consolidate": "0 */6 * * *", "decay_sweep": "0 3 * * *", "episode_cleanup": "0 4 * * *"},
    }
    assert parse_config(plan) == MemoryModuleConfig()


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"enabeld": True}, "unknown key modules.memory.enabeld; remove it or check its spelling"),
        ({"retrieval": {"limit": 5}}, "unknown key modules.memory.retrieval.limit;"),
        ({"retrieval": {"score_weights": {"age": 1}}}, "unknown key modules.memory.retrieval.score_weights.age;"),
        ({"retrieval": {"default_limit": "many"}}, "bad value for modules.memory.retrieval.default_limit: "),
        ({"retrieval": {"default_limit": 0}}, "greater than or equal to 1 (got '0')"),
        ({"retrieval": {"default_mode": "fuzzy"}}, "'semantic', 'keyword' or 'hybrid' (got 'fuzzy')"),
        ({"retrieval": 5}, "bad value for modules.memory.retrieval: "),
        ({"retrieval": {"score_weights": {"relevance": -1}}}, "retrieval.score_weights.relevance: "),
        ({"retrieval": {"score_weights": {"relevance": float("inf")}}}, "retrieval.score_weights.relevance: "),
        ({"episodes": {"default_ttl_days": 0}}, "bad value for modules.memory.episodes.default_ttl_days: "),
        ({"episodes": {"max_entries": True}}, "bad value for modules.memory.episodes.max_entries: "),
        ({"facts": {"expiry_confidence_threshold": 0.5}}, "must not be above retrieval_confidence_threshold"),
        ({"facts": {"retrieval_confidence_threshold": 1.5}}, "facts.retrieval_confidence_threshold: "),
        ({"rules": {"promote_to_proven": {"min_effectiveness": 2}}}, "rules.promote_to_proven.min_effectiveness: "),
        ({"schema": "My Schema"}, "bad value for modules.memory.schema: "),
        ({"schedule": {"my_worker": 5}}, "bad value for modules.memory.schedule.my_worker: "),
        ({"tools": {"sets": "core"}}, "bad value for modules.memory.tools.sets: "),
        ({"plugins": {"onnx": 3}}, "bad value for modules.memory.plugins.onnx: "),
        ({"tenant_id": ""}, "bad value for modules.memory.tenant_id: "),
    ],
)
def test_an_unknown_key_or_a_bad_value_is_refused_in_one_line_that_names_the_key(settings, message):
    with pytest.raises(ConfigError) as caught:
        parse_config(settings)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_all_that_is_wrong_is_told_at_once():
    with pytest.raises(ConfigError, match=r"modules\.memory\.pool_max_size: .*; unknown key modules\.memory\.nonsense"):
        parse_config({"pool_max_size": 0, "nonsense": 1})


def test_a_workers_cron_line_can_be_set_by_the_name_that_its_plugin_gave_it():
    schedule = parse_config({"schedule": {"decay_sweep": "", "backup": "0 1 * * *"}}).schedule
    assert schedule.decay_sweep == ""
    assert schedule.of_plugins == {"backup": "0 1 * * *"}


def test_a_configuration_cannot_be_changed_behind_a_runtimes_back():
    with pytest.raises(ValueError, match="frozen"):
        MemoryModuleConfig().retrieval.default_limit = 5
