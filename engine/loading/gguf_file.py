"""The GGUF container: metadata and the directory of tensors, read without touching the tensors' data.

Written from the format's specification (https://github.com/ggml-org/ggml/blob/master/docs/gguf.md), because reading
every metadata array element by element, as the `gguf` package does, takes seconds at each start.
"""

from __future__ import annotations

import mmap
import struct
from array import array
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final, TypeVar

from ..errors import ModelError

MAGIC: Final = b"GGUF"
SUPPORTED_VERSIONS: Final = (2, 3)
DEFAULT_ALIGNMENT: Final = 32
MAX_DIMENSIONS: Final = 4

STRING_TYPE: Final = 8
ARRAY_TYPE: Final = 9
SCALARS: Final = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class GgufTensor:
    """Where a tensor lies. ``shape`` is in row-major order (the file lists the fastest dimension first)."""

    shape: tuple[int, ...]
    type_number: int
    start: int


class GgufFile:
    """An open GGUF file; the tensors' data stays on disk until it is asked for.

    Attributes:
        path: the file.
        metadata: its key-value pairs: numbers, strings, lists of strings, `array.array` of numbers.
        tensors: the directory of tensors, by name.

    Raises:
        ModelError: the file is not GGUF, is of an unknown version, or is cut short or damaged.

    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.metadata: dict[str, Any] = {}
        try:
            with path.open("rb") as file:
                if file.read(len(MAGIC)) != MAGIC:
                    raise ModelError(f"{path} is not a GGUF file: it does not begin with the letters GGUF")
                # A private mapping: torch wants writable buffers, and nothing written would reach the file.
                self._data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_COPY)
            self._read()
        except (struct.error, ValueError, IndexError, OverflowError, MemoryError) as error:
            raise ModelError(f"{path} is cut short or damaged ({error}); fetch or convert it again") from error
        except OSError as error:
            raise ModelError(f"{path} can't be read: {error.strerror or error}") from error

    def _read(self) -> None:
        self._position = len(MAGIC)
        version = self._scalar("I")
        if version not in SUPPORTED_VERSIONS:
            raise ModelError(f"{self.path} is GGUF version {version} (or big-endian); versions 2 and 3 can be read")
        num_tensors, num_pairs = self._scalar("Q"), self._scalar("Q")
        for _ in range(num_pairs):
            key = self._string()
            self.metadata[key] = self._value(self._scalar("I"))
        alignment = self.get("general.alignment", int) or DEFAULT_ALIGNMENT
        entries = [self._tensor_entry() for _ in range(num_tensors)]
        data_start = -(-self._position // alignment) * alignment
        self.tensors = {
            name: GgufTensor(shape, type_number, data_start + offset) for name, shape, type_number, offset in entries
        }

    def _scalar(self, code: str) -> Any:
        (value,) = struct.unpack_from("<" + code, self._data, self._position)
        self._position += struct.calcsize("<" + code)
        return value

    def _bytes(self, count: int) -> bytes:
        end = self._position + count
        if end > len(self._data):
            raise ValueError(f"{count} bytes announced at {self._position}, beyond the end at {len(self._data)}")
        chunk = self._data[self._position : end]
        self._position = end
        return chunk

    def _string(self) -> str:
        return self._bytes(self._scalar("Q")).decode("utf-8", "replace")

    def _value(self, type_number: int) -> Any:
        if type_number == STRING_TYPE:
            return self._string()
        if type_number == ARRAY_TYPE:
            return self._array()
        if type_number not in SCALARS:
            raise ValueError(f"unknown metadata type {type_number}")
        return self._scalar(SCALARS[type_number])

    def _array(self) -> Any:
        item_type, count = self._scalar("I"), self._scalar("Q")
        if count > len(self._data):
            raise ValueError(f"an array of {count} items is announced")
        if item_type == STRING_TYPE:
            return [self._string() for _ in range(count)]
        if item_type not in SCALARS:
            raise ValueError(f"an array of metadata type {item_type}")
        code = "B" if SCALARS[item_type] == "?" else SCALARS[item_type]
        values = array(code)
        values.frombytes(self._bytes(count * struct.calcsize("<" + code)))
        return values

    def _tensor_entry(self) -> tuple[str, tuple[int, ...], int, int]:
        name = self._string()
        num_dimensions = self._scalar("I")
        if num_dimensions > MAX_DIMENSIONS:
            raise ValueError(f"tensor {name} has {num_dimensions} dimensions")
        shape = tuple(reversed([self._scalar("Q") for _ in range(num_dimensions)]))
        return name, shape, self._scalar("I"), self._scalar("Q")

    def get(self, key: str, kind: type[T]) -> T | None:
        """The metadata value of ``key``, or None where the file has none.

        Raises:
            ModelError: the value is not a ``kind``.

        """
        value = self.metadata.get(key)
        if value is None or isinstance(value, kind):
            return value
        raise ModelError(f"{self.path} is damaged: {key} is a {type(value).__name__}, not a {kind.__name__}")

    def require(self, key: str, kind: type[T]) -> T:
        """The metadata value of ``key``.

        Raises:
            ModelError: there is none, or it is not a ``kind``.

        """
        value = self.get(key, kind)
        if value is None:
            raise ModelError(f"{self.path} has no {key}; convert the model again with a current converter")
        return value

    def data(self, start: int, num_bytes: int) -> memoryview:
        """Stored bytes, without a copy; fewer where the file ends."""
        return memoryview(self._data)[start : start + num_bytes]
