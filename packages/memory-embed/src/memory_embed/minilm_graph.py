"""The computation of all-MiniLM-L6-v2, from tokens to unit vectors, written for onnxruntime's CPU kernels.

Measured choices: hidden states stay two-dimensional (tokens x 384) so that every linear layer is one `Gemm` on the
stored, untransposed weights; query, key and value are one layer; `Add` + `LayerNormalization` runs seven times
faster than onnxruntime's fused `SkipLayerNormalization`, and its fused attention is no faster than plain operators.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from memory_embed.graph_builder import Array, GraphBuilder
from memory_embed.onnx_proto import value_info
from memory_embed.weights import DIMENSIONS

LAYERS, HEADS, HEAD_WIDTH = 6, 12, 32
LAYER_NORM_EPSILON = 1e-12
RUNTIME_DOMAIN = "com.microsoft"
# Large enough that exp() of a masked score is exactly zero: a text's vector cannot see the padding beside it.
MASKED_SCORE = 10_000.0

Tensors = Mapping[str, Array]


@dataclass(frozen=True)
class LinearLayer:
    """`y = x @ weight.T + bias`, and what a quantised form may know of `x`.

    `norm` is gain and shift of the layer norm that made `x`; `after_gelu` says that `x` is never below -0.17;
    `sensitive` that rounding `x` is what hurts the vectors most.
    """

    name: str
    weight: Array
    bias: Array
    norm: tuple[Array, Array] | None = None
    after_gelu: bool = False
    sensitive: bool = False


Linear = Callable[[GraphBuilder, str, LinearLayer], str]


def dense_linear(graph: GraphBuilder, x: str, layer: LinearLayer) -> str:
    """Apply a layer in full precision."""
    weight, bias = graph.weight(f"{layer.name}.weight", layer.weight), graph.weight(f"{layer.name}.bias", layer.bias)
    return graph.op("Gemm", x, weight, bias, transB=1)


def build_graph(tensors: Tensors, linear: Linear) -> GraphBuilder:
    """Return the graph `states, mask -> vectors`, its linear layers computed by `linear`."""
    graph = GraphBuilder()
    shape = graph.op("Shape", "mask")
    x = graph.op("Reshape", "states", graph.integers(-1, DIMENSIONS))
    x = _normalize(graph, tensors, x, "embeddings.LayerNorm")
    penalty = _mask_penalty(graph)
    for number in range(LAYERS):
        prefix = f"encoder.layer.{number}."
        x = _attend(graph, tensors, linear, prefix, x, shape, penalty)
        x = _feed_forward(graph, tensors, linear, prefix, x)
    graph.rename(_pool(graph, x, shape), "vectors")
    return graph


def serialize_graph(graph: GraphBuilder) -> bytes:
    """Return the model with its inputs and output declared: `batch` texts of `tokens` tokens."""
    inputs = [
        value_info("states", np.dtype(np.float32), ["batch", "tokens", DIMENSIONS]),
        value_info("mask", np.dtype(np.float32), ["batch", "tokens"]),
    ]
    outputs = [value_info("vectors", np.dtype(np.float32), ["batch", DIMENSIONS])]
    return graph.serialize("all-MiniLM-L6-v2", inputs, outputs)


def token_states(tensors: Tensors, ids: Array) -> Array:
    """Look up the tokens' first states, outside the graph: the 47 MB table stays in the file, page by page as used."""
    # Every text is one segment, so every token gets the first segment's vector.
    beside = tensors["embeddings.position_embeddings.weight"][: ids.shape[1]]
    beside = beside + tensors["embeddings.token_type_embeddings.weight"][0]
    return np.asarray(tensors["embeddings.word_embeddings.weight"][ids] + beside)


def _mask_penalty(graph: GraphBuilder) -> str:
    mask = graph.op("Unsqueeze", "mask", graph.integers(1, 2))
    return graph.op("Mul", graph.op("Sub", mask, graph.number(1.0)), graph.number(MASKED_SCORE))


