"""How long `memory-mcp` takes from its start to an answered tools/list, beside an empty server of the same SDK.

    uv run python benchmarks/startup.py [--runs 15]

Both are started in turn, as processes of their own, with compiled bytecode. The empty server has 19 tools that do
nothing. The embedded database of `memory-mcp` exists already but does not run, as at a laptop's first session.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

EMPTY_SERVER = """
from mcp.server.mcpserver import MCPServer

server = MCPServer("empty")
for number in range(19):

    @server.tool(name=f"tool_{number}", description="A tool that does nothing with what it is given.")
    async def tool(content: str, butler: str, importance: float = 5.0, tags: list[str] | None = None) -> dict[str, str]:
        return {"id": content}

server.run()
"""

MESSAGES = (
    {
        "jsonrpc": "2.0",
        "id": 1,
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "benchmark", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
    {"jsonrpc": "2.0", "id": 2, "method": "tools/list"},
)
FIRST_CALL = {"jsonrpc": "2.0", "id": 3, "method": "tools/call", "params": {"name": "memory_stats", "arguments": {}}}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--runs", type=int, default=15, help="starts of each server")
    runs = parser.parse_args().runs
    place = Path(tempfile.mkdtemp(prefix="memory-startup-"))
    place.chmod(0o755)
    try:
        empty = [sys.executable, "-c", EMPTY_SERVER]
        memory = [str(Path(sys.executable).with_name("memory-mcp"))]
        environment = _environment(place)
        for command in (empty, memory, memory):
            _start(command, environment, first_call=command is memory)
        measured = [(_start(empty, environment)[0], *_start(memory, environment, first_call=True)) for _ in range(runs)]
    finally:
        shutil.rmtree(place, ignore_errors=True)
    _report(measured)


def _environment(place: Path) -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    # Bytecode of both goes to a place of its own, written by the first start of each.
    kept.pop("PYTHONDONTWRITEBYTECODE", None)
    return {**kept, "PYTHONPYCACHEPREFIX": str(place / "bytecode"), "MEMORY_DATA_DIR": str(place / "data")}


def _start(command: list[str], environment: dict[str, str], first_call: bool = False) -> tuple[float, float]:
    """Return the seconds until tools/list, and until a first call that needs the database, are answered."""
    began = time.perf_counter()
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environment, cwd="/"
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        process.stdin.write("".join(json.dumps(message) + "\n" for message in MESSAGES).encode())
        process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        listed = time.perf_counter() - began
        assert len(answers[1]["result"]["tools"]) == 19
        if first_call:
            process.stdin.write((json.dumps(FIRST_CALL) + "\n").encode())
            process.stdin.flush()
            assert not json.loads(process.stdout.readline())["result"]["isError"]
        called = time.perf_counter() - began
        process.stdin.close()
        process.wait(timeout=60)
    return listed, called


def _report(measured: list[tuple[float, float, float]]) -> None:
    empty, listed, called = (statistics.median(column) for column in zip(*measured, strict=True))
    ratio = statistics.median(memory / bare for bare, memory, _ in measured)
    print(f"empty 19-tool server   start to tools/list      {empty * 1000:7.0f} ms")
    print(f"memory-mcp             start to tools/list      {listed * 1000:7.0f} ms")
    print(f"                       start to a first answer  {called * 1000:7.0f} ms (the database starts, too)")
    print(f"ratio of tools/list, median of {len(measured)} pairs       {ratio:7.2f}")


if __name__ == "__main__":
    main()
