"""Predictions beside measurements: keeps what was measured of the workloads, and writes the table of both."""
