"""Eight-bit layers: close to the real product, row by row, on any processor."""

import numpy as np
import pytest
from memory_embed.graph_builder import Array, GraphBuilder
from memory_embed.int8_linear import Int8Linear
from memory_embed.minilm_graph import Linear, LinearLayer, dense_linear
from memory_embed.minilm_session import open_session, signed_products_are_exact
from memory_embed.onnx_proto import value_info

FLOAT = np.dtype(np.float32)
WIDTH, OUTPUTS = 384, 96


@pytest.fixture(scope="module")
def rows() -> Array:
    chance = np.random.default_rng(3)
    rows = chance.standard_normal((40, WIDTH)).astype(np.float32)
    rows[:, 7] *= 9  # the outlying channel that real layer norms have
    return rows


def layer(**known: object) -> LinearLayer:
    chance = np.random.default_rng(4)
    weight = chance.standard_normal((OUTPUTS, WIDTH)).astype(np.float32) * 0.06
    return LinearLayer("layer", weight, chance.standard_normal(OUTPUTS).astype(np.float32), **known)  # type: ignore[arg-type]


def compute(linear: Linear, of: LinearLayer, rows: Array) -> Array:
    graph = GraphBuilder()
    graph.rename(linear(graph, "x", of), "y")
    model = graph.serialize(
        "layer", [value_info("x", FLOAT, ["rows", WIDTH])], [value_info("y", FLOAT, ["rows", OUTPUTS])]
    )
    (result,) = open_session(model, graph.weights, threads=1).run(None, {"x": rows})
    return np.asarray(result)


def relative_error(of: LinearLayer, rows: Array) -> float:
    exact = compute(dense_linear, of, rows)
    return float(np.abs(compute(Int8Linear(), of, rows) - exact).mean() / np.abs(exact).mean())


def test_a_layer_is_close_to_full_precision(rows: Array) -> None:
    assert relative_error(layer(), rows) < 0.04


def test_the_fine_byte_leaves_only_the_rounding_of_the_weights(rows: Array) -> None:
    assert relative_error(layer(sensitive=True), rows) < relative_error(layer(), rows) / 2


def test_damping_known_outliers_helps(rows: Array) -> None:
    gain = np.ones(WIDTH, np.float32)
    gain[7] = 9
    assert relative_error(layer(norm=(gain, np.zeros(WIDTH, np.float32))), rows) < relative_error(layer(), rows) * 0.85


def test_the_range_after_a_gelu_is_spent_on_the_positive_side(rows: Array) -> None:
    positive = np.maximum(rows, -0.17)
    assert relative_error(layer(after_gelu=True), positive) < relative_error(layer(), positive) * 0.75


def test_a_row_never_depends_on_the_rows_beside_it(rows: Array) -> None:
    alone = compute(Int8Linear(), layer(), rows[:1])
    beside_a_giant = compute(Int8Linear(), layer(), np.concatenate([rows[:1], rows[1:2] * 1000]))
    assert np.array_equal(alone[0], beside_a_giant[0])


def test_a_row_of_zeros_gives_the_bias() -> None:
    zeros = np.zeros((2, WIDTH), np.float32)
    assert np.allclose(compute(Int8Linear(), layer(), zeros), layer().bias, atol=1e-6)


@pytest.mark.skipif(not signed_products_are_exact(), reason="this processor needs the unsigned form")
def test_unsigned_weights_give_the_same_numbers(rows: Array) -> None:
    signed, unsigned = (compute(Int8Linear(unsigned_weights=u), layer(sensitive=True), rows) for u in (False, True))
    assert np.array_equal(signed, unsigned)
