"""Files and texts that go from `earshot send` to `earshot receive`, over shaped lines."""

import hashlib
import os
import random
import signal
import subprocess
import time
from datetime import datetime

from lab import BIN, sh
from probes import shape
from scenarios import equal, outcome, ready, scenario, speech

#: Content, and all that goes with it on the line.
PACKET = (1100, 1100 + 10 + 9 + 16 + 28)


def content(path, count, seed=1):
    with open(path, "wb") as file:
        file.write(random.Random(seed).randbytes(count))
    return path


def digest(path):
    with open(path, "rb") as file:
        return hashlib.sha256(file.read()).hexdigest()


def introduced(lab, identity="a", to="bob", name="alice"):
    """Makes an identity known to another one, by its card."""
    own = lab.path(f"identity-{identity}")

    def earshot(*words):
        return subprocess.run(
            [f"{BIN}/earshot", *words], capture_output=True, text=True, check=True
        ).stdout

    earshot("keygen", "--identity", own)
    card = earshot("card", "--identity", own).split()[0]
    earshot("contacts", "import", card, "--as", name, "--identity", lab.path(f"identity-{to}"))


def receiver(lab, *words):
    folder = lab.path("into")
    os.makedirs(folder, exist_ok=True)
    program = lab.peer("b", "receive", "--into", folder, *words, name="bob")
    program.wait_event("registered")
    return program, folder


def named(program, name):
    return [line for line in program.lines() if line.get("name") == name]


def rate(program, skip=2):
    """Bits of content a second while it goes evenly: from so many lines after its beginning on."""
    told = named(program, "transferProgress")[skip:]
    begin, end = told[0], told[-1]
    seconds = (
        datetime.fromisoformat(end["ts"].replace("Z", "+00:00"))
        - datetime.fromisoformat(begin["ts"].replace("Z", "+00:00"))
    ).total_seconds()
    return (end["bytes"] - begin["bytes"]) * 8 / seconds


@scenario
def a_file_goes_on_where_its_sender_was_killed(lab):
    lab.rendezvous()
    introduced(lab)
    shape(lab, "a", "tbf", 8_000_000, 8_000_000)
    bob, folder = receiver(lab, "--from", "alice", "--quota", "20M")
    big = content(lab.path("big.bin"), 16_000_000)
    stranger = lab.peer("a", "send", "bob", "--file", big, identity="stranger")
    equal(stranger.wait(15), 4, f"exit code of a stranger ({stranger.describe()})")

    send = ("send", "bob", "--file", big)
    first = lab.peer("a", *send, identity="a")
    first.wait_line(lambda line: line.get("name") == "transferProgress" and line["bytes"] > 5e6, 30)
    first.signal(signal.SIGKILL)
    first.wait(5)
    equal([name for name in os.listdir(folder) if not name.startswith(".")], [], "whole files")
    second = lab.peer("a", *send, identity="a")
    summary = outcome(second, "completed", 0, 60)
    assert 4e6 < summary["resumedAt"] < 16e6, f"  went on at {summary['resumedAt']}"
    equal(os.listdir(folder), ["big.bin"], "what is there")
    equal(digest(os.path.join(folder, "big.bin")), digest(big), "the content")
    share = rate(second) * PACKET[1] / PACKET[0] / 8e6
    assert share >= 0.9, f"  {share:.3f} of the line"

    again = lab.peer("a", *send, identity="a")
    equal(again.wait(15), 4, f"exit code where the name is taken ({again.describe()})")
    more = lab.peer("a", *send, "--as", "../more.bin", identity="a")
    equal(more.wait(15), 4, f"exit code beyond the quota ({more.describe()})")
    text = lab.peer("a", "send", "bob", "--text", "Zoë says hello", identity="a")
    equal(text.wait(15), 0, f"exit code of a text ({text.describe()})")
    equal([line["text"] for line in named(bob, "transferEnded") if "text" in line][-1:],
          ["Zoë says hello"], "the text")  # fmt: skip
    bob.signal(signal.SIGINT)
    equal(bob.wait(5), 0, "exit code of receive")
    return f"{share:.2f} of 8 Mbit/s, went on at {summary['resumedAt'] / 1e6:.1f} MB"


@scenario
def a_file_outlives_a_line_that_is_cut(lab):
    lab.rendezvous()
    introduced(lab)
    shape(lab, "a", "tbf", 4_000_000, 4_000_000)
    bob, folder = receiver(lab, "--once")
    file = content(lab.path("file.bin"), 6_000_000)
    alice = lab.peer("a", "send", "bob", "--file", file, identity="a")
    alice.wait_line(lambda line: line.get("name") == "transferProgress" and line["bytes"] > 2e6, 30)
    sh("ip", "-n", lab.ns("s"), "link", "set", "pa", "down")
    time.sleep(8)
    sh("ip", "-n", lab.ns("s"), "link", "set", "pa", "up")
    summary = outcome(alice, "completed", 0, 60)
    equal(summary["attempts"], 1, "calls")
    equal(bob.wait(10), 0, f"exit code of receive --once ({bob.describe()})")
    equal(digest(os.path.join(folder, "file.bin")), digest(file), "the content")
    return f"{summary['durationMs'] / 1000:.1f} s for 6 MB at 4 Mbit/s, 8 s of them without a line"


@scenario
def sound_does_not_suffer_from_a_file(lab):
    lab.rendezvous()
    introduced(lab)
    shape(lab, "a", "tbf", 2_000_000, 2_000_000)
    bob, folder = receiver(lab)
    answer = ready(lab, "--calls", "1", name="carol")
    speech(lab.path("talk.wav"), 25)
    call = lab.peer("a", "call", "carol", "--play", lab.path("talk.wav"), identity="caller")
    call.wait_event("connected")
    file = content(lab.path("file.bin"), 8_000_000)
    alice = lab.peer("a", "send", "bob", "--file", file, identity="a")
    outcome(call, "completed", 0, 60)
    summary = answer.summary() if answer.wait(10) == 0 else {}
    heard = summary["audio"]["received"]
    assert heard["concealedFraction"] <= 0.02, f"  made up {heard['concealedFraction']:.3f}"
    assert heard["jitterBufferDelayMs"]["p95"] <= 120, f"  {heard['jitterBufferDelayMs']}"
    outcome(alice, "completed", 0, 60)
    equal(digest(os.path.join(folder, "file.bin")), digest(file), "the content")
    bits = rate(alice) * PACKET[1] / PACKET[0]
    return (
        f"made up {heard['concealedFraction']:.3f}, buffer {heard['jitterBufferDelayMs']['p95']:.0f} ms "
        f"(95 %); the file had {bits / 2e6:.2f} of the line"
    )
