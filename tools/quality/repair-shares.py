#!/usr/bin/env python3
"""repair-shares.py: the share of frames, in per cent, that copies and parities do not bring back.

Independent losses, or runs of three (Gilbert and Elliott), by seed; needs numpy. "13" is the XOR of
the packets 1 and 3 before, a figure alone a copy; each row ends with the frames that are waited for.
The figures of docs/decisions/0017.
"""

import numpy as np

PLANS = [([], [1], 2), ([], [1, 2], 2), ([[1, 2]], [], 3), ([[1, 3]], [], 3)]
SPREAD = [
    ([], [2, 4, 7], 7),
    ([[1, 3]], [], 7),
    ([[2, 7]], [], 7),
    ([[3, 7]], [], 7),
    ([[4, 7]], [], 7),
]


def losses(count, share, burst):
    random = np.random.default_rng(1)
    if burst <= 1:
        return random.random(count) < share
    out, bad = np.zeros(count, bool), False
    for index in range(count):
        bad = random.random() >= 1 / burst if bad else random.random() < share / (1 - share) / burst
        out[index] = bad
    return out


def missing(parities, copies, wait, share, burst, count=60000):
    """Per cent of the frames that are not known `wait` packets later."""
    lost, known, open_sums, failed = losses(count, share, burst), np.zeros(count + 16, bool), [], 0
    for now in range(count):
        if not lost[now]:
            known[now] = True
            for distance in copies:
                known[max(0, now - distance)] |= now >= distance
            open_sums += [{now - distance for distance in taps} for taps in parities if now > 16]
            changed = True
            while changed:
                changed, rest = False, []
                for sum_of in open_sums:
                    unknown = {frame for frame in sum_of if not known[frame]}
                    if len(unknown) == 1:
                        known[unknown.pop()] = changed = True
                    elif unknown and min(unknown) > now - 16:
                        rest.append(unknown)
                open_sums = rest
        failed += now >= wait and not known[now - wait]
    return 100 * failed / count


for burst, shares, plans in ((1, (0.05, 0.1), PLANS), (3, (0.1,), SPREAD)):
    for share in shares:
        for parities, copies, wait in plans:
            name = ",".join(
                "".join(map(str, taps)) for taps in parities + [[copy] for copy in copies]
            )
            print(
                f"loss {share:.0%} burst {burst}  {name:6} {missing(parities, copies, wait, share, burst):.3f}  {wait}"
            )
