"""Bytes to Trace: sources, Kineto decoding and repair, vocabulary, links."""

from tracelens.loading.choose import load_trace

__all__ = ["load_trace"]
