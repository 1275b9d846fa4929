import sqlite3

import pytest
from memory_agent import MemoryManager, UnusableFileError, open_database, save_memory
from memory_agent.files import MAX_CHECKED_BYTES, inspect_file


def filled(path, memories=50):
    db = open_database(path)
    for number in range(memories):
        save_memory(db, "a", f"k{number}", f"apple number {number}")
    db.close()
    return path


def refused(path, message):
    before = path.read_bytes()
    with pytest.raises(UnusableFileError, match=message):
        open_database(path)
    assert path.read_bytes() == before
    assert sorted(found.name for found in path.parent.iterdir()) == [path.name]


def test_a_new_file_is_created_in_wal_mode_with_a_busy_timeout(memory_file):
    db = open_database(memory_file)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    assert db.execute("PRAGMA busy_timeout").fetchone() == (30_000,)
    assert db.execute("PRAGMA foreign_keys").fetchone() == (1,)
    db.close()


def test_an_empty_file_counts_as_new(memory_file):
    memory_file.touch()
    with MemoryManager.open(memory_file) as manager:
        manager.save("a", "k", "apple")


def test_memories_survive_closing_and_opening(memory_file):
    filled(memory_file)
    db = open_database(memory_file)
    assert db.execute("SELECT count(*) FROM agent_memories").fetchone() == (50,)
    db.close()


def test_a_text_file_is_refused_and_untouched(memory_file):
    memory_file.write_text("Dear diary, " * 100)
    refused(memory_file, "is not an SQLite file; name another file, this one was left as it is")


def test_a_short_file_is_refused_and_untouched(memory_file):
    memory_file.write_bytes(b"SQLite format 3\x00")
    refused(memory_file, "is not an SQLite file")


def test_a_file_of_another_program_is_refused_and_untouched(memory_file):
    other = sqlite3.connect(memory_file)
    other.execute("CREATE TABLE invoices (number INTEGER)")
    other.close()
    refused(memory_file, "belongs to another program")


def test_a_wal_file_of_another_program_gets_no_side_files(memory_file):
    other = sqlite3.connect(memory_file)
    other.execute("PRAGMA journal_mode = WAL")
    other.execute("CREATE TABLE invoices (number INTEGER)")
    other.close()
    refused(memory_file, "belongs to another program")


def test_a_file_marked_by_another_program_is_refused_even_with_such_a_table(memory_file):
    filled(memory_file)
    other = sqlite3.connect(memory_file)
    other.execute("PRAGMA application_id = 7")
    other.execute("PRAGMA journal_mode = DELETE")
    other.close()
    refused(memory_file, "belongs to another program")


def test_a_table_of_the_same_name_and_other_columns_is_refused(memory_file):
    other = sqlite3.connect(memory_file)
    other.execute("CREATE TABLE agent_memories (id TEXT, agent_id TEXT, key TEXT, txid TEXT, status TEXT)")
    other.close()
    refused(memory_file, "without archived, content, created_at, updated_at")


def test_a_truncated_file_is_refused_and_untouched(memory_file):
    filled(memory_file)
    memory_file.write_bytes(memory_file.read_bytes()[:-4096])
    refused(memory_file, "it is truncated; restore it from a backup")


@pytest.mark.parametrize("offset", [100, 4096, 5 * 4096])
def test_a_damaged_file_is_refused_and_untouched(memory_file, offset):
    filled(memory_file)
    damaged = bytearray(memory_file.read_bytes())
    damaged[offset : offset + 2000] = b"\xa5" * 2000
    memory_file.write_bytes(damaged)
    refused(memory_file, r"is damaged \(.*\); restore it from a backup")


def test_a_large_file_is_not_read_through_on_every_start(memory_file):
    filled(memory_file)
    damaged = bytearray(memory_file.read_bytes())
    damaged[-2000:] = b"\xa5" * 2000
    with memory_file.open("wb") as file:
        file.write(damaged)
        file.truncate(MAX_CHECKED_BYTES + 1)
    inspect_file(memory_file)


def test_a_file_of_a_newer_version_is_refused_and_untouched(memory_file):
    filled(memory_file)
    newer = sqlite3.connect(memory_file)
    newer.execute("PRAGMA user_version = 99")
    newer.close()
    refused(memory_file, "schema version 99.*upgrade memory-agent")


def test_a_directory_is_refused(tmp_path):
    with pytest.raises(UnusableFileError, match="is not a file; name a file to keep memories in"):
        open_database(tmp_path)


def test_a_path_that_no_file_can_have_is_refused(tmp_path):
    with pytest.raises(UnusableFileError, match=r"cannot be read \(File name too long\); name a file that this user"):
        open_database(tmp_path / ("x" * 300))


def test_a_file_that_cannot_be_written_is_refused_with_the_remedy(memory_file):
    filled(memory_file)
    before = memory_file.read_bytes()
    # Where SQLite wants its WAL there is a directory: the one way to bar a file that also holds for root.
    memory_file.with_name(memory_file.name + "-wal").mkdir()
    with pytest.raises(UnusableFileError, match=r"cannot be written .*; let this user write it and its directory"):
        open_database(memory_file)
    assert memory_file.read_bytes() == before


def test_a_file_in_use_by_somebody_else_can_be_opened(memory_file):
    first = open_database(memory_file)
    save_memory(first, "a", "k", "apple")
    second = open_database(memory_file)
    assert second.execute("SELECT content FROM agent_memories").fetchone() == ("apple",)
    first.close()
    second.close()


def test_a_file_whose_schema_is_still_in_the_wal_can_be_opened(memory_file, tmp_path):
    db = open_database(memory_file)
    save_memory(db, "a", "k", "apple")
    crashed = tmp_path / "crashed.db"
    # What a killed process leaves behind: the file and its WAL, never checkpointed.
    for suffix in ("", "-wal"):
        (tmp_path / f"crashed.db{suffix}").write_bytes((tmp_path / f"memories.db{suffix}").read_bytes())
    db.close()
    with MemoryManager.open(crashed) as manager:
        assert manager.recall("a", "k").content == "apple"
