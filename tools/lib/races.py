#!/usr/bin/env python3
"""Reports of ThreadSanitizer, without those that only miss a lock.

usage: races.py FILE...

Synchronization.Mutex locks by system calls of its own, which ThreadSanitizer does not see. Its
critical sections are closures of one type, `(inout sending Value) -> sending Result`, whose name
has YuYTXE. A report is dropped if both of its accesses are in such a closure. What is handed over
by Reactor's `Guarded` or by the event loop needs no rule: these tell ThreadSanitizer of their locks.

A report is dropped as well if one access is in such a closure, and the other reads a copy of a
DelayHistogram: its array is one block for both until the copy is given back, and the writer looks
at the count of references first, which ThreadSanitizer does not see either.

Prints the others, short, and last `N reports, N kept`; exit 1 if one was kept.
"""

import re
import sys

SECTION = "YuYTXE"
ACCESS = re.compile(r"\b(access of Swift variable|(write|read) of size \d+)", re.IGNORECASE)


def stacks(report):
    """The accesses of a report: the head line of each and its frames."""
    found = []
    for line in report.splitlines():
        if ACCESS.search(line):
            found.append((line.strip(), []))
        elif not line.strip() and len(found) == 2:
            break
        elif found and line.strip().startswith("#"):
            found[-1][1].append(re.sub(r" \(.*", "", line.strip()))
    return found[:2]


def is_copy(accesses):
    """Whether one side writes under a lock, and the other reads what it has a reference to."""
    for one, other in (accesses, accesses[::-1]):
        if any(SECTION in frame for frame in one[1]) and any(
            "DelayHistogram" in frame for frame in other[1][:6]
        ):
            return "read" in other[0].lower()
    return False


def main():
    """Reads the files and prints what is left."""
    count = kept = 0
    for path in sys.argv[1:]:
        with open(path, errors="replace") as file:
            text = file.read()
        for report in text.split("==================\n"):
            if "WARNING: ThreadSanitizer" not in report:
                continue
            count += 1
            accesses = stacks(report)
            if len(accesses) == 2 and all(
                any(SECTION in frame for frame in frames) for _, frames in accesses
            ):
                continue
            if len(accesses) == 2 and is_copy(accesses):
                continue
            kept += 1
            for head, frames in accesses:
                print(head, *frames[:6], sep="\n    ")
    print(f"{count} reports, {kept} kept")
    sys.exit(1 if kept else 0)


if __name__ == "__main__":
    main()
