"""The loaded model: tokenizer and onnxruntime session, from texts to vectors."""

from collections.abc import Mapping, Sequence

import numpy as np
import onnxruntime  # type: ignore[import-untyped]

from memory_embed.graph_builder import Array, GraphBuilder
from memory_embed.int8_linear import Int8Linear, widest_product
from memory_embed.minilm_graph import Linear, build_graph, dense_linear, serialize_graph, token_states
from memory_embed.onnx_proto import value_info
from memory_embed.precision import Precision
from memory_embed.tensor_file import TensorFile
from memory_embed.token_runs import TextTokenizer, pad_run, plan_runs
from memory_embed.weights import DIMENSIONS, ModelFiles

_ERRORS_ONLY = 3


class MiniLMSession:
    """A model in memory; any number of threads may embed with it."""

    def __init__(self, files: ModelFiles, *, precision: Precision = "fp32", threads: int = 1) -> None:
        linear: Linear = dense_linear
        if precision == "int8":
            linear = Int8Linear(unsigned_weights=not signed_products_are_exact())
        self._tokenizer = TextTokenizer(files.tokenizer)
        self._file = TensorFile(files.weights)
        graph = build_graph(self._file.tensors, linear)
        self._session = open_session(serialize_graph(graph), graph.weights, threads=threads)
        self._file.release_pages()

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one unit vector per text, in order."""
        encoded = [self._tokenizer.encode(text) for text in texts]
        vectors = np.empty((len(texts), DIMENSIONS), np.float32)
        for run in plan_runs([len(ids) for ids in encoded]):
            ids, mask = pad_run([encoded[position] for position in run])
            states = token_states(self._file.tensors, ids)
            (vectors[run],) = self._session.run(["vectors"], {"states": states, "mask": mask})
        rows: list[list[float]] = vectors.tolist()
        return rows


def open_session(model: bytes, weights: Mapping[str, Array], *, threads: int) -> onnxruntime.InferenceSession:
    """Hand a model and the weights beside it to onnxruntime."""
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads = threads
    options.inter_op_num_threads = 1
    options.log_severity_level = _ERRORS_ONLY
    # A waiting thread that spins takes the core the database is working on.
    options.add_session_config_entry("session.intra_op.allow_spinning", "0")
    values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in weights.values()]
    options.add_external_initializers(list(weights), values)
    return onnxruntime.InferenceSession(model, options, providers=["CPUExecutionProvider"])


def signed_products_are_exact() -> bool:
    """Whether this processor multiplies signed eight-bit weights without cutting off large sums."""
    width = 64
    graph = GraphBuilder()
    graph.rename(widest_product(graph, "rows", width), "sum")
    inputs = [value_info("rows", np.dtype(np.uint8), [1, width])]
    model = graph.serialize("widest", inputs, [value_info("sum", np.dtype(np.float32), [1, 1])])
    session = open_session(model, graph.weights, threads=1)
    (total,) = session.run(["sum"], {"rows": np.full((1, width), 255, np.uint8)})
    return bool(total[0, 0] == 255 * 127 * width)
