"""Analysis to predicted forms, blockers, findings and the verdict."""

from tracelens.advice.advise import advise

__all__ = ["advise"]
