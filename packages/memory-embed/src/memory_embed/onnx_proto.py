"""The few ONNX messages this package writes, in protobuf's wire format.

The `onnx` package would bring 33 MB, and 0.04 s to every start, for what is a handful of length-prefixed fields;
onnxruntime itself parses the bytes. Field numbers are those of the published `onnx.proto`.
"""

import struct
from collections.abc import Sequence
from typing import Any

import numpy as np

Attribute = float | int | str | Sequence[int]

_VARINT, _LENGTH_DELIMITED, _FIXED32 = 0, 2, 5
_FLOAT, _INT, _STRING, _INTS = 1, 2, 3, 7
_EXTERNAL = 1
_IR_VERSION, _OPSET = 10, 21
_ELEMENT_TYPES = {"float32": 1, "uint8": 2, "int8": 3, "int32": 6, "int64": 7}


def element_type(dtype: "np.dtype[Any]") -> int:
    """Return ONNX's number for a numpy dtype."""
    return _ELEMENT_TYPES[dtype.name]


def varint(number: int) -> bytes:
    """Encode an integer in base 128; negative ones take protobuf's ten bytes."""
    number &= (1 << 64) - 1
    encoded = bytearray()
    while number > 0x7F:
        encoded.append(number & 0x7F | 0x80)
        number >>= 7
    encoded.append(number)
    return bytes(encoded)


def integer(field: int, number: int) -> bytes:
    """Encode an integer field."""
    return varint(field << 3 | _VARINT) + varint(number)


def real(field: int, number: float) -> bytes:
    """Encode a float field."""
    return varint(field << 3 | _FIXED32) + struct.pack("<f", number)


def chunk(field: int, content: bytes | str) -> bytes:
    """Encode a string, bytes or message field."""
    raw = content.encode() if isinstance(content, str) else content
    return varint(field << 3 | _LENGTH_DELIMITED) + varint(len(raw)) + raw


def attribute(name: str, value: Attribute) -> bytes:
    """Encode an AttributeProto of the type that the value has."""
    match value:
        case float():
            body = real(2, value) + integer(20, _FLOAT)
        case int():
            body = integer(3, value) + integer(20, _INT)
        case str():
            body = chunk(4, value) + integer(20, _STRING)
        case _:
            body = b"".join(integer(8, item) for item in value) + integer(20, _INTS)
    return chunk(1, name) + body


def node(
    operator: str, inputs: Sequence[str], outputs: Sequence[str], domain: str, attributes: dict[str, Attribute]
) -> bytes:
    """Encode a NodeProto, named after its first output so that a profile reads well."""
    return b"".join(
        [
            *(chunk(1, name) for name in inputs),
            *(chunk(2, name) for name in outputs),
            chunk(3, f"{operator}_{outputs[0]}"),
            chunk(4, operator),
            *(chunk(5, attribute(name, value)) for name, value in attributes.items()),
            chunk(7, domain),
        ]
    )


def tensor(name: str, value: "np.ndarray[Any, Any]", *, external: bool = False) -> bytes:
    """Encode a TensorProto; an external one carries its shape and leaves the data to the session's options."""
    header = b"".join(integer(1, size) for size in value.shape) + integer(2, element_type(value.dtype)) + chunk(8, name)
    if not external:
        return header + chunk(9, value.tobytes())
    location = chunk(1, "location") + chunk(2, "memory")
    return header + chunk(13, location) + integer(14, _EXTERNAL)


def value_info(name: str, dtype: "np.dtype[Any]", shape: Sequence[int | str]) -> bytes:
    """Encode a ValueInfoProto; a named dimension is a free one."""
    dimensions = (integer(1, size) if isinstance(size, int) else chunk(2, size) for size in shape)
    shape_proto = b"".join(chunk(1, dimension) for dimension in dimensions)
    return chunk(1, name) + chunk(2, chunk(1, integer(1, element_type(dtype)) + chunk(2, shape_proto)))


def model(
    name: str, nodes: Sequence[bytes], tensors: Sequence[bytes], inputs: Sequence[bytes], outputs: Sequence[bytes]
) -> bytes:
    """Encode a ModelProto over the standard operators and onnxruntime's own."""
    graph = b"".join(
        [
            *(chunk(1, item) for item in nodes),
            chunk(2, name),
            *(chunk(5, item) for item in tensors),
            *(chunk(11, item) for item in inputs),
            *(chunk(12, item) for item in outputs),
        ]
    )
    opsets = chunk(8, chunk(1, "") + integer(2, _OPSET)) + chunk(8, chunk(1, "com.microsoft") + integer(2, 1))
    return integer(1, _IR_VERSION) + chunk(7, graph) + opsets
