"""What members say, a number each: the step before texts are numbered."""

from __future__ import annotations

import numpy as np

from tracelens.loading.digits import Numbers, read_integers, read_thousandths
from tracelens.loading.fields import Kind
from tracelens.loading.framing import QUOTE
from tracelens.loading.members import Members
from tracelens.loading.words import Text, span_hash


def raw_values(text: Text, members: Members) -> Numbers:
    """Integers as they are, floats as thousandths, of strings the hash of what is between their quotes, and of other
    values of kind TEXT that of the value and what lies between it and the next."""
    raw = Numbers(np.zeros(len(members), dtype=np.int64), np.ones(len(members), dtype=np.bool_))
    for kind, read in ((Kind.INTEGER, read_integers), (Kind.FLOAT, read_thousandths)):
        numbers = members.of_kind(kind)
        found = read(text, members.value[numbers], members.first[numbers])
        raw.values[numbers], raw.sound[numbers] = found.values, found.sound
    quoted = members.first == QUOTE
    hashed = quoted.copy()
    hashed[members.of_kind(Kind.TEXT)] = True
    texts = np.flatnonzero(hashed)
    start = members.value[texts] + quoted[texts]
    raw.values[texts] = span_hash(text, start, members.text_end[texts] - start).view(np.int64)
    return raw
