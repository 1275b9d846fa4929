"""In which numbers the model computes."""

from typing import Literal

Precision = Literal["fp32", "int8"]
