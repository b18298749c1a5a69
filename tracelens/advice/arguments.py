"""Arguments of events that a trace gives as JSON text: shapes, element types, grids."""

from __future__ import annotations

import re
from collections.abc import Callable
from math import prod
from typing import Any, Final, TypeAlias, cast

import numpy as np
import orjson

from tracelens.model.events import ABSENT, Floats, Int64s, Trace

Json: TypeAlias = Any
"""A parsed argument of a trace event."""
BYTES: Final = {"double": 8, "long int": 8, "long": 8, "c10::complex<float>": 8, "float": 4, "int": 4}
ONE_BYTE: Final = ("bool", "unsigned char", "signed char")
LARGEST: Final = 2**63
"""Products from here on overflow int64."""
_NUMBER: Final = re.compile(r"(?<![-0-9])-?[0-9]{1,18}(?![0-9])")
HALF: Final = re.compile(r"half|bfloat|short", re.IGNORECASE)


def parsed(trace: Trace, text: int) -> list[Json]:
    """The list behind a text argument, by its index in Trace.names; [] for none and for what is no list."""
    try:
        value: Json = orjson.loads(trace.names[text]) if text != ABSENT else []
    except ValueError:
        return []
    return cast("list[Json]", value) if isinstance(value, list) else []


def tensors(shape: Json) -> list[list[int]]:
    """Dimensions of the tensors of one argument: one, or those of a list; scalars and oddities are none."""
    found: list[list[int]] = []
    waiting = [shape]
    while waiting:
        given = cast("list[Json]", entry) if isinstance(entry := waiting.pop(), list) else []
        if all(isinstance(dim, int) and dim >= 0 for dim in given):
            found += [cast("list[int]", given)] if given else []
        else:
            waiting += reversed(given)
    return found


def factors(shapes: list[Json]) -> tuple[list[int], list[int]] | None:
    """Dimensions of both factors of a matrix product, batches first: the last two tensors, as a bias comes before them;
    None where these are no such."""
    matrices = [dims for shape in shapes for dims in tensors(shape) if len(dims) >= 2]
    if len(matrices) < 2 or matrices[-2][-1] != matrices[-1][-2]:
        return None
    return matrices[-2], matrices[-1]


def whole_numbers(text: Json) -> list[int]:
    """The whole numbers in a text such as "[0, -1]", as Concrete Inputs give lists; what int64 may not hold is none."""
    return [int(number) for number in _NUMBER.findall(text)] if isinstance(text, str) else []


def width(dtypes: list[Json], at: int) -> int:
    """Bytes of an element of the argument at a position; float32 where the type is not given."""
    dtype = str(dtypes[at]) if at < len(dtypes) else "float"
    if HALF.search(dtype):
        return 2
    return BYTES.get(dtype, 1 if dtype in ONE_BYTE else 4)


def product(numbers: list[Json]) -> int:
    """Of a list of numbers; ABSENT when it is empty, holds anything else or overflows int64."""
    whole = [number for number in numbers if isinstance(number, int)]
    found = prod(whole) if whole and len(whole) == len(numbers) else ABSENT
    return found if abs(found) < LARGEST else ABSENT


def read_arguments(
    trace: Trace, operator: Int64s, keys: tuple[str, str], read: Callable[[list[Json], list[Json]], tuple[float, ...]]
) -> Floats:
    """`read` of two JSON arguments of each operator, called once per distinct pair; [] stands for a missing one."""
    first, second = (texts(trace, key, operator) for key in keys)
    return read_pairs(trace, first, second, read)


def read_pairs(
    trace: Trace, first: Int64s, second: Int64s, read: Callable[[list[Json], list[Json]], tuple[float, ...]]
) -> Floats:
    """The same of pairs of texts, by their index in Trace.names."""
    width = len(trace.names) + 1
    distinct, inverse = np.unique((first + 1) * width + second + 1, return_inverse=True)
    pairs = zip(distinct // width - 1, distinct % width - 1, strict=True)
    values = [[min(value, LARGEST) for value in read(*(parsed(trace, int(text)) for text in pair))] for pair in pairs]
    return np.array(values, dtype=np.float64).reshape(len(distinct), -1)[inverse]


def texts(trace: Trace, key: str, operator: Int64s) -> Int64s:
    """An argument of each operator by its index in Trace.names; ABSENT for none."""
    column = trace.args.get(key)
    if column is None:
        return np.full(len(operator), ABSENT, dtype=np.int64)
    return np.where(operator == ABSENT, ABSENT, column.at(operator)).astype(np.int64)