def _normalize(graph: GraphBuilder, tensors: Tensors, x: str, norm: str) -> str:
    gain = graph.weight(f"{norm}.weight", tensors[f"{norm}.weight"])
    shift = graph.weight(f"{norm}.bias", tensors[f"{norm}.bias"])
    return graph.op("LayerNormalization", x, gain, shift, epsilon=LAYER_NORM_EPSILON, axis=-1)


def _attend(
    graph: GraphBuilder, tensors: Tensors, linear: Linear, prefix: str, x: str, shape: str, penalty: str
) -> str:
    query, key, value = _heads(graph, linear(graph, x, _query_key_value(tensors, prefix)), shape)
    scores = graph.op("FusedMatMul", query, key, domain=RUNTIME_DOMAIN, transB=1)
    shares = graph.op("Softmax", graph.op("Add", scores, penalty), axis=-1)
    mixed = graph.op("Transpose", graph.op("MatMul", shares, value), perm=[0, 2, 1, 3])
    mixed = graph.op("Reshape", mixed, graph.integers(-1, DIMENSIONS))
    layer = _stored_layer(tensors, f"{prefix}attention.output.dense")
    return _normalize(
        graph, tensors, graph.op("Add", linear(graph, mixed, layer), x), f"{prefix}attention.output.LayerNorm"
    )


def _heads(graph: GraphBuilder, projected: str, shape: str) -> list[str]:
    parted = graph.op("Concat", shape, graph.integers(3, HEADS, HEAD_WIDTH), axis=0)
    by_head = graph.op("Transpose", graph.op("Reshape", projected, parted), perm=[2, 0, 3, 1, 4])
    parts = graph.split_op("Split", by_head, outputs=3, axis=0, num_outputs=3)
    return [graph.op("Squeeze", part, graph.integers(0)) for part in parts]


def _query_key_value(tensors: Tensors, prefix: str) -> LinearLayer:
    source = f"{prefix}attention.self."
    scale = np.float32(HEAD_WIDTH**-0.5)  # in the weights, it costs nothing per text
    parts = [(f"{source}query", scale), (f"{source}key", np.float32(1)), (f"{source}value", np.float32(1))]
    weight = np.concatenate([tensors[f"{name}.weight"] * factor for name, factor in parts])
    bias = np.concatenate([tensors[f"{name}.bias"] * factor for name, factor in parts])
    return LinearLayer(f"{source}query_key_value", weight, bias, sensitive=True)


def _feed_forward(graph: GraphBuilder, tensors: Tensors, linear: Linear, prefix: str, x: str) -> str:
    norm = f"{prefix}attention.output.LayerNorm"
    gain, shift = tensors[f"{norm}.weight"], tensors[f"{norm}.bias"]
    widen = _stored_layer(tensors, f"{prefix}intermediate.dense", norm=(gain, shift))
    narrow = _stored_layer(tensors, f"{prefix}output.dense", after_gelu=True)
    widened = graph.op("Gelu", linear(graph, x, widen))
    narrowed = linear(graph, widened, narrow)
    return _normalize(graph, tensors, graph.op("Add", narrowed, x), f"{prefix}output.LayerNorm")


def _stored_layer(
    tensors: Tensors, name: str, *, norm: tuple[Array, Array] | None = None, after_gelu: bool = False
) -> LinearLayer:
    return LinearLayer(name, tensors[f"{name}.weight"], tensors[f"{name}.bias"], norm=norm, after_gelu=after_gelu)


def _pool(graph: GraphBuilder, x: str, shape: str) -> str:
    # The mean over a text's own tokens, scaled to length one: the divisor of the mean cancels out.
    states = graph.op("Reshape", x, graph.op("Concat", shape, graph.integers(DIMENSIONS), axis=0))
    summed = graph.op("MatMul", graph.op("Unsqueeze", "mask", graph.integers(1)), states)
    return graph.op("LpNormalization", graph.op("Squeeze", summed, graph.integers(1)), axis=-1, p=2)
