import re
from pathlib import Path

import memory_agent

README = Path(__file__).parents[1] / "README.md"


def test_the_example_prints_what_it_says(tmp_path, monkeypatch, capsys):
    [example] = re.findall(r"```python\n(.*?)```", README.read_text(encoding="utf-8"), re.DOTALL)
    monkeypatch.chdir(tmp_path)
    exec(compile(example, "README.md", "exec"), {})
    promised = re.findall(r"\)\s+# (.+)", example)
    assert capsys.readouterr().out.splitlines() == promised
    assert len(promised) == 3


def test_the_table_names_everything_that_is_exported():
    text = re.sub(r"```.*?```", "", README.read_text(encoding="utf-8"), flags=re.DOTALL)
    documented = set(re.findall(r"\w+", " ".join(re.findall(r"`([^`]+)`", text))))
    errors = {"DeepSearchError", "UnsupportedSqliteError", "RelatedMemory"}
    assert set(memory_agent.__all__) - errors <= documented
