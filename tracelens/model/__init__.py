"""The trace as columns, intervals, windows and units: no I/O, no judgement."""
