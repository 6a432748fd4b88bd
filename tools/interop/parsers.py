"""The same packets, whole and mutated, for two parsers of frames: ours here and the library's.

usage: parsers.py PROGRAM [--packets N] [--seed N]      (tools/interop/run calls it)

PROGRAM is NoiseInterop. A packet is one to three frames of every kind, most of them flipped, cut or
longer (mutations.py). Both parsers must say the same of each.
"""

import argparse
import random
import subprocess
import sys

from mutations import make

BATCH = 2000


def verdicts(process, packets):
    """What the library says of each packet: true where it reads all of it."""
    lines = "".join(f"frames {packet.hex() or '-'}\n" for packet in packets)
    process.stdin.write(lines)
    process.stdin.flush()
    found = []
    for _ in packets:
        answer = process.stdout.readline().strip()
        if answer not in ("ok taken", "ok refused"):
            raise ValueError(f"the program says {answer!r}")
        found.append(answer == "ok taken")
    return found


def main():
    """Compares so many packets."""
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--packets", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    process = subprocess.Popen(
        [options.program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    invalid = failed = done = 0
    while done < options.packets:
        cases = [make(chance, 0.6, ()) for _ in range(min(BATCH, options.packets - done))]
        for case, is_taken in zip(cases, verdicts(process, [case.data for case in cases])):
            invalid += not case.is_valid
            if case.is_valid != is_taken:
                failed += 1
                if failed <= 20:
                    print(
                        f"FAIL  seed {options.seed}, {case.what}: the library "
                        f"{'takes' if is_taken else 'refuses'} it: {case.data.hex()}"
                    )
        done += len(cases)
    process.stdin.close()
    process.wait()
    print(f"{done} packets, {invalid} of them invalid: {failed} verdicts differ")
    print(f"{done - failed} passed, {failed} failed")
    sys.exit(1 if failed or not done else 0)


if __name__ == "__main__":
    main()
