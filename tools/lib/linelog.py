"""Figures of a line from its journal (Tests/LinkModel/LineJournal.swift), whether the emulator wrote it or the simulation;
defined as those of tools/congestion-report are."""

import bisect

HALF = 500_000_000
SETTLING = 10.0
OPPORTUNITY_BITS = 1500 * 8


class Capacity:
    """What the line could carry: steps [(seconds, bit/s), ...], or a Mahimahi trace from second 0 on."""

    def __init__(self, steps=None, trace=None):
        self.steps, self.trace = steps, trace

    def bits(self, start, end):
        if self.trace:
            return (self.opportunities(end) - self.opportunities(start)) * OPPORTUNITY_BITS
        ends = [at for at, _ in self.steps[1:]] + [float("inf")]
        return sum(
            max(0, min(until, end) - max(at, start)) * rate
            for (at, rate), until in zip(self.steps, ends)
        )

    def opportunities(self, seconds):
        period = max(1, self.trace[-1])
        rounds, rest = divmod(int(seconds * 1000), period)
        return rounds * len(self.trace) + bisect.bisect_right(self.trace, rest)


class LineLog:
    """One direction of a journal; times in seconds from zero. `kind` is "udp", "tcp" or "other" of a line that carries
    several, and all of them without it."""

    def __init__(self, path, direction="up", kind=None):
        self.entries, self.dropped, self.lost, self.offered = [], 0, 0, 0
        zero = None
        with open(path) as file:
            for text in file:
                fields = text.rstrip("\n").split(",")
                if fields[0] == "zero":
                    zero = int(fields[1])
                elif zero is None or len(fields) not in (6, 7) or fields[1] != direction:
                    continue
                elif kind is None or fields[6:] == [kind]:
                    self.note(fields, zero)
        self.entries.sort()
        self.departures = [entry[0] for entry in self.entries]
        self.sums = [0.0]
        for entry in self.entries:
            self.sums.append(self.sums[-1] + entry[1] * 8)

    def note(self, fields, zero):
        self.offered += 1
        if fields[5] == "full":
            self.dropped += 1
        elif fields[4]:
            self.lost += fields[5] == "lost"
            self.entries.append(
                ((int(fields[4]) - zero) / 1e9, int(fields[2]), int(fields[3]) / 1e6)
            )

    def carried(self, start, end):
        """Bits that left the queue."""
        return (
            self.sums[bisect.bisect_right(self.departures, end)]
            - self.sums[bisect.bisect_right(self.departures, start)]
        )

    def waits(self, start, end):
        """Sorted, in milliseconds."""
        first, last = (
            bisect.bisect_left(self.departures, start),
            bisect.bisect_left(self.departures, end),
        )
        return sorted(entry[2] for entry in self.entries[first:last])

    def rise(self, capacity, start, end, share=0.9):
        """Seconds until half a second carries `share` of its capacity; None for never."""
        at = start + 0.5
        while at <= end:
            if self.carried(at - 0.5, at) >= share * capacity.bits(at - 0.5, at) > 0:
                return at - start
            at += 0.05
        return None

    def drain(self, start, end, below=20):
        """Seconds until 300 ms pass with every wait below so many ms; None for never."""
        clear = start
        for departure, _, wait in self.entries:
            if departure < start or departure >= end or wait <= below:
                continue
            if departure > clear + 0.3:
                return clear - start
            clear = departure
        return clear - start if end >= clear + 0.3 else None

    def figures(self, capacity, seconds):
        settled = min(SETTLING, seconds / 2)
        waits = self.waits(0, seconds)
        carried = self.carried(settled, seconds)
        return {
            "rate": carried / (seconds - settled),
            "utilisation": carried / capacity.bits(settled, seconds),
            "wait50": percentile(waits, 0.5),
            "wait95": percentile(waits, 0.95),
            "drops": self.dropped / max(1, self.offered),
            "lost": self.lost / max(1, self.offered),
        }


def payload_share(counted, capacity, seconds):
    """What part of the link carried bytes that one end counts, [(seconds, bytes so far), ...], once it is settled; None for
    too few of them."""
    settled = [entry for entry in counted if min(SETTLING, seconds / 2) <= entry[0] <= seconds]
    if len(settled) < 2:
        return None
    (start, before), (end, after) = settled[0], settled[-1]
    return (after - before) * 8 / capacity.bits(start, end)


def percentile(values, share):
    """Of sorted values, between the two that are nearest."""
    if not values:
        return 0.0
    place = share * (len(values) - 1)
    index = int(place)
    if index + 1 >= len(values):
        return values[-1]
    return values[index] + (values[index + 1] - values[index]) * (place - index)
