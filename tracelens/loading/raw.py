"""What members say, a number each: the step before texts are numbered."""

from __future__ import annotations

import numpy as np

from tracelens.loading.digits import Numbers, read_integers, read_thousandths
from tracelens.loading.fields import Kind
from tracelens.loading.framing import QUOTE
from tracelens.loading.members import Members
from tracelens.loading.words import Text, span_hash


def raw_values(text: Text, members: Members) -> Numbers:
    """Integers as they are, floats as thousandths, and of kind TEXT the hash of what is between the quotes, or of the
    value and what lies between it and the next."""
    raw = Numbers(np.zeros(len(members), dtype=np.int64), np.ones(len(members), dtype=np.bool_))
    texts = members.of_kind(Kind.TEXT)
    start = members.value[texts] + (members.first[texts] == QUOTE)
    raw.values[texts] = span_hash(text, start, members.text_end[texts] - start).view(np.int64)
    for kind, read in ((Kind.INTEGER, read_integers), (Kind.FLOAT, read_thousandths)):
        numbers = members.of_kind(kind)
        found = read(text, members.value[numbers], members.first[numbers])
        raw.values[numbers], raw.sound[numbers] = found.values, found.sound
    return raw
