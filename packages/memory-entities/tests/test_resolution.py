"""Resolving a name: tiers, scores, hints, order, and names of every kind."""

from uuid import uuid4

import asyncpg
import pytest
from memory_core import forget_memory, migrate, store_fact
from memory_entities import entity_create, entity_merge, entity_resolve


async def people(pool, *names, **options):
    return [await entity_create(pool, name, "person", **options) for name in names]


def matches(found):
    return [(result["canonical_name"], result["name_match"], result["score"]) for result in found]


@pytest.mark.scenario("Exact canonical name match (tier 1)")
async def test_the_canonical_name_in_any_case_is_an_exact_match(pool):
    await people(pool, "Ada Lovelace")
    assert matches(await entity_resolve(pool, "aDA  lovelace ")) == [("Ada Lovelace", "exact", 100.0)]


@pytest.mark.scenario("Exact alias match (tier 2)")
async def test_an_alias_in_any_case_is_an_alias_match(pool):
    await people(pool, "Robert Smith", aliases=["Bob", "Bobby"])
    assert matches(await entity_resolve(pool, "BOB")) == [("Robert Smith", "alias", 80.0)]


@pytest.mark.scenario("Prefix/substring match (tier 3)")
async def test_any_part_of_a_name_or_an_alias_is_a_prefix_match(pool):
    await people(pool, "Robert Smith", aliases=["The Alchemist"])
    for part in ("Rob", "ert Sm", "smith", "t", "he al"):
        assert matches(await entity_resolve(pool, part)) == [("Robert Smith", "prefix", 50.0)], part


async def test_a_part_does_not_reach_from_one_name_into_the_next(pool):
    await people(pool, "Robert", aliases=["Smith", "Bob"])
    for text in ("RobertSmith", "Robert Smith", "tS", "hB"):
        assert await entity_resolve(pool, text) == []


async def test_having_every_run_of_letters_is_not_having_the_name(pool):
    await people(pool, "abc", aliases=["bcb", "cbc"])
    assert await entity_resolve(pool, "abcbc") == []


async def test_a_candidate_counts_in_its_best_tier_only(pool):
    await people(pool, "Bob", aliases=["bob", "Bob the Builder"])
    assert matches(await entity_resolve(pool, "bob")) == [("Bob", "exact", 100.0)]


@pytest.mark.scenario("Fuzzy match (tier 4, opt-in)")
async def test_a_misspelt_name_is_found_only_where_fuzzy_is_asked_for(pool):
    await people(pool, "Katherine Johnson")
    assert await entity_resolve(pool, "Kathrine Jonson") == []
    assert matches(await entity_resolve(pool, "Kathrine Jonson", enable_fuzzy=True)) == [
        ("Katherine Johnson", "fuzzy", 20.0)
    ]


async def test_a_misspelt_alias_is_found_too(pool):
    await people(pool, "Elizabeth Windsor", aliases=["Lilibet"])
    assert matches(await entity_resolve(pool, "Lillibet", enable_fuzzy=True)) == [("Elizabeth Windsor", "fuzzy", 20.0)]


async def test_fuzzy_candidates_come_after_those_of_earlier_tiers_and_never_twice(pool):
    await people(pool, "Jonathan", "Jonathan Swift", "Jonatan")
    assert matches(await entity_resolve(pool, "Jonathan", enable_fuzzy=True)) == [
        ("Jonathan", "exact", 100.0),
        ("Jonathan Swift", "prefix", 50.0),
        ("Jonatan", "fuzzy", 20.0),
    ]


async def test_names_of_up_to_two_letters_are_not_compared_fuzzily(pool):
    # Signs are no part of a trigram: by those "B?" is the same as "b!" and "b!!".
    await people(pool, "B?")
    assert await entity_resolve(pool, "b!", enable_fuzzy=True) == []
    assert matches(await entity_resolve(pool, "b!!", enable_fuzzy=True)) == [("B?", "fuzzy", 20.0)]


async def test_similarity_is_that_of_a_whole_name_not_of_one_word_in_it(pool):
    # The word "John" alone is similar enough to "Johm"; "John Jacob Astor the Fourth" as a whole is not.
    await people(pool, "John Jacob Astor the Fourth", "Johnn")
    assert matches(await entity_resolve(pool, "Johm", enable_fuzzy=True)) == [("Johnn", "fuzzy", 20.0)]


