"""The device: how fast and when it runs the step's work, and the facts of a step that every form is predicted from.

May import the operators and what they may."""
