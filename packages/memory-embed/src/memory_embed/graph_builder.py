"""A graph in the making: operators are called like functions on the names of values."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from memory_embed import onnx_proto
from memory_embed.onnx_proto import Attribute

Array = np.ndarray[Any, Any]


class GraphBuilder:
    """Collects nodes and constants; large weights stay outside the serialised model, in `weights`."""

    def __init__(self) -> None:
        self.weights: dict[str, Array] = {}
        self._nodes: list[bytes] = []
        self._tensors: list[bytes] = []
        self._values = 0

    def op(self, operator: str, *inputs: str, domain: str = "", **attributes: Attribute) -> str:
        """Add a node and return the name of its only output."""
        return self.split_op(operator, *inputs, outputs=1, domain=domain, **attributes)[0]

    def split_op(
        self, operator: str, *inputs: str, outputs: int, domain: str = "", **attributes: Attribute
    ) -> list[str]:
        """Add a node and return the names of its outputs."""
        names = [f"v{self._values + position}" for position in range(outputs)]
        self._values += outputs
        self._nodes.append(onnx_proto.node(operator, inputs, names, domain, attributes))
        return names

    def rename(self, value: str, name: str) -> None:
        """Give a value the name under which the session returns it."""
        self._nodes.append(onnx_proto.node("Identity", [value], [name], "", {}))

    def constant(self, value: Array) -> str:
        """Add a small constant to the model itself."""
        name = f"c{len(self._tensors)}"
        self._tensors.append(onnx_proto.tensor(name, value))
        return name

    def integers(self, *values: int) -> str:
        """Add a constant list of integers: axes, shapes, bounds."""
        return self.constant(np.array(values, np.int64))

    def number(self, value: float) -> str:
        """Add a constant scalar."""
        return self.constant(np.array(value, np.float32))

    def weight(self, name: str, value: Array) -> str:
        """Refer to a large tensor that the session receives beside the model."""
        if name not in self.weights:
            self.weights[name] = np.ascontiguousarray(value)
            self._tensors.append(onnx_proto.tensor(name, value, external=True))
        return name

    def serialize(self, name: str, inputs: Sequence[bytes], outputs: Sequence[bytes]) -> bytes:
        """Return the model as the bytes that onnxruntime reads."""
        return onnx_proto.model(name, self._nodes, self._tensors, inputs, outputs)