@pytest.mark.parametrize("scheme", ["DROP EXTENSION pg_trgm CASCADE", "ALTER EXTENSION pg_trgm SET SCHEMA hidden"])
async def test_without_pg_trgm_the_other_tiers_still_answer_and_fuzzy_finds_nothing(pool, scheme):
    await people(pool, "Jonathan", "Jonatan")
    await pool.execute("CREATE SCHEMA hidden")
    await pool.execute(scheme)
    assert matches(await entity_resolve(pool, "Jonathan", enable_fuzzy=True)) == [("Jonathan", "exact", 100.0)]
    assert await entity_resolve(pool, "Jonatham", enable_fuzzy=True) == []


async def test_a_threshold_that_the_server_sets_does_not_change_what_is_similar(pool):
    await people(pool, "Katherine Johnson")
    async with pool.acquire() as connection:
        await connection.execute("SET pg_trgm.strict_word_similarity_threshold = 0.95")
        await connection.execute("SET pg_trgm.similarity_threshold = 0.95")
        assert len(await entity_resolve(connection, "Kathrine Jonson", enable_fuzzy=True)) == 1
        # Set for the one transaction only: behind a pooler the session is somebody else's next.
        assert await connection.fetchval("SHOW pg_trgm.strict_word_similarity_threshold") == "0.95"


async def test_tombstones_are_never_candidates(pool):
    source, target = await people(pool, "Bob Smith", "Robert")
    await entity_merge(pool, source, target)
    found = await entity_resolve(pool, "bob smth", enable_fuzzy=True) + await entity_resolve(pool, "Bob Smith")
    assert {result["entity_id"] for result in found} == {target}


async def test_only_the_asked_type_is_found(pool):
    await entity_create(pool, "Paris", "place")
    hilton = await entity_create(pool, "Paris", "person")
    assert [result["entity_id"] for result in await entity_resolve(pool, "paris", entity_type="person")] == [hilton]
    with pytest.raises(ValueError, match="entity_type 'city' is not one of: person, organization, place, other"):
        await entity_resolve(pool, "paris", entity_type="city")


async def test_other_tenants_entities_are_never_found(pool):
    await people(pool, "Ada", aliases=["Countess"], tenant_id="acme")
    for name in ("Ada", "Countess", "ount"):
        assert await entity_resolve(pool, name, enable_fuzzy=True) == []
        assert len(await entity_resolve(pool, name, tenant_id="acme")) == 1


@pytest.mark.scenario("Graph neighborhood scoring with context_hints")
async def test_facts_that_fit_the_topic_or_the_company_lift_a_candidate(pool, embedder):
    chess, tennis = await people(pool, "Bob Miller", "Bob Adams")
    await store_fact(pool, "Bob", "plays", "chess with Alice", embedder, entity_id=chess)
    await store_fact(pool, "Bob", "plays", "tennis", embedder, entity_id=tennis)

    assert [result["entity_id"] for result in await entity_resolve(pool, "bob")] == [tennis, chess]
    by_topic = await entity_resolve(pool, "bob", context_hints={"topic": "the chess"})
    assert [(result["entity_id"], result["score"]) for result in by_topic] == [(chess, 56.6667), (tennis, 50.0)]
    by_company = await entity_resolve(pool, "bob", context_hints={"mentioned_with": ["Alice", "Carol"]})
    assert [(result["entity_id"], result["score"]) for result in by_company] == [(chess, 55.0), (tennis, 50.0)]


async def test_a_forgotten_fact_lifts_nobody(pool, embedder):
    [bob] = await people(pool, "Bob")
    fact = await store_fact(pool, "Bob", "plays", "chess", embedder, entity_id=bob)
    await forget_memory(pool, "fact", fact)
    assert matches(await entity_resolve(pool, "Bob", context_hints={"topic": "chess"})) == [("Bob", "exact", 100.0)]


async def test_at_most_500_facts_of_a_candidate_are_read(pool):
    [bob] = await people(pool, "Bob")
    await pool.execute(
        "INSERT INTO facts (subject, predicate, content, entity_id)"
        " SELECT 'Bob', 'p' || lpad(n::text, 4, '0'), CASE n WHEN 501 THEN 'chess' ELSE 'x' END, $1"
        " FROM generate_series(1, 501) AS n",
        bob,
    )
    hints = {"topic": "chess"}
    assert matches(await entity_resolve(pool, "Bob", context_hints=hints)) == [("Bob", "exact", 100.0)]
    await pool.execute("UPDATE facts SET validity = 'retracted' WHERE predicate = 'p0001'")
    assert matches(await entity_resolve(pool, "Bob", context_hints=hints)) == [("Bob", "exact", 110.0)]


