"""The version of the distribution torch-tracelens."""

__version__ = "0.1.0"
