"""The protobuf writer, against the wire format and against onnxruntime, which has to read it."""

import numpy as np
import onnxruntime
import pytest
from hypothesis import given
from hypothesis import strategies as st
from memory_embed import onnx_proto
from memory_embed.graph_builder import GraphBuilder
from memory_embed.minilm_session import open_session
from memory_embed.onnx_proto import value_info

FLOAT = np.dtype(np.float32)


@pytest.mark.parametrize(
    ("number", "encoded"),
    [(0, "00"), (1, "01"), (127, "7f"), (128, "8001"), (150, "9601"), (300, "ac02"), (-1, "ffffffffffffffffff01")],
)
def test_integers_are_written_as_the_wire_format_says(number: int, encoded: str) -> None:
    assert onnx_proto.varint(number).hex() == encoded


@given(st.integers(-(2**63), 2**63 - 1))
def test_every_integer_can_be_read_back(number: int) -> None:
    value = sum((byte & 0x7F) << (7 * place) for place, byte in enumerate(onnx_proto.varint(number)))
    assert (value - 2**64 if value >= 2**63 else value) == number


def test_fields_carry_number_type_and_length() -> None:
    assert onnx_proto.integer(1, 150).hex() == "089601"
    assert onnx_proto.chunk(2, "testing").hex() == "120774657374696e67"
    assert onnx_proto.real(2, 1.0).hex() == "150000803f"


def session_of(graph: GraphBuilder, result: str, shape: list[int | str]) -> onnxruntime.InferenceSession:
    graph.rename(result, "y")
    model = graph.serialize("test", [value_info("x", FLOAT, ["rows", 2])], [value_info("y", FLOAT, shape)])
    return open_session(model, graph.weights, threads=1)


def test_onnxruntime_computes_what_was_written() -> None:
    graph = GraphBuilder()
    weight = graph.weight("w", np.array([[1, 2], [3, 4], [5, 6]], np.float32))
    product = graph.op("Gemm", "x", weight, transB=1, alpha=2.0)
    halves = graph.split_op("Split", product, graph.integers(1, 2), outputs=2, axis=1)
    joined = graph.op("Concat", halves[1], halves[0], axis=1)
    shifted = graph.op("Add", joined, graph.number(0.5))
    session = session_of(graph, graph.op("Transpose", shifted, perm=[1, 0]), [3, "rows"])
    (result,) = session.run(None, {"x": np.array([[1, 1], [0, 1]], np.float32)})
    assert result.tolist() == [[14.5, 8.5], [22.5, 12.5], [6.5, 4.5]]


def test_strings_and_other_domains_reach_the_operators() -> None:
    graph = GraphBuilder()
    graph_result = graph.op("Gelu", "x", approximate="tanh")
    session = session_of(graph, graph.op("FastGelu", graph_result, domain="com.microsoft"), ["rows", 2])
    (result,) = session.run(None, {"x": np.array([[0, 3]], np.float32)})
    assert result[0] == pytest.approx(
        [
            0,
            2.99,
        ],
        abs=0.01,
    )


def test_a_named_dimension_takes_any_size_and_a_number_only_itself() -> None:
    session = session_of(GraphBuilder(), "x", ["rows", 2])
    (described,) = session.get_inputs()
    assert described.shape == ["rows", 2]
    assert len(session.run(None, {"x": np.zeros((5, 2), np.float32)})[0]) == 5
    with pytest.raises(Exception, match="Got: 3 Expected: 2"):
        session.run(None, {"x": np.zeros((5, 3), np.float32)})
