"""Trace and window to frozen results: steps, attribution, gaps, tables, trust."""
