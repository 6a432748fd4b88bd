#!/usr/bin/env python3
"""Names each public declaration without a doc comment; exit 1 if there is one.

usage: undocumented.py FOLDER     (of the compiler's symbol graphs)
"""

import glob
import json
import os
import sys


def symbols(folder):
    """Those that stand in a source file: the compiler makes others, such as `!=`."""
    for path in sorted(glob.glob(os.path.join(folder, "*.symbols.json"))):
        with open(path, encoding="utf-8") as file:
            graph = json.load(file)
        for symbol in graph["symbols"]:
            if "::SYNTHESIZED" not in symbol["identifier"]["precise"] and "location" in symbol:
                yield symbol


def main():
    if len(sys.argv) != 2:
        print(__doc__.strip(), file=sys.stderr)
        return 2
    every = list(symbols(sys.argv[1]))
    missing = [symbol for symbol in every if not symbol.get("docComment")]
    for symbol in missing:
        place = symbol["location"]
        line = place["position"]["line"] + 1
        print(f"{place['uri']}:{line}: {'.'.join(symbol['pathComponents'])} has no doc comment")
    print(f"{len(every)} public declarations, {len(missing)} without a doc comment")
    return 1 if missing or not every else 0


if __name__ == "__main__":
    sys.exit(main())
