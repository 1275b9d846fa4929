from collections import OrderedDict

import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_agent import InvalidInputError, LRUCache, LRUCacheOptions


def cache_of(*keys, max_size=3, ttl_ms=300_000, clock):
    cache = LRUCache(LRUCacheOptions(max_size=max_size, ttl_ms=ttl_ms), clock=clock)
    for key in keys:
        cache.set(key, key.upper())
    return cache


def test_a_value_is_found_again(clock):
    assert cache_of("a", clock=clock).get("a") == "A"


def test_an_unknown_key_gives_none(clock):
    assert cache_of("a", clock=clock).get("b") is None


@pytest.mark.scenario("LRU eviction at capacity")
def test_the_first_of_three_goes_when_a_fourth_comes(clock):
    cache = cache_of("a", "b", "c", clock=clock)
    cache.set("d", "D")
    assert [cache.get(key) for key in "abcd"] == [None, "B", "C", "D"]


@pytest.mark.scenario("Invariant 5: LRU eviction order")
def test_reading_a_key_saves_it_from_eviction(clock):
    cache = cache_of("a", "b", "c", clock=clock)
    cache.get("a")
    cache.set("d", "D")
    assert [cache.get(key) for key in "abcd"] == ["A", None, "C", "D"]


def test_setting_a_key_again_replaces_it_and_evicts_nothing(clock):
    cache = cache_of("a", "b", "c", clock=clock)
    cache.set("a", "new")
    assert [cache.get(key) for key in "abc"] == ["new", "B", "C"]


@pytest.mark.scenario("Invariant 6: TTL expiration")
@pytest.mark.scenario("Error case: Cache `get` on expired entry")
def test_an_entry_older_than_its_time_is_gone_and_deleted(clock):
    cache = cache_of("a", clock=clock)
    clock.advance(300)
    assert cache.get("a") == "A"
    clock.advance(0.001)
    assert len(cache) == 1
    assert cache.get("a") is None
    assert len(cache) == 0


def test_setting_a_key_again_starts_its_time_anew(clock):
    cache = cache_of("a", clock=clock)
    clock.advance(200)
    cache.set("a", "A")
    clock.advance(200)
    assert cache.get("a") == "A"


def test_delete_tells_whether_the_key_was_there(clock):
    cache = cache_of("a", clock=clock)
    assert (cache.delete("a"), cache.delete("a")) == (True, False)


def test_a_prefix_invalidates_its_keys_and_no_others(clock):
    cache = cache_of("x:1", "x:2", "y:1", clock=clock)
    assert cache.invalidate_prefix("x:") == 2
    assert cache.get("y:1") == "Y:1"


def test_clear_removes_everything(clock):
    cache = cache_of("a", "b", clock=clock)
    cache.clear()
    assert len(cache) == 0


def test_prune_removes_only_what_has_expired(clock):
    cache = cache_of("a", "b", clock=clock)
    clock.advance(301)
    cache.set("c", "C")
    assert cache.prune() == 2
    assert cache.get("c") == "C"


def test_a_cache_holds_256_entries_for_five_minutes_by_default():
    assert LRUCacheOptions() == LRUCacheOptions(max_size=256, ttl_ms=300_000)


def test_a_cache_without_room_is_refused():
    with pytest.raises(InvalidInputError, match="max_size 0 is below 1; a cache must hold at least one entry"):
        LRUCache(LRUCacheOptions(max_size=0))


def test_a_cache_without_time_is_refused():
    with pytest.raises(InvalidInputError, match="ttl_ms 0 is not above 0"):
        LRUCache(LRUCacheOptions(ttl_ms=0))


class ModelCache:
    """The same rules in the plainest form: an ordered dict, walked through each time."""

    def __init__(self, max_size, ttl):
        self.max_size, self.ttl, self.now, self.entries = max_size, ttl, 0, OrderedDict()

    def get(self, key):
        if key not in self.entries or self.now - self.entries[key][0] > self.ttl:
            self.entries.pop(key, None)
            return None
        self.entries.move_to_end(key)
        return self.entries[key][1]

    def set(self, key, value):
        self.entries.pop(key, None)
        self.entries[key] = (self.now, value)
        if len(self.entries) > self.max_size:
            self.entries.popitem(last=False)


keys = st.sampled_from(["a:1", "a:2", "b:1", "b:2", "c"])
operations = st.lists(
    st.tuples(st.just("get"), keys)
    | st.tuples(st.just("set"), keys)
    | st.tuples(st.just("delete"), keys)
    | st.tuples(st.just("wait"), st.integers(1, 6))
    | st.tuples(st.just("prune"), st.none())
    | st.tuples(st.just("invalidate"), st.sampled_from(["a:", "b:", ""])),
    max_size=60,
)


@given(operations)
def test_a_cache_behaves_like_its_model(steps):
    model = ModelCache(max_size=3, ttl=5)
    cache = LRUCache(LRUCacheOptions(max_size=3, ttl_ms=5000), clock=lambda: model.now)
    for number, (operation, argument) in enumerate(steps):
        match operation:
            case "get":
                assert cache.get(argument) == model.get(argument)
            case "set":
                cache.set(argument, number)
                model.set(argument, number)
            case "delete":
                assert cache.delete(argument) == (model.entries.pop(argument, None) is not None)
            case "wait":
                model.now += argument
            case "prune":
                expired = [key for key, (at, _) in model.entries.items() if model.now - at > model.ttl]
                assert cache.prune() == len([model.entries.pop(key) for key in expired])
            case "invalidate":
                doomed = [key for key in model.entries if key.startswith(argument)]
                assert cache.invalidate_prefix(argument) == len([model.entries.pop(key) for key in doomed])
        assert len(cache) == len(model.entries)
