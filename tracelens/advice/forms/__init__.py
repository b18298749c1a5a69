"""The four forms of the step, predicted or measured, and which to use by their times alone.

May import the compiler, the blockers and what they may."""