@pytest.mark.scenario("Domain scores from context_hints")
async def test_a_domain_score_is_added_to_its_candidate(pool):
    first, second = await people(pool, "Bob A", "Bob B")
    hints = {"domain_scores": {str(second): 7.25, first: -1, str(uuid4()): 99}}
    found = await entity_resolve(pool, "bob", context_hints=hints)
    assert matches(found) == [("Bob B", "prefix", 57.25), ("Bob A", "prefix", 49.0)]


async def test_a_candidate_with_a_domain_score_is_not_lost_among_many(pool):
    await pool.execute("INSERT INTO entities (canonical_name) SELECT 'Al' || n FROM generate_series(1, 300) AS n")
    [far] = await people(pool, "Zz the very long name of an al")
    found = await entity_resolve(pool, "al", context_hints={"domain_scores": {far: 1}})
    assert (found[0]["entity_id"], len(found)) == (far, 200)
    assert len(await entity_resolve(pool, "al", limit=3)) == 3


BAD_HINTS = [
    ("chess", "context_hints 'chess' is not an object"),
    ({"topic": 5}, "context_hints.topic '5' is neither a text nor a list of texts"),
    ({"mentioned_with": ["Ann", 5]}, "context_hints.mentioned_with .* is neither a text nor a list of texts"),
    ({"domain_scores": [1]}, "context_hints.domain_scores .* is not an object of id to number"),
    ({"domain_scores": {"bob": 1}}, "context_hints.domain_scores key 'bob' is not a UUID"),
    ({"domain_scores": {str(uuid4()): "high"}}, "gives 'high' to .* a score is a finite number"),
    ({"domain_scores": {str(uuid4()): float("nan")}}, "a score is a finite number"),
    ({"domain_scores": {str(uuid4()): True}}, "a score is a finite number"),
]


async def test_a_bad_hint_is_refused_with_the_rule(pool):
    for hints, problem in BAD_HINTS:
        with pytest.raises(ValueError, match=problem):
            await entity_resolve(pool, "Bob", context_hints=hints)


async def test_empty_and_unknown_hints_change_nothing(pool):
    await people(pool, "Bob")
    hints = {"topic": None, "mentioned_with": [], "domain_scores": {}, "channel": "mail"}
    assert matches(await entity_resolve(pool, "Bob", context_hints=hints)) == [("Bob", "exact", 100.0)]


@pytest.mark.scenario("Resolution ordering")
async def test_results_are_ordered_by_score_then_name_and_carry_the_fields(pool):
    await people(pool, "Bob Z", "Bob A")
    exact = await entity_create(pool, "Bob", "place")
    await people(pool, "Robert", aliases=["Bob"])
    found = await entity_resolve(pool, "bob")
    assert matches(found) == [
        ("Bob", "exact", 100.0),
        ("Robert", "alias", 80.0),
        ("Bob A", "prefix", 50.0),
        ("Bob Z", "prefix", 50.0),
    ]
    assert found[0] == {
        "entity_id": exact,
        "canonical_name": "Bob",
        "entity_type": "place",
        "score": 100.0,
        "name_match": "exact",
        "aliases": [],
    }


@pytest.mark.scenario("No candidates found")
async def test_an_unknown_name_gives_an_empty_list_and_creates_nothing(pool):
    assert await entity_resolve(pool, "Nobody", enable_fuzzy=True, context_hints={"topic": "x"}) == []
    assert await pool.fetchval("SELECT count(*) FROM entities") == 0


async def test_a_name_that_nothing_can_have_gives_an_empty_list(pool):
    await people(pool, "x", "Ada")
    for name in ("", "  \n", "\x00", "\u200b", "\u0301", "x" * 100_000, "東" * 30_000):
        assert await entity_resolve(pool, name, enable_fuzzy=True) == [], name[:10]


async def test_a_name_that_is_no_text_is_refused(pool):
    for name, problem in (("a\ud800", "lone surrogate"), (5, "name is int, not text")):
        with pytest.raises(ValueError, match=problem):
            await entity_resolve(pool, name)


async def test_the_signs_of_patterns_and_of_sql_are_plain_letters(pool):
    await people(pool, "Ada", "axb", "100 percent")
    for name in ("100%", "a_b", "\\x", "'; DROP TABLE entities; --", "a\\%b", "%", "_", "\\"):
        assert f"The {name} Company" not in {n for n, _, _ in matches(await entity_resolve(pool, name))}
        await people(pool, f"The {name} Company")
        found = {n for n, _, _ in matches(await entity_resolve(pool, name))}
        assert f"The {name} Company" in found
        assert not found & {"Ada", "axb", "100 percent"}, name


