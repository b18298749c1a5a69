"""What generated code spends on the functions of single elements, by the operator's name."""

from __future__ import annotations

import re
from typing import Final

import numpy as np

from tracelens.advice import constants as C
from tracelens.advice import patterns as P
from tracelens.advice.step.called import Names
from tracelens.model.events import Bools, Floats

LOG_OF_EXP_GRADIENT: Final = 0.8e-3
"""ns per element of the gradient of the logarithm of an exponential beside one: the time of two exponentials.
[torch._decomp: a quotient of exponentials]"""
ROOT: Final = 0.38e-3
"""ns per element of a root. [FUNCTIONS]"""
FUNCTIONS: Final = tuple(
    (re.compile(names), ps * 1e-3)
    for names, ps in (
        (r"softmax|^exp2?$|^sqrt$", 0.38),
        (r"rsqrt", 0.25),
        (r"(?<!hard)sigmoid(?!_forward)|(?<!a)(?<!hard)tanh|^a(?:sin|cos)$|^hypot$|^remainder$|^fmod$", 0.5),
        (r"silu|^erfinv$", 0.7),
        (r"^(?:log(?:2|10|1p|it)?|expm1|sinc?|cos|tan|cosh)$|(?<!r|g)elu", 0.85),
        (r"^softplus$|^log_sigmoid_forward$|^erf$|^sinh$", 1.1),
        (r"^atan$|gelu", 1.25),
        (r"^logaddexp|gamma", 1.5),
        (r"^mish|^erfc|^asinh|^acosh|^atanh", 1.8),
        (r"^atan2$", 2.1),
        (r"dropout(?!_backward)|^(?:bernoulli|rand|uniform|normal|exponential)", 3.0),
    )
)
"""Names of functions, of which the first to be found holds, and ns per element that generated code takes for each, once
its arithmetic takes longer than its traffic. [measured: H200, kernels that Inductor made of three and of nine calls on
2^26 elements of float32. Taken for like the others of their line: softmax, celu, selu, logit, sinc, digamma, acosh,
atanh, gradients, and random numbers but uniform ones]"""


def time_of_functions(names: Names, plain: Floats, of_two: Bools) -> Floats:
    """(n) ns per element that generated code spends on each operator's function.

    plain: (n, 3), above 0 where its second argument is a small whole number or a half (1), or none at all (2).
    of_two: (n) whether it takes a second tensor beside the largest."""
    power = names.match(P.POWER) & (plain[:, 1] == 0)
    rules = (
        (power & (plain[:, 2] > 0), C.POWER_FUNCTION),
        (power, C.BROKEN_POWER),
        (names.match(P.RECIPROCAL) & (of_two | ~names.match(P.DIVISION)), C.QUOTIENT),
        (names.match(P.LOG_OF_EXP_BACKWARD), LOG_OF_EXP_GRADIENT),
        *((names.match(function), took) for function, took in FUNCTIONS),
    )
    return np.select([mask for mask, _ in rules], [took for _, took in rules], C.PLAIN_OPERATOR)
