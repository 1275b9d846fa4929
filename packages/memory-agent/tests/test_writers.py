import subprocess
import sys
from collections import Counter

from memory_agent import MemoryManager
from memory_agent.tokens import tokenize

WRITERS = 8
SAVES = 20


def content(writer, number):
    return f"apple writer{writer} number{number}"


WRITER = """
import sys
from memory_agent import MemoryManager

path, writer, saves = sys.argv[1], sys.argv[2], int(sys.argv[3])
print("ready", flush=True)
sys.stdin.readline()
with MemoryManager.open(path) as manager:
    for number in range(saves):
        content = f"apple writer{writer} number{number}"
        manager.save("shared", f"w{writer}-{number}", content)
        manager.save("shared", "contested", content)
"""


def start_writer(path, writer):
    command = [sys.executable, "-c", WRITER, str(path), str(writer), str(SAVES)]
    return subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)


def test_eight_processes_write_one_new_file_and_nothing_is_lost(memory_file):
    writers = [start_writer(memory_file, writer) for writer in range(WRITERS)]
    # All have imported everything before the first may open the file, so that they meet where it is created.
    assert [process.stdout.readline() for process in writers] == ["ready\n"] * WRITERS
    for process in writers:
        process.stdin.write("go\n")
        process.stdin.flush()
    for process in writers:
        process.communicate(timeout=60)
    assert [process.returncode for process in writers] == [0] * WRITERS
    with MemoryManager.open(memory_file) as manager:
        db = manager.db
        stored = dict(db.execute("SELECT key, content FROM agent_memories"))
        expected = {f"w{w}-{n}": content(w, n) for w in range(WRITERS) for n in range(SAVES)}
        assert stored.pop("contested").startswith("apple writer")
        assert stored == expected
        contested = manager.recall("shared", "contested")
        documents = [*expected.items(), (contested.key, contested.content)]
        counted = Counter(term for key, text in documents for term in set(tokenize(f"{key} {text}")))
        assert dict(db.execute("SELECT term, documents FROM memory_terms")) == counted
        assert db.execute("SELECT documents FROM memory_agents").fetchall() == [(len(documents),)]
        assert db.execute("SELECT count(*) FROM memory_categories").fetchone() == (len(documents),)
        assert db.execute("SELECT count(*) FROM memory_embeddings").fetchone() == (len(documents),)
        db.execute("INSERT INTO memory_search (memory_search, rank) VALUES ('integrity-check', 1)")
        assert db.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
