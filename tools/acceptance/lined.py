"""A caller behind a line of the emulator: host x reaches the others through `LineCommand` on host a, and in no other way."""

import itertools
import os
import signal
import time

from lab import ADDRESS, BIN, PORT, Lab, sh

INNER, OUTER, LINE_PORT = "10.78.0.1", "10.78.0.254", 7500


class LinedLab(Lab):
    """Several may stand at one time."""

    numbers = itertools.count()

    def __init__(self):
        super().__init__()
        self.prefix += f"n{next(LinedLab.numbers)}"

    def __enter__(self):
        super().__enter__()
        far, near = self.ns("a"), self.ns("x")
        sh("ip", "netns", "add", near)
        sh(
            "ip",
            "-n",
            far,
            "link",
            "add",
            "inner",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            near,
        )
        for ns, device, address in [(far, "inner", OUTER), (near, "eth0", INNER)]:
            sh("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", device)
            sh("ip", "-n", ns, "link", "set", device, "up")
        sh("ip", "-n", near, "link", "set", "lo", "up")
        return self

    def __exit__(self, *exception):
        super().__exit__(*exception)
        sh("ip", "netns", "del", self.ns("x"), check=False)

    def line(self, words, seed=1):
        """The emulator; its course begins at SIGUSR1, its journal is `line.log`."""
        program = self.run(
            "a",
            f"{BIN}/LineCommand",
            "--forward",
            f"{OUTER}:{LINE_PORT}={ADDRESS['r']}:{PORT}",
            "--at-signal",
            "--log",
            self.path("line.log"),
            "--seed",
            str(seed),
            *words,
            name="line",
        )
        program.wait_line(lambda line: line.get("type") == "listening", 5)
        return program

    def caller(self, *words, name="alice"):
        return self.peer("x", "call", "bob", *words, rendezvous=f"{OUTER}:{LINE_PORT}", name=name)

    def begin(self, line, caller):
        """Both are connected: the course begins; gives the wall clock of that moment."""
        caller.wait_event("connected")
        line.signal(signal.SIGUSR1)
        return time.time()

    def end(self, line, caller, callee):
        """Hangs up; gives both summaries and how late the line has ever been, in milliseconds."""
        caller.signal(signal.SIGINT)
        caller.wait(10), callee.wait(10)
        line.signal(signal.SIGINT)
        line.wait(5)
        counts = next(found for found in line.lines() if found.get("type") == "counts")
        return caller.summary(), callee.summary(), counts["lateMaxMicroseconds"] / 1000


def ensure_possible():
    """A sentence where this host cannot do it; otherwise nothing."""
    if os.geteuid() != 0 or sh("unshare", "-n", "true", check=False).returncode != 0:
        return "network namespaces are not permitted here"
    missing = [
        name
        for name in ("earshot", "earshot-rendezvous", "LineCommand")
        if not os.path.exists(f"{BIN}/{name}")
    ]
    return (
        f"{', '.join(missing)} not in {BIN}: build first, or set EARSHOT_BIN" if missing else None
    )
