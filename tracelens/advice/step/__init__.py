"""The representative step: its device work, what waits for what, what stands outside of it, and how steps differ.

May import no other room."""
