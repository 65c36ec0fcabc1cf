"""Is what programs made for the site still what they make: pictures of methods, outputs of notebooks?

`build.py` starts it beside Sphinx, so that no core waits for the other.
"""

from __future__ import annotations

import sys

import notebooks
import pictures


def main() -> None:
    old = [f"pictures/{name}" for name in pictures.stale()] + notebooks.stale()
    if old:
        sys.exit(f"not what the program makes: {'; '.join(old)}. ./run docs --write makes them anew")


if __name__ == "__main__":
    main()