SAME_NAMES = [
    ("José", "JOSE"),
    ("Jose", "José"),
    ("José", "Jose\u0301"),
    ("Zürich", "zurich"),
    ("Þórunn", "thorunn"),
    ("Łódź", "lodz"),
    ("Straße", "STRASSE"),
    ("Ærøskøbing", "aeroskobing"),
    ("İstanbul", "istanbul"),
    ("Diyarbakır", "DIYARBAKIR"),
    ("ISPARTA", "ısparta"),
    ("Пётр", "ПЕТР"),
    ("Ὀδυσσεύς", "ΟΔΥΣΣΕΥΣ"),
    ("ＡＢＣ", "abc"),
    ("한국", "\u1112\u1161\u11ab\u1100\u116e\u11a8"),
    ("ガ", "カ\u3099"),
    ("王小明", "王小明"),
    ("محمد", "محمد"),
    ("नरेन्द्र", "नरेन्द्र"),
    ("👩‍👩‍👧", "👩‍👩‍👧"),
    ("X" * 1024, "x" * 1024),
    ("﷽" * 341, "﷽" * 341),
]


async def test_case_accents_and_encodings_do_not_tell_names_apart(pool):
    for number, (stored, asked) in enumerate(SAME_NAMES):
        tenant = f"tenant {number}"
        await people(pool, stored, tenant_id=tenant)
        await people(pool, "0", aliases=[stored], tenant_id=tenant)
        found = await entity_resolve(pool, asked, tenant_id=tenant)
        assert matches(found) == [(stored, "exact", 100.0), ("0", "alias", 80.0)]


async def test_parts_of_one_or_two_letters_are_found_in_any_script(pool):
    await people(pool, "東京都", "李明", "Muñoz")
    for part, whole in (("京", "東京都"), ("東京", "東京都"), ("李", "李明"), ("ñ", "Muñoz")):
        assert matches(await entity_resolve(pool, part)) == [(whole, "prefix", 50.0)]


async def test_marks_that_make_another_letter_are_kept(pool):
    await people(pool, "か", "पल")
    assert await entity_resolve(pool, "が") == []
    assert await entity_resolve(pool, "पाल") == []


async def test_a_database_whose_locale_knows_only_ascii_still_folds_accented_latin_letters(server):
    admin = await asyncpg.connect(server.dsn)
    await admin.execute("CREATE DATABASE only_ascii TEMPLATE template0 LOCALE_PROVIDER libc LOCALE 'C'")
    connection = await asyncpg.connect(server.dsn, database="only_ascii")
    assert await connection.fetchval("SELECT lower('Ω')") == "Ω"
    await migrate(connection)
    await people(connection, "ÉÇİ")
    assert matches(await entity_resolve(connection, "eci")) == [("ÉÇİ", "exact", 100.0)]
    await connection.close()
    await admin.execute("DROP DATABASE only_ascii")
    await admin.close()


async def test_of_two_names_that_differ_in_accents_the_one_spelt_as_asked_comes_first(pool):
    await people(pool, "Jose", "José")
    assert matches(await entity_resolve(pool, "josé")) == [("José", "exact", 100.0), ("Jose", "exact", 95.0)]
    assert matches(await entity_resolve(pool, "JOSE")) == [("Jose", "exact", 100.0), ("José", "exact", 95.0)]
    await people(pool, "A", aliases=["Zoe"])
    await people(pool, "B", aliases=["Zoë"])
    assert matches(await entity_resolve(pool, "Zoë")) == [("B", "alias", 80.0), ("A", "alias", 75.0)]


async def test_entities_written_by_other_programs_are_found_too(pool):
    await pool.execute("INSERT INTO entities (canonical_name, aliases) VALUES (E'Two\nLines', ARRAY['x', NULL, 'Y'])")
    assert [m for _, m, _ in matches(await entity_resolve(pool, "two lines"))] == ["exact"]
    assert [m for _, m, _ in matches(await entity_resolve(pool, "y"))] == ["alias"]


async def test_a_restored_dump_computes_the_names_without_a_search_path(pool):
    async with pool.acquire() as connection, connection.transaction():
        await connection.execute("SET LOCAL search_path = ''")
        await connection.execute("INSERT INTO public.entities (canonical_name, aliases) VALUES ('Zoë', '{Ada}')")
    assert [m for _, m, _ in matches(await entity_resolve(pool, "zoe"))] == ["exact"]
