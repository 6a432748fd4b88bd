"""What the host does to one program: faults.c, preloaded, and the memory it shares with us."""

import mmap
import os
import struct
from contextlib import contextmanager

LIBRARY = os.environ.get("EARSHOT_FAULTS_LIBRARY", "")
SEND, RECEIVE, OPEN, WALL, SLEPT, FAILED, DATAGRAMS, SENT = range(8)
BYTES = 16 * 8
STEP = 0.25  # s between two looks at what was sent


class Faults:
    """The faults of one program, and its counts. Rates are of 1000 calls."""

    def __init__(self, path):
        self.path = path
        with open(path, "wb") as file:
            file.write(bytes(BYTES))
        with open(path, "r+b") as file:
            self.memory = mmap.mmap(file.fileno(), BYTES)

    def __setitem__(self, word, value):
        struct.pack_into("<q", self.memory, 8 * word, int(value))

    def __getitem__(self, word):
        return struct.unpack_from("<q", self.memory, 8 * word)[0]

    def refuse(self, send=0, receive=0, opening=0):
        """Sets the rates; without arguments the host is well again."""
        self[SEND], self[RECEIVE], self[OPEN] = send, receive, opening

    @contextmanager
    def around(self):
        """Programs that are started inside are under these faults."""
        os.environ["LD_PRELOAD"], os.environ["EARSHOT_FAULTS"] = LIBRARY, self.path
        try:
            yield self
        finally:
            del os.environ["LD_PRELOAD"], os.environ["EARSHOT_FAULTS"]


class FaultyCall:
    """A call whose two ends, and their rendezvous, are under faults of their own."""

    made = 0

    def __init__(self, field, seconds):
        self.field = field
        FaultyCall.made += 1
        number = FaultyCall.made
        self.faults = {
            who: Faults(field.programs.path(f"faults-{who}-{number}"))
            for who in ("server", "alice", "bob")
        }
        with self.faults["server"].around():
            field.programs.start_rendezvous(data=f"faulty{number}")
        with self.faults["bob"].around():
            self.bob = field.programs.earshot(
                "answer", "--accept", identity=f"bob{number}", name="bob", bind=field.source()
            )
            field.wait(lambda: self.bob.event("registered"), 10)
        with self.faults["alice"].around():
            self.alice = field.programs.earshot(
                "call",
                "bob",
                "--duration",
                str(seconds),
                identity=f"alice{number}",
                name="alice",
                bind=field.source(),
            )
        self.is_up = field.wait(
            lambda: self.alice.event("connected") and self.bob.event("connected"), 10
        )
        self.normal = self.rates(3)

    @property
    def ends(self):
        """The two programs, by name."""
        return {"alice": self.alice, "bob": self.bob}

    def rates(self, seconds, word=DATAGRAMS):
        """Datagrams a second that each end sent, in steps of STEP: {name: [1/s]}."""
        found = {who: [] for who in self.ends}
        last = {who: self.faults[who][word] for who in self.ends}
        for _ in range(round(seconds / STEP)):
            self.field.loop.run(STEP)
            for who in self.ends:
                now = self.faults[who][word]
                found[who].append((now - last[who]) / STEP)
                last[who] = now
        return found

    def burst(self, rates):
        """The highest rate of half a second as a multiple of what was normal, of either end."""
        return max(_highest(rates[who]) / max(1, _mean(self.normal[who])) for who in rates)

    def heard(self):
        """The share of sound that was not made up, of the worse end, in 2 s that begin now."""
        before = {who: len(_inbound(end)) for who, end in self.ends.items()}
        self.field.wait(
            lambda: all(len(_inbound(end)) >= before[who] + 2 for who, end in self.ends.items()), 6
        )
        shares = []
        for who, end in self.ends.items():
            spans = _inbound(end)[before[who] : before[who] + 2]
            if len(spans) < 2:
                return 0.0
            all_of_it, made_up = (
                (spans[1][word] - spans[0][word])
                for word in ("totalSamplesReceived", "concealedSamples")
            )
            shares.append(1 - made_up / max(1, all_of_it))
        return min(shares)

    def finish(self):
        """Hangs up: whether both ends say that the call was completed."""
        self.alice.interrupt()
        self.field.wait(lambda: self.alice.exit_code is not None and self.bob.summary(), 8)
        outcomes = [end.summary().get("outcome") for end in (self.alice, self.bob)]
        return self.alice.exit_code == 0 and outcomes == ["completed", "completed"]

    def is_running(self):
        """Whether no program has ended."""
        programs = (self.alice, self.bob, self.field.programs.rendezvous)
        return all(program.exit_code is None for program in programs)


def _inbound(program):
    """What came in, as the program tells every two seconds."""
    return [line["stats"][0] for line in program.lines() if line.get("type") == "stats"]


def _mean(values):
    return sum(values) / max(1, len(values))


def _highest(values):
    return max((_mean(pair) for pair in zip(values, values[1:])), default=0)
