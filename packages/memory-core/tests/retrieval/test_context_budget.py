"""Fitting sections into a budget: never over, whatever the memories and the budget."""

from hypothesis import given
from hypothesis import strategies as st
from memory_core.context_budget import Section, estimate_tokens, fit_sections

TITLE = "# Memory Context\n"

line = st.text(st.characters(exclude_categories=["Cs", "Cc"]), max_size=120).map(lambda text: "- " + text)
lines = st.lists(line, max_size=12)
sections = st.lists(st.builds(Section, st.just("## Facts"), lines, st.floats(0, 1)), max_size=3)


@given(sections, st.integers(0, 400))
def test_a_block_never_exceeds_its_budget(parts, budget):
    block = fit_sections(TITLE, parts, budget)
    assert len(block) <= budget * 4
    assert estimate_tokens(block) <= budget


@given(sections, st.integers(0, 400))
def test_a_stricter_counter_is_obeyed_too(parts, budget):
    def bytes_as_tokens(text):
        return len(text.encode())

    block = fit_sections(TITLE, parts, budget, bytes_as_tokens)
    assert len(block.encode()) <= budget


@given(sections, st.integers(5, 400))
def test_the_title_is_there_as_soon_as_it_fits_and_lines_are_whole(parts, budget):
    block = fit_sections(TITLE, parts, budget)
    assert block.startswith(TITLE)
    known = {line for part in parts for line in part.lines} | {"## Facts", "", TITLE.strip()}
    assert set(block.split("\n")) <= known


def test_a_budget_below_the_title_gives_nothing():
    assert fit_sections(TITLE, [Section("## Facts", ["- a"], 1.0)], 4) == ""


def test_sections_keep_to_their_shares_while_the_next_has_lines():
    facts = Section("## F", [f"- fact {n:03}" for n in range(100)], 0.5)
    rules = Section("## R", [f"- rule {n:03}" for n in range(100)], 0.5)
    block = fit_sections(TITLE, [facts, rules], 200)
    assert abs(block.count("fact") - block.count("rule")) <= 4
    assert len(block) > 780


def test_a_section_alone_may_fill_the_block():
    facts = Section("## F", [f"- fact {n:03}" for n in range(100)], 0.5)
    block = fit_sections(TITLE, [facts, Section("## R", [], 0.5)], 100)
    assert 400 - 12 < len(block) <= 400


def test_what_one_section_leaves_the_others_use():
    rules = Section("## R", [f"- rule {n:03}" for n in range(100)], 0.1)
    block = fit_sections(TITLE, [Section("## F", ["- one fact"], 0.9), rules], 100)
    assert len(block) > 400 - 12


def test_a_line_that_is_too_long_is_passed_over():
    section = Section("## F", ["- " + "x" * 10_000, "- short"], 1.0)
    assert fit_sections(TITLE, [section], 20) == TITLE + "\n## F\n- short\n"
