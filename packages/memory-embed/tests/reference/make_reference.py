"""Writes `reference_vectors.npz`: what sentence-transformers itself answers for the reference texts.

Run it with an interpreter that has sentence-transformers, naming a directory with the published model:

    python packages/memory-embed/tests/reference/make_reference.py MODEL_DIRECTORY

Each text is encoded alone, so that the reference depends on no batch. Half precision is enough and halves the file:
rounding moves a cosine by less than 1e-7.
"""

import sys
from pathlib import Path

import numpy as np
import sentence_transformers
import torch
from reference_texts import reference_texts


def main(model_directory: str) -> None:
    torch.set_num_threads(1)
    model = sentence_transformers.SentenceTransformer(model_directory, device="cpu")
    vectors = np.stack([model.encode(text or " ", normalize_embeddings=True) for text in reference_texts()])
    origin = f"sentence-transformers {sentence_transformers.__version__}, torch {torch.__version__}"
    target = Path(__file__).with_name("reference_vectors.npz")
    np.savez_compressed(target, vectors=vectors.astype(np.float16), origin=np.array(origin))
    print(f"{len(vectors)} vectors of {origin} written to {target.name}, {target.stat().st_size} bytes")


if __name__ == "__main__":
    main(sys.argv[1])
