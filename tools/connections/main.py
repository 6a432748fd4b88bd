"""Runs the tables of tools/connectivity (see there)."""

import sys
import time

import crowd
import endurance
import ports
import relayed
import sizes
import switches
import tables
import verdicts
from town import TRANSLATORS, missing

ALL_MOVES = [(a, b) for a in tables.MOVES for b in tables.MOVES if tables.meets(a, b)]
WHOLE = {
    "matrix": lambda: tables.matrix(TRANSLATORS),
    "moves": lambda: tables.moves(ALL_MOVES),
    "switches": lambda: switches.switches(),
    "outages": lambda: tables.outages(
        [1, 5, 10, 15, 18, 25], ["a", "b", "ab"], [("none", "none"), ("port", "port")]
    ),
    "absences": lambda: tables.absences(
        [30, 90], ABSENT + (ABSENT_RELAYED if relayed.missing() is None else [])
    ),
    "families": lambda: tables.families(list(tables.FAMILIES)),
    "ports": lambda: ports.ports(),
    "relays": lambda: relayed.relays(TRANSLATORS),
    "sizes": lambda: sizes.sizes([1472, 1300, 1200, 1199, 1000, 548], [1199, 1000, 700, 576]),
    "doctor": lambda: verdicts.verdicts(list(verdicts.KNOWN), long=True),
    "crowd": lambda: crowd.crowd(200, [0, 2, 30]),
}
ABSENT = [("none", "none"), ("port", "port")]
ABSENT_RELAYED = [("symmetric", "symmetric"), ("udpblock", "symmetric")]
# Only when asked for by name.
LONG = {"endurance": lambda: endurance.endurance(MINUTES, 5)}
MINUTES = 240
# What a table needs besides; why it cannot be made here.
NEEDS = {"ports": ports.missing, "relays": relayed.missing, "doctor": verdicts.missing}
# What a table leaves out then.
NEEDS_FOR_ALL = {"absences": relayed.missing}
QUICK = {
    "matrix": lambda: tables.matrix(["open", "symmetric"]),
    "moves": lambda: tables.moves([("port", "port")]),
    "switches": lambda: switches.switches(["interface switched", "both up, the first silent"]),
    "outages": lambda: tables.outages([18], ["ab"], [("port", "port")]),
    "absences": lambda: tables.absences([24], [("port", "port")]),
    "families": lambda: tables.families(["IPv6", "both"]),
    "ports": lambda: ports.ports([("symmetric", "symmetric")]),
    "relays": lambda: relayed.relays(["symmetric", "udpblock"]),
    "sizes": lambda: sizes.sizes([1000], [700]),
    "doctor": lambda: verdicts.verdicts(["port", "symmetric", "full, hairpin"], long=False),
    "crowd": lambda: crowd.crowd(20, [2]),
    "endurance": lambda: endurance.endurance(3, 1),
}


def markdown(head, rows):
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(
        "| " + " | ".join(str(cell).replace("|", "/") for cell in line) + " |" for line in lines
    )


def main(words):
    global MINUTES
    quick, folder, names = "--quick" in words, None, []
    rest = iter(word for word in words if word != "--quick")
    for word in rest:
        if word == "--write":
            folder = next(rest, None)
        elif word == "--minutes":
            MINUTES = int(next(rest, "0"))
        else:
            names.append(word)
    unknown = [name for name in names if name not in WHOLE | LONG]
    if unknown or (folder is None and "--write" in words) or MINUTES < 10:
        print(
            f"connectivity: {unknown or '--write'}: see tools/connectivity --help", file=sys.stderr
        )
        return 2
    reason = missing()
    if reason:
        print(f"== skipped: {reason}\n0 passed, 0 failed, 1 skipped")
        return 0
    passed = failed = skipped = 0
    for name in names or WHOLE:
        reason = NEEDS.get(name, lambda: None)()
        if reason:
            print(f"== {name} skipped: {reason}")
            skipped += 1
            continue
        began = time.monotonic()
        head, rows, wrong = (QUICK if quick else WHOLE | LONG)[name]()
        text = markdown(head, rows)
        print(f"== {name} ({time.monotonic() - began:.0f} s)\n{text}", flush=True)
        for line in wrong:
            print(f"FAIL  {name}: {line}")
        reason = NEEDS_FOR_ALL.get(name, lambda: None)()
        if reason and not quick:
            print(f"== {name}, some rows skipped: {reason}")
            skipped += 1
        cells = sum(len(row) - 1 for row in rows)
        passed, failed = passed + cells - len(wrong), failed + len(wrong)
        if folder:
            with open(f"{folder}/{name}.md", "w") as file:
                file.write(f"# {name}\n\n    tools/connectivity {name}\n\n{text}\n")
    print(f"{passed} passed, {failed} failed" + (f", {skipped} skipped" if skipped else ""))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
