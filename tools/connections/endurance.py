"""One long call between two port-restricted translators, in which a public address changes every few minutes."""

import os
import threading
import time
from array import array

from tables import hum
from town import Town

STEP = 480  # samples, 10 ms at 48 kHz
LOUD = 600  # of the 6000 that `hum` has
MISSING = 0.002  # of the sound, at most
GROWTH = 2 << 20  # bytes that a program may have more at the end than after the first tenth


class Listener(threading.Thread):
    """Reads a WAV of 16-bit samples from a pipe and counts the steps in which nothing was heard."""

    def __init__(self, path):
        super().__init__(daemon=True)
        os.mkfifo(path)
        self.path, self.steps, self.silent, self.longest = path, 0, 0, 0

    def run(self):
        current = 0
        with open(self.path, "rb") as pipe:
            pipe.read(44)  # the header
            while len(part := pipe.read(2 * STEP)) == 2 * STEP:
                self.steps += 1
                is_silent = max(map(abs, array("h", part))) <= LOUD
                current = current + 1 if is_silent else 0
                self.silent += is_silent
                self.longest = max(self.longest, current)


class Use:
    """What a process holds: resident bytes and open files."""

    def __init__(self, pid):
        self.pid, self.seen = pid, []

    def look(self):
        try:
            with open(f"/proc/{self.pid}/statm") as file:
                resident = 4096 * int(file.read().split()[1])
            self.seen.append((resident, len(os.listdir(f"/proc/{self.pid}/fd"))))
        except OSError:
            pass

    def after(self, share):
        """The least memory in the tenth that begins after this share of the time, and the files."""
        first = int(share * len(self.seen))
        part = self.seen[first : first + max(1, len(self.seen) // 10)]
        return min(part)[0], part[-1][1]


def endurance(minutes, every):
    """Moves host a, host b, both, … every so many minutes."""
    with Town("port", "port") as town:
        service = town.server()
        sound = town.path("hum.wav")
        hum(sound, 60)
        ears = {host: Listener(town.path(f"{host}.wav")) for host in "ab"}
        for ear in ears.values():
            ear.start()
        words = ["--play", sound, "--loop", "--save"]
        bob = town.peer(
            "b", "answer", "--accept", "--calls", "1", *words, ears["b"].path, name="bob"
        )
        bob.wait_line(lambda line: line.get("name") == "registered", 12)
        alice = town.peer(
            "a",
            "call",
            "bob",
            "--duration",
            str(60 * minutes),
            *words,
            ears["a"].path,
            name="alice",
        )
        alice.wait_event("connected")
        began, moves = time.monotonic(), 0
        uses = {
            "caller": Use(alice.process.pid),
            "callee": Use(bob.process.pid),
            "rendezvous": Use(service.process.pid),
        }
        while time.monotonic() - began < 60 * minutes - 5 and alice.process.poll() is None:
            time.sleep(5)
            for use in uses.values():
                use.look()
            if time.monotonic() - began > 60 * every * (moves + 1):
                for host in ("a", "b", "ab")[moves % 3]:
                    town.move(host)
                moves += 1
        alice.process.wait(60)
        bob.process.wait(30)
        ends = [program.summary()["outcome"] for program in (alice, bob)]
        return table(minutes, moves, ends, ears, uses)


def table(minutes, moves, ends, ears, uses):
    rows = [["length", f"{minutes} min, {moves} moves", "completed"]]
    wrong = [] if ends == ["completed"] * 2 else [f"ended {ends}"]
    for name, host in (("caller", "a"), ("callee", "b")):
        ear = ears[host]
        share = ear.silent / max(1, ear.steps)
        rows.append(
            [
                f"silent at the {name}",
                f"{100 * share:.3f} % of {ear.steps / 100:.0f} s, at most "
                f"{10 * ear.longest} ms at once",
                f"≤ {100 * MISSING} %",
            ]
        )
        if share > MISSING or ear.steps < 5900 * minutes:
            wrong.append(f"{name}: {rows[-1][1]}")
    for name, use in uses.items():
        (early, files), (late, more) = use.after(0.1), use.after(0.9)
        rows.append(
            [
                f"memory of the {name}",
                f"{early / 2**20:.1f} MiB after a tenth, {late / 2**20:.1f} MiB at the "
                f"end; {files} and {more} files",
                f"at most {GROWTH >> 20} MiB more, no more files",
            ]
        )
        if late - early > GROWTH or more > files:
            wrong.append(f"{name}: {rows[-1][1]}")
    return ["what", "measured", "goal"], rows, wrong
