"""Runs a script in four forms under torch.profiler and records what each cost."""
