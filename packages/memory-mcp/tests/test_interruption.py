"""Ctrl-C in the middle of the work, on the installed script."""

import json
import os
import select
import signal
import subprocess
import sys
from pathlib import Path

from memory_core import store_episode
from memory_core.testing import WordHashEmbedder

SCRIPT = Path(sys.executable).with_name("memory")


async def test_an_interrupted_consolidation_gives_its_episodes_back(pool, dsn, tmp_path):
    await store_episode(pool, "Tea at five.", "home", WordHashEmbedder())
    asked = tmp_path / "asked"
    os.mkfifo(asked)
    program = tmp_path / "model.py"
    program.write_text(f"import time\nopen({str(asked)!r}, 'w').write('yes')\ntime.sleep(600)\n", encoding="utf-8")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEMORY_")}
    environment = {
        **inherited,
        "MEMORY_CONSOLIDATION__SPAWNER": "command",
        "MEMORY_PLUGINS__COMMAND": json.dumps({"command": [sys.executable, str(program)]}),
    }
    command = [SCRIPT, "--dsn", dsn, "consolidate"]
    pipe = os.open(asked, os.O_RDONLY | os.O_NONBLOCK)
    with subprocess.Popen(command, env=environment, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as running:
        assert select.select([pipe], [], [], 60)[0], "the model is at work"
        running.send_signal(signal.SIGINT)
        _, told = running.communicate(timeout=60)
    os.close(pipe)
    assert running.returncode == 130
    assert told.splitlines()[-1] == "interrupted"
    assert "Traceback" not in told
    row = await pool.fetchrow("SELECT consolidation_status, leased_until, consolidation_attempts FROM episodes")
    assert tuple(row) == ("pending", None, 0)
