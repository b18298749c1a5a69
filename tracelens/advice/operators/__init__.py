"""The operators of the step: what a compiler can do with each, and how big their tensors are.

May import the step."""
