"""A call of two that a third is brought into: real programs, heard and saved."""

import signal
import time

from channels import gaps, level, named, summary, tone
from contacts import Keyboard
from lab import ADDRESS, BIN, PORT
from scenarios import equal, scenario

# Whole periods in the 10 ms that `gaps` looks at.
HERTZ = {"alice": 400, "bob": 700, "carol": 1000}


def sounds(lab, name):
    tone(lab.path(name + "-said.wav"), HERTZ[name], 40, peak=6000)
    return "--play", lab.path(name + "-said.wav"), "--save", lab.path(name + ".wav")


def answerer(lab, host, name, *words):
    program = lab.peer(
        host, "answer", *words, *sounds(lab, name), "--calls", "1", "--no-port-mapping", name=name
    )
    program.wait_event("registered")
    return program


def caller(lab, *words):
    return lab.peer(
        "a", "call", "bob", *words, *sounds(lab, "alice"), "--no-port-mapping", name="alice"
    )


def pause(lab, ear, mouth, begin, end):
    """The longest time without somebody's tone, in ms."""
    return max(gaps(lab.path(ear + ".wav"), HERTZ[mouth], begin, end), default=0)


def hears(lab, ear, mouth, second):
    return level(lab.path(ear + ".wav"), HERTZ[mouth], second) > 3000


def leaves(program):
    program.signal(signal.SIGTERM)
    equal(program.wait(8), 0, f"exit code ({program.describe()})")


@scenario
def channel_third_comes(lab):
    """The pair's sound has no gap; all hear each other; two go on when one leaves."""
    lab.rendezvous()
    bob = answerer(lab, "b", "bob", "--accept")
    carol = answerer(lab, "b", "carol", "--accept", "--ring-for", "3")
    alice = caller(lab, "--invite", "carol", "--duration", "14")
    alice.wait_line(lambda line: line.get("name") == "inviteFinished", 12)
    equal(named(alice, "inviteFinished")[0]["outcome"], "joined", "what became of it")
    equal(alice.wait(25), 0, f"exit code ({alice.describe()})")
    time.sleep(4)
    leaves(bob)
    equal(carol.wait(15), 0, f"exit code ({carol.describe()})")
    found = [pause(lab, "alice", "bob", 1, 13), pause(lab, "bob", "alice", 1, 13)]
    equal(max(found) <= 60, True, f"the pair's longest pauses, ms ({found})")
    later = [pause(lab, "alice", "carol", 7, 13), pause(lab, "bob", "carol", 7, 16)]
    equal(max(later) <= 60, True, f"the third's longest pauses, ms ({later})")
    for mouth in ("alice", "bob"):
        equal(hears(lab, "carol", mouth, 5), True, f"carol hears {mouth}")
    equal(hears(lab, "carol", "bob", 11), True, "carol hears bob when alice has left")
    before = pause(lab, "bob", "carol", 1, 3)
    equal(before >= 1900, True, f"how long bob hears no carol who has not answered, ms ({before})")
    for program in (alice, bob, carol):
        equal(len(named(program, "userJoined")), 2, f"others in the channel ({program.label})")
        equal(summary(program)["outcome"], "completed", f"the outcome ({program.label})")
        with open(lab.path(program.label + ".out")) as file:
            equal("v4.public" in file.read(), False, f"a token in the events ({program.label})")
    return f"the pair's longest pause {max(found)} ms, the third's {max(later)} ms"


@scenario
def channel_third_refuses(lab):
    """Whoever refuses leaves the call as it was, and nobody else hears of it."""
    lab.rendezvous()
    bob = answerer(lab, "b", "bob", "--accept")
    carol = answerer(lab, "b", "carol", "--reject", "not today")
    alice = caller(lab, "--invite", "carol", "--duration", "7")
    equal(alice.wait(20), 0, f"exit code ({alice.describe()})")
    for program in (bob, carol):
        program.wait(10)
    equal(named(alice, "inviteFinished")[0]["outcome"], "rejected", "what became of it")
    for program in (alice, bob, carol):
        equal(named(program, "channelStateChanged"), [], f"channels ({program.label})")
        equal(named(program, "channelOffered"), [], f"offers ({program.label})")
    found = [pause(lab, "alice", "bob", 1, 6), pause(lab, "bob", "alice", 1, 6)]
    equal(max(found) <= 60, True, f"the longest pauses, ms ({found})")
    return f"longest pause {max(found)} ms"


@scenario
def channel_third_by_key_of_the_callee(lab):
    """The callee types a name; the caller, whom nobody can call, hears the third as well."""
    lab.rendezvous()
    carol = answerer(lab, "b", "carol", "--accept")
    keyboard = Keyboard()
    words = (
        f"{BIN}/earshot", "answer", "--name", "bob", "--json", "--no-port-mapping", "--accept",
        "--rendezvous", f"{ADDRESS['r']}:{PORT}", "--identity", lab.path("identity-bob"),
        "--calls", "1", *sounds(lab, "bob"),
    )  # fmt: skip
    bob = lab.run("b", "setsid", "-c", *words, stdin=keyboard.theirs)
    bob.wait_event("registered")
    alice = caller(lab, "--duration", "12")
    bob.wait_line(lambda line: line.get("name") == "connected", 10)
    time.sleep(2)
    keyboard.press("i")
    keyboard.press("carp\x7fol\r")
    bob.wait_line(lambda line: line.get("name") == "inviteFinished", 12)
    equal(named(bob, "inviteFinished")[0]["outcome"], "joined", "what became of it")
    equal(alice.wait(25), 0, f"exit code ({alice.describe()})")
    leaves(carol)
    equal(bob.wait(15), 0, f"exit code ({bob.describe()})")
    found = [pause(lab, "alice", "bob", 1, 11), pause(lab, "bob", "alice", 1, 11)]
    equal(max(found) <= 60, True, f"the pair's longest pauses, ms ({found})")
    for ear, mouth in (("alice", "carol"), ("bob", "carol")):
        equal(hears(lab, ear, mouth, 8), True, f"{ear} hears {mouth}")
    for mouth in ("alice", "bob"):
        equal(hears(lab, "carol", mouth, 5), True, f"carol hears {mouth}")
    return f"the pair's longest pause {max(found)} ms"
