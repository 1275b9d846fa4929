"""Linear layers in eight-bit integers, each token's row with a scale of its own.

onnxruntime's dynamic quantisation takes one scale for the whole batch, so that a text's vector depends on the texts
beside it. Here nothing is shared between rows. Three things keep the vectors close to full precision (measured, see
docs/embeddings.md): query, key and value see their input as two bytes, a coarse and a fine one; the widening layer's
strongest input channels are damped and its weights raised by as much; and the input after the GELU, which is never
below -0.17, spends its range on the positive side.
"""

import numpy as np

from memory_embed.graph_builder import Array, GraphBuilder
from memory_embed.minilm_graph import RUNTIME_DOMAIN, LinearLayer

_LARGEST = 127
_MIDDLE = 128
# The fine byte counts steps of 1/254 of the coarse one: half a coarse step is then its largest value.
_FINE_STEPS = 254.0
_GELU_MINIMUM, _GELU_ZERO = 0.17, 16
_DAMPING = 0.7


class Int8Linear:
    """Applies a layer with eight-bit weights, one scale per output, and eight-bit rows, one scale per token.

    Signed weights are fastest, but processors without VNNI add pairs of products in 16 bits and cut off what does not
    fit; `unsigned_weights` take the slower instructions that do not, to the same result.
    """

    def __init__(self, *, unsigned_weights: bool = False) -> None:
        self._unsigned_weights = unsigned_weights

    def __call__(self, graph: GraphBuilder, x: str, layer: LinearLayer) -> str:
        """Add the layer to the graph and return the name of its output."""
        weight = layer.weight
        if layer.norm is not None:
            damping = _damping(layer.weight, *layer.norm)
            x, weight = graph.op("Mul", x, graph.constant(1 / damping)), weight * damping
        zero = _GELU_ZERO if layer.after_gelu else _MIDDLE
        scale = _gelu_scale(graph, x) if layer.after_gelu else _row_scale(graph, x)
        zeros = graph.op("Expand", graph.constant(np.array([zero], np.uint8)), graph.op("Shape", scale))
        coarse = graph.op("QuantizeLinear", x, scale, zeros, axis=0)
        multiply = _Multiplication(graph, layer.name, weight, self._unsigned_weights)
        product = multiply(coarse, 1.0, zero)
        if layer.sensitive:
            product = graph.op(
                "Add", product, multiply(_remainder(graph, x, coarse, scale, zeros), 1 / _FINE_STEPS, zero)
            )
        scaled = graph.op("Mul", product, graph.op("Unsqueeze", scale, graph.integers(1)))
        return graph.op("Add", scaled, graph.weight(f"{layer.name}.bias", layer.bias))


class _Multiplication:
    """The integer product with one layer's weights, times their scales."""

    def __init__(self, graph: GraphBuilder, name: str, weight: Array, unsigned: bool) -> None:
        scales = (np.abs(weight).max(axis=1) / _LARGEST).astype(np.float32)
        rounded = np.rint(weight / scales[:, None]).astype(np.int8)
        self._graph = graph
        self._weight = graph.weight(f"{name}.int8", (rounded.T.view(np.uint8) ^ _MIDDLE) if unsigned else rounded.T)
        self._scales = graph.weight(f"{name}.scales", scales)
        middle = np.full(len(scales), _MIDDLE, np.uint8)
        self._middle = [graph.constant(middle)] if unsigned else []

    def __call__(self, rows: str, row_step: float, zero: int) -> str:
        graph = self._graph
        step, offset = graph.number(row_step), graph.constant(np.array(zero, np.uint8))
        inputs = [rows, self._weight, step, self._scales, offset, *self._middle]
        return graph.op("MatMulIntegerToFloat", *inputs, domain=RUNTIME_DOMAIN)


def _damping(weight: Array, gain: Array, shift: Array) -> Array:
    # How large a channel gets follows from the layer norm that made it, so no calibration data is needed.
    strength = np.abs(gain) + np.abs(shift)
    factor = strength**_DAMPING / np.abs(weight).max(axis=0) ** (1 - _DAMPING)
    return np.asarray(factor / factor.mean(), np.float32)


def _row_scale(graph: GraphBuilder, x: str) -> str:
    largest = graph.op("ReduceMax", graph.op("Abs", x), graph.integers(1), keepdims=0)
    return graph.op("Mul", largest, graph.number(1 / _LARGEST))


def _gelu_scale(graph: GraphBuilder, x: str) -> str:
    largest = graph.op("ReduceMax", x, graph.integers(1), keepdims=0)
    fitting = graph.op("Mul", largest, graph.number(1 / (255 - _GELU_ZERO)))
    return graph.op("Max", fitting, graph.number(_GELU_MINIMUM / _GELU_ZERO))


def _remainder(graph: GraphBuilder, x: str, coarse: str, scale: str, zeros: str) -> str:
    kept = graph.op("DequantizeLinear", coarse, scale, zeros, axis=0)
    fine_scale = graph.op("Mul", scale, graph.number(1 / _FINE_STEPS))
    return graph.op("QuantizeLinear", graph.op("Sub", x, kept), fine_scale, zeros, axis=0)


def widest_product(graph: GraphBuilder, rows: str, width: int) -> str:
    """Add the product that overflows first: all weights and all activations at their largest."""
    weight = np.full((1, width), _LARGEST, np.float32)
    return _Multiplication(graph, "widest", weight, unsigned=False)(rows, 1.0, 0)
