"""What in the trace prevents a form, or may: with its place, count and repair, and the pieces it leaves of the step.

May import the step."""
