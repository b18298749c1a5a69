"""What a window holds, as tables with the columns of the report document; times in ns."""

from tracelens.analysis.tables.gaps import gap_table
from tracelens.analysis.tables.kernels import kernel_table
from tracelens.analysis.tables.launches import launch_table
from tracelens.analysis.tables.operators import operator_table
from tracelens.analysis.tables.syncs import sync_table

__all__ = ["gap_table", "kernel_table", "launch_table", "operator_table", "sync_table"]
