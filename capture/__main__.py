"""`python -m capture`: the same as `tracelens capture`."""

from __future__ import annotations

import sys

from capture.cli import main

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
