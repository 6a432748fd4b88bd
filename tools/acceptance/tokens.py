"""Access tokens: who may register, the warning, the renewal, the end, with real programs."""

import os
import signal
import time

from lab import BIN
from scenarios import equal, outcome, scenario


def token(lab, *words, code=0):
    """What earshot token prints."""
    program = lab.run("r", f"{BIN}/earshot", "token", *words)
    equal(program.wait(5), code, f"exit code of token {words[0]} ({program.describe()})")
    with open(lab.path(program.label + ".out")) as file:
        return file.read()


def identity(lab, name):
    program = lab.run(
        "r", f"{BIN}/earshot", "keygen", "--json", "--identity", lab.path(f"identity-{name}")
    )
    equal(program.wait(5), 0, f"exit code of keygen ({program.describe()})")
    return next(program.lines())["id"]


class Office:
    """A rendezvous that wants tokens, and whoever signs them."""

    def __init__(self, lab):
        self.lab = lab
        self.make_key("signing")
        self.start()

    def make_key(self, name):
        """The key that signs from now on."""
        self.key, self.public = self.lab.path(name + ".key"), self.lab.path(name + ".pub")
        token(self.lab, "new", "--key", self.key, "--public", self.public)
        equal(os.stat(self.key).st_mode & 0o777, 0o600, "mode of the signing key")
        equal(os.stat(self.public).st_mode & 0o777, 0o644, "mode of the public key")

    def start(self):
        self.program = self.lab.rendezvous(options=["--require-token", self.public])
        listening = next(line for line in self.program.lines() if line["type"] == "listening")
        self.server = listening["identity"]

    def stop(self):
        self.program.signal(signal.SIGTERM)
        equal(self.program.wait(5), 0, f"exit code ({self.program.describe()})")

    def give(self, name, life, audience=None):
        """Puts a token for somebody into a file; the file."""
        path = self.lab.path(f"token-{name}")
        text = token(
            self.lab,
            "sign",
            "--key",
            self.key,
            "--sub",
            identity(self.lab, name),
            "--aud",
            audience or self.server,
            "--expires",
            life,
        )
        with open(path + ".new", "w") as file:
            file.write(text)
        os.rename(path + ".new", path)
        return path


def count(program, name):
    return sum(line.get("name") == name for line in program.lines())


def refused(lab, code, *words):
    program = lab.peer("b", "answer", "--accept", *words, identity="bob")
    equal(program.wait(5), 7, f"exit code ({program.describe()})")
    failure = [line for line in program.lines() if line.get("name") == "registrationFailed"]
    equal([line["code"] for line in failure], [code], "events")


@scenario
def tokens_say_who_may_register(lab):
    office = Office(lab)
    refused(lab, "tokenNeeded")
    refused(
        lab, "tokenRefused", "--token", office.give("bob", "1h", audience=identity(lab, "alice"))
    )
    shown = office.give("bob", "1s")
    time.sleep(1.1)
    refused(lab, "tokenExpired", "--token", shown)
    token(lab, "show", shown, "--public", office.public, code=7)
    assert "right, by k4.pid." in token(
        lab, "show", office.give("bob", "1h"), "--public", office.public
    )

    # Less than 30 s: the warning comes at once, and another token before the end of the first.
    alice = office.give("alice", "1h")
    bob = lab.peer(
        "b", "answer", "--accept", "--token", office.give("bob", "6s"), identity="bob", name="bob"
    )
    bob.wait_event("registered")
    began = time.monotonic()
    bob.wait_event("tokenWillExpire", 2)
    call = lab.peer("a", "call", "bob", "--duration", "8", "--token", alice, identity="alice")
    call.wait_event("connected")
    office.give("bob", "11s")
    bob.wait_event("tokenRenewed", 3)
    outcome(call, "completed", 0, seconds=20)
    received = call.summary()["audio"]["received"]
    equal(received["lost"], 0, "packets lost")
    equal(
        [count(bob, name) for name in ["registered", "reconnecting", "registrationFailed"]],
        [1, 0, 0],
        "events",
    )

    # Nobody renews the second one.
    bob.wait_event("registrationFailed", 8)
    elapsed = time.monotonic() - began
    failure = [line for line in bob.lines() if line.get("name") == "registrationFailed"]
    equal([line["code"] for line in failure], ["tokenExpired"], "how the registration ended")
    missed = lab.peer("a", "call", "bob", "--token", alice, identity="alice")
    outcome(missed, "unreachable", 3)

    # With another one it is there again.
    office.give("bob", "1h")
    end = time.monotonic() + 4
    while count(bob, "tokenRenewed") < 2 and time.monotonic() < end:
        time.sleep(0.02)
    equal([count(bob, name) for name in ["tokenRenewed", "registered"]], [2, 2], "events")
    again = lab.peer("a", "call", "bob", "--duration", "1", "--token", alice, identity="alice")
    outcome(again, "completed", 0)
    return f"renewed in a call, over after {elapsed:.1f} s without a newer one, back with one"


@scenario
def tokens_of_another_key_are_taken_from_the_file(lab):
    """No warning comes before the refusal: only the file has the token that the rendezvous wants."""
    office = Office(lab)
    bob = lab.peer(
        "b", "answer", "--accept", "--token", office.give("bob", "1h"), identity="bob", name="bob"
    )
    bob.wait_event("registered")
    office.make_key("other")
    office.give("bob", "2h")
    office.stop()
    began = time.monotonic()
    office.start()
    bob.wait_event("registrationFailed", 15)
    bob.wait_event("tokenRenewed", 3)
    end = time.monotonic() + 3
    while count(bob, "registered") < 2 and time.monotonic() < end:
        time.sleep(0.02)
    elapsed = time.monotonic() - began
    equal(
        [count(bob, name) for name in ["registered", "registrationFailed", "tokenWillExpire"]],
        [2, 1, 0],
        "events",
    )
    failure = [line for line in bob.lines() if line.get("name") == "registrationFailed"]
    equal([line["code"] for line in failure], ["tokenRefused"], "why the first token was not taken")
    equal(bob.stderr().count("another key signed it"), 1, f"warnings ({bob.stderr()})")
    call = lab.peer(
        "a",
        "call",
        "bob",
        "--duration",
        "1",
        "--token",
        office.give("alice", "1h"),
        identity="alice",
    )
    outcome(call, "completed", 0)
    return f"registered again {elapsed:.1f} s after the start with another key"
