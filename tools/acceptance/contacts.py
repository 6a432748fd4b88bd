"""Whoever has no name is known by the ID, from the first call that a person accepts."""

import json
import os
import pty

from lab import ADDRESS, BIN, PORT, sh
from scenarios import equal, outcome, ready, scenario


def contacts(lab, *words):
    done = sh(
        f"{BIN}/earshot", "contacts", *words, "--identity", lab.path("identity-dan"), "--json"
    )
    return [json.loads(line) for line in done.stdout.splitlines()]


class Keyboard:
    """A terminal on which somebody presses keys."""

    def __init__(self):
        self.ours, self.theirs = pty.openpty()

    def press(self, key):
        os.write(self.ours, key.encode())


class Dan:
    """Answers at a terminal."""

    def __init__(self, lab):
        self.lab, self.keyboard = lab, Keyboard()
        words = (
            f"{BIN}/earshot", "answer", "--name", "dan", "--json", "--no-port-mapping",
            "--rendezvous", f"{ADDRESS['r']}:{PORT}", "--identity", lab.path("identity-dan"),
        )  # fmt: skip
        # Keys are read from the terminal that a program has to itself.
        self.program = lab.run("b", "setsid", "-c", *words, stdin=self.keyboard.theirs)
        self.program.wait_event("registered")
        self.rings = 0

    def pins(self):
        with open(self.lab.path("identity-dan.known-peers"), "rb") as file:
            return file.read()

    def events(self, name):
        return [line for line in self.program.lines() if line.get("name") == name]

    def ends(self):
        return [line for line in self.program.lines() if line.get("type") == "summary"]

    def next_call(self, *keys):
        """Somebody without a name calls; a `c` is pressed when there is a short code."""
        caller = self.lab.peer("a", "call", "dan", "--duration", "3", identity="nw")
        self.rings += 1
        codes = len(self.events("shortCode"))
        self.program.wait_line(lambda _: len(self.events("incomingCall")) == self.rings, 10)
        for key in keys:
            if key == "c":
                self.program.wait_line(lambda _: len(self.events("shortCode")) > codes, 10)
            self.keyboard.press(key)
        accepted = "y" in keys
        outcome(caller, "completed" if accepted else "rejected", 0 if accepted else 4, 20)
        self.program.wait_line(lambda _: len(self.ends()) == self.rings, 10)
        return self.events("incomingCall")[-1]["peer"]


@scenario
def a_caller_without_a_name_is_known_by_its_id(lab):
    lab.rendezvous()
    dan = Dan(lab)
    dan.program.wait_line(lambda _: os.path.exists(lab.path("identity-dan.known-peers")), 5)
    before = dan.pins()
    first = dan.next_call("n")
    equal((first["trust"], first.get("name")), ("new", None), "a stranger")
    equal(dan.pins(), before, "the pins after a call that was refused")
    equal(dan.next_call("y")["trust"], "new", "a stranger again")
    pinned = [line for line in contacts(lab, "list") if "rendezvous" not in line]
    equal([(line["id"], line["trust"]) for line in pinned], [(first["id"], "pinned")], "the pins")
    equal(dan.next_call("y", "c")["trust"], "pinned", "whom dan talked with")
    equal(len(dan.events("peerVerified")), 1, "short codes that were confirmed")
    equal(dan.next_call("n")["trust"], "verified", "whose short code dan compared")
    contacts(lab, "rename", first["id"], "nw")
    named = dan.next_call("n")
    equal((named["trust"], named.get("name")), ("verified", "nw"), "whom dan gave a name")
    dan.keyboard.press("q")
    dan.program.wait(10)
    return f"stranger, pinned, verified, named: {first['id'][:8]}"


@scenario
def a_caller_without_a_name_may_ring_by_from(lab):
    lab.rendezvous()
    dan = Dan(lab)
    caller = dan.next_call("y")["id"]
    dan.keyboard.press("q")
    dan.program.wait(10)

    def call(who, expected, code):
        answer = ready(lab, "--from", who, name="dan")
        outcome(lab.peer("a", "call", "dan", "--duration", "2", identity="nw"), expected, code, 20)
        stranger = lab.peer("a", "call", "dan", "--duration", "2", identity="stranger")
        outcome(stranger, "rejected", 4, 20)
        answer.signal(15)
        answer.wait(10)

    call("known", "completed", 0)
    call("verified", "rejected", 4)
    contacts(lab, "verify", caller)
    call("verified", "completed", 0)
    contacts(lab, "forget", caller)
    call("known", "rejected", 4)
    call(caller, "completed", 0)
    return "known, verified, and the ID itself"
