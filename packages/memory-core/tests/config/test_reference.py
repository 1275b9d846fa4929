"""docs/configuration.md is what the model says."""

from pathlib import Path

from memory_core.config import MemoryModuleConfig, Section
from memory_core.config_reference import reference

PAGE = Path(__file__).parents[4] / "docs" / "configuration.md"


def test_the_page_is_current():
    written = PAGE.read_text(encoding="utf-8")
    assert written == reference(), "run: uv run python -m memory_core.config_reference > docs/configuration.md"


def test_every_setting_says_what_it_is_for():
    def undescribed(model: type[Section], path: str) -> list[str]:
        found = []
        for name, field in model.model_fields.items():
            if isinstance(field.annotation, type) and issubclass(field.annotation, Section):
                found += undescribed(field.annotation, f"{path}.{name}")
            elif not field.description:
                found.append(f"{path}.{name}")
        return found

    assert undescribed(MemoryModuleConfig, "memory") == []


def test_the_page_names_every_variable_of_a_deep_key():
    assert "`MEMORY_RULES__PROMOTE_TO_PROVEN__MIN_AGE_DAYS`" in reference()
    assert "| `schema` | text | none | `MEMORY_SCHEMA` |" in reference()
