"""Calls that hold, files that stay: what a program outlives, and what it leaves behind."""

import os
import re
import signal
import stat
import time
import wave
from contextlib import contextmanager

from lab import ADDRESS, BIN, PORT, sh
from probes import Skip
from scenarios import equal, outcome, ready, scenario, speech

BACK = 12  # seconds in which a rendezvous that is back must have been found


@contextmanager
def small_disk(lab):
    """A folder on a disk of 200 KB."""
    disk = lab.path("disk")
    os.mkdir(disk)
    if sh("mount", "-t", "tmpfs", "-o", "size=200k", "tmpfs", disk, check=False).returncode != 0:
        raise Skip("nothing can be mounted here")
    try:
        yield disk
    finally:
        sh("umount", "-l", disk, check=False)


def warnings(program):
    """With the time of day where the program waits for days."""
    told = re.compile(r"(\d\d:\d\d:\d\d  )?earshot: warning: ")
    return [line for line in program.stderr().splitlines() if told.match(line)]


def registered(program, count, seconds):
    """Waits for the registration number `count`."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if sum(line.get("name") == "registered" for line in program.lines()) >= count:
            return
        assert program.process.poll() is None, f"  {program.label} has ended\n{program.describe()}"
        time.sleep(0.05)
    raise AssertionError(
        f"  {program.label}: no registration {count} within {seconds} s\n{program.describe()}"
    )


def told(program, outages):
    """One warning for each outage, one line for its end."""
    lines = warnings(program)
    equal(len(lines), 2 * outages, f"warnings of {program.label}: {lines}")


def talk(lab, bob):
    alice = lab.peer("a", "call", "bob", "--duration", "1")
    outcome(alice, "completed", 0, 20)


@scenario
def answer_waits_for_its_rendezvous(lab):
    bob = lab.peer("b", "answer", "--accept", "--calls", "1", name="bob")
    hasty = lab.peer("b", "answer", "--accept", "--fail-fast", name="carol")
    time.sleep(25)
    equal(bob.process.poll(), None, "end of answer without a rendezvous")
    equal(hasty.wait(1), 3, "exit code of --fail-fast")
    equal(hasty.summary()["outcome"], "unreachable", "outcome of --fail-fast")
    # The kernel of the other host sends only a few refusals a second, and both programs ask it.
    said = [
        sentence
        for sentence in ("Nothing listens at", "Nothing that can be understood answers at")
        if f"{sentence} {ADDRESS['r']}:{PORT}" in hasty.stderr()
    ]
    assert said, hasty.stderr()
    equal(len(warnings(bob)), 1, f"warnings: {warnings(bob)}")
    began = time.monotonic()
    lab.rendezvous()
    registered(bob, 1, BACK)
    back = time.monotonic() - began
    told(bob, 1)
    talk(lab, bob)
    equal(bob.wait(5), 0, "exit code of bob")
    return f"registered {back:.1f} s after the rendezvous was there"


def outage(lab, seconds):
    server = lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    server.kill()
    time.sleep(seconds)
    began = time.monotonic()
    lab.rendezvous()
    registered(bob, 2, BACK)
    back = time.monotonic() - began
    told(bob, 1)
    talk(lab, bob)
    equal(bob.wait(5), 0, "exit code of bob")
    return f"registered {back:.1f} s after {seconds} s without a rendezvous"


@scenario
def answer_outwaits_20_s(lab):
    return outage(lab, 20)


@scenario
def answer_outwaits_a_minute(lab):
    return outage(lab, 60)


@scenario
def answer_outwaits_an_outage_around_the_end_of_a_call(lab):
    server = lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "2")
    alice = lab.peer("a", "call", "bob", "--duration", "22", name="alice")
    alice.wait_event("connected")
    server.kill()
    outcome(alice, "completed", 0, 40)
    time.sleep(15)
    equal(bob.process.poll(), None, "end of answer after the call")
    began = time.monotonic()
    lab.rendezvous()
    registered(bob, 2, BACK)
    back = time.monotonic() - began
    told(bob, 1)
    assert "the call goes on" in warnings(bob)[0], warnings(bob)
    talk(lab, bob)
    equal(bob.wait(5), 0, "exit code of bob")
    return f"registered {back:.1f} s after the rendezvous was back"


@scenario
def answer_waits_for_the_name_of_its_rendezvous(lab):
    # `ip netns exec` puts these files in the place of those in /etc.
    folder = f"/etc/netns/{lab.ns('b')}"
    os.makedirs(folder)
    try:
        for name, text in (
            ("hosts", "127.0.0.1 localhost\n"),
            ("resolv.conf", "nameserver 127.0.0.1\n"),
        ):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        lab.rendezvous()
        where = f"rendezvous.test:{PORT}"
        call = lab.peer("b", "call", "carol", rendezvous=where)
        bob = lab.peer("b", "answer", "--accept", "--calls", "1", rendezvous=where, name="bob")
        equal(call.wait(5), 3, "exit code of a call")
        time.sleep(4)
        equal(bob.process.poll(), None, "end of answer without an address")
        equal(len(warnings(bob)), 1, f"warnings: {warnings(bob)}")
        with open(f"{folder}/hosts", "a") as file:
            file.write(f"{ADDRESS['r']} rendezvous.test\n")
        registered(bob, 1, 15)
        told(bob, 1)
        talk(lab, bob)
        equal(bob.wait(5), 0, "exit code of bob")
        early = lab.peer("b", "answer", "--accept", rendezvous=f"nowhere.test:{PORT}")
        time.sleep(1.5)
        early.signal(signal.SIGTERM)
        equal(early.wait(2), 130, "exit code after SIGTERM while there is no address")
    finally:
        sh("rm", "-rf", folder)


@scenario
def what_is_refused_for_good_ends_answer(lab):
    lab.rendezvous()
    ready(lab, "--accept")
    stranger = lab.peer("a", "answer", "--accept", rendezvous=f"{ADDRESS['r']}:{PORT}#" + "y" * 52)
    equal(stranger.wait(12), 7, "exit code with the wrong ID")


@scenario
def a_killed_call_leaves_what_was_heard(lab):
    lab.rendezvous()
    bob = ready(
        lab, "--accept", "--save", lab.path("heard-{n}.wav"), "--events", lab.path("events")
    )
    alice = lab.peer("a", "call", "bob", "--duration", "30", name="alice")
    alice.wait_event("connected")
    assert not os.path.exists(lab.path("heard-2.wav"))
    time.sleep(3)
    bob.kill()
    alice.kill()
    equal(
        sorted(name for name in os.listdir(lab.folder) if "heard" in name), ["heard-1.wav"], "files"
    )
    with wave.open(lab.path("heard-1.wav")) as file:
        seconds = file.getnframes() / file.getframerate()
    assert 2.5 <= seconds <= 5, f"  {seconds} s were saved"
    for name in ("heard-1.wav", "events"):
        equal(stat.S_IMODE(os.stat(lab.path(name)).st_mode), 0o600, f"mode of {name}")
    # A service that runs again goes on counting.
    again = ready(lab, "--accept", "--calls", "1", "--save", lab.path("heard-{n}.wav"))
    talk(lab, again)
    equal(again.wait(5), 0, "exit code of bob")
    assert os.path.exists(lab.path("heard-2.wav"))
    return f"{seconds:.1f} s readable after kill -9"


@scenario
def outputs_are_tried_before_anybody_may_ring(lab):
    speech(lab.path("in.wav"), 1)
    before = open(lab.path("in.wav"), "rb").read()
    os.symlink(lab.path("in.wav"), lab.path("link.wav"))
    os.link(lab.path("in.wav"), lab.path("hard.wav"))
    # Nobody listens here: a refusal that came after the wait for the rendezvous would take 10 s.
    for words, code in (
        (("--save", "in.wav"), 8),
        (("--save", "no/a.wav"), 8),
        (("--report", "in.wav"), 8),
        (("--save", "link.wav", "--overwrite", "--play", "in.wav"), 2),
        (("--save", "hard.wav", "--overwrite", "--play", "in.wav"), 2),
        (("--events", "e", "--report", "e"), 2),
        (("--pcap", "p", "--capture", "./p"), 2),
    ):
        words = [word if word.startswith("--") else lab.path(word) for word in words]
        for command in (("answer", "--accept"), ("call", "nobody")):
            program = lab.peer("a", *command, *words)
            equal(program.wait(3), code, f"exit code of {' '.join(words)}")
            assert program.stderr().count("\n") >= 2, f"  no advice: {program.stderr()}"
    equal(open(lab.path("in.wav"), "rb").read() == before, True, "the played file is as it was")


@scenario
def a_file_that_may_not_grow_ends_the_saving_not_the_call(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.run(
        "a",
        "bash",
        "-c",
        'ulimit -f 200; exec "$@"',
        "limited",
        f"{BIN}/earshot",
        "call",
        "bob",
        "--duration",
        "5",
        "--save",
        lab.path("heard.wav"),
        "--rendezvous",
        f"{ADDRESS['r']}:{PORT}",
        "--identity",
        lab.path("limited"),
        "--json",
    )
    outcome(alice, "completed", 8, 20)
    assert "ulimit -f" in alice.stderr(), alice.stderr()
    assert os.path.getsize(lab.path("heard.wav")) > 100_000
    lines = list(alice.lines())
    rest = lines[[line.get("name") for line in lines].index("fileFailed") :]
    # Said when it happened, and once.
    equal(sum(line.get("name") == "fileFailed" for line in lines), 1, "faults told")
    assert any(line.get("name") == "ended" for line in rest), f"  told at the end alone: {rest}"
    outcome(bob, "completed", 0)


@scenario
def a_service_says_at_once_that_its_disk_is_full(lab):
    with small_disk(lab) as disk:
        lab.rendezvous()
        bob = ready(lab, "--accept", "--save", os.path.join(disk, "{n}.wav"))
        for count in (1, 2):
            lab.peer("a", "call", "bob", "--duration", "4").wait(20)
            end = time.monotonic() + 5
            while sum(line.get("name") == "fileFailed" for line in bob.lines()) < count:
                assert time.monotonic() < end, f"  {list(bob.lines())[-3:]}"
                time.sleep(0.05)
        equal(bob.process.poll(), None, "the service goes on")
        told = [line for line in bob.stderr().splitlines() if " earshot: " in line]
        assert len(told) >= 2 and all(re.match(r"\d\d:\d\d:\d\d  ", line) for line in told), told


@scenario
def a_reader_that_goes_away_is_told_of_as_such(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.run(
        "a",
        "bash",
        "-c",
        '"$@" | head -n 1; exit ${PIPESTATUS[0]}',
        "piped",
        f"{BIN}/earshot",
        "call",
        "bob",
        "--duration",
        "2",
        "--rendezvous",
        f"{ADDRESS['r']}:{PORT}",
        "--identity",
        lab.path("piped"),
        "--json",
    )
    equal(alice.wait(20), 8, "exit code")
    assert "no reader" in alice.stderr() and "df -h" not in alice.stderr(), alice.stderr()
    outcome(bob, "completed", 0)
    closed = lab.run(
        "a",
        "bash",
        "-c",
        'exec "$@" >&-',
        "closed",
        f"{BIN}/earshot",
        "call",
        "nobody",
        "--json",
        "--report",
        lab.path("closed.html"),
        "--rendezvous",
        f"{ADDRESS['r']}:{PORT}",
        "--identity",
        lab.path("closed"),
    )
    equal(closed.wait(10), 3, "exit code with standard output closed")
    assert "standard output has no reader" in closed.stderr() and "df -h" not in closed.stderr(), (
        closed.stderr()
    )
    with open(lab.path("closed.html")) as file:
        assert file.read().startswith("<!DOCTYPE html>"), (
            "  the report has lines of standard output"
        )


@scenario
def a_terminal_that_closes_hangs_up(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1", "--report", lab.path("b.html"))
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--duration",
        "60",
        "--report",
        lab.path("a.html"),
        "--pcap",
        lab.path("a.pcapng"),
    )
    alice.wait_event("connected")
    time.sleep(1)
    began = time.monotonic()
    alice.signal(signal.SIGHUP), alice.signal(signal.SIGHUP)
    outcome(alice, "completed", 0, 5)
    outcome(bob, "completed", 0, 5)
    for name in ("a.html", "b.html"):
        assert os.path.getsize(lab.path(name)) > 2000, name
    waiting = ready(lab, "--accept", name="dora")
    waiting.signal(signal.SIGHUP)
    equal(waiting.wait(5), 0, "exit code of one that waits")
    return f"both ended {time.monotonic() - began:.1f} s after SIGHUP"


@scenario
def a_rendezvous_reads_who_is_allowed_again(lab):
    def made(name):
        keygen = lab.run(
            "b", f"{BIN}/earshot", "keygen", "--identity", lab.path(f"identity-{name}"), "--json"
        )
        return keygen.wait_line(lambda line: line.get("type") == "identity", 5)["id"]

    carol, bob_id = made("carol"), made("bob")
    with open(lab.path("allow"), "w") as file:
        file.write(f"carol {carol}\n")
    server = lab.run(
        "r",
        f"{BIN}/earshot-rendezvous",
        "--listen",
        f"{ADDRESS['r']}:{PORT}",
        "--data",
        lab.path("data"),
        "--allow",
        lab.path("allow"),
        "--json",
    )
    server.wait_line(lambda line: line.get("type") == "listening", 5)
    equal(
        lab.peer("b", "answer", "--accept", name="bob").wait(12),
        4,
        "exit code of one who is not listed",
    )
    with open(lab.path("allow"), "a") as file:
        file.write(f"bob {bob_id}\n")
    for number in (signal.SIGHUP, signal.SIGUSR1, signal.SIGUSR2):
        server.signal(number)
    server.wait_words("was read again", 10)
    bob = ready(lab, "--accept", "--calls", "1")
    time.sleep(1)  # the log has one line a reason and second
    with open(lab.path("allow"), "w") as file:
        file.write("not a name!\n")
    server.signal(signal.SIGHUP)
    server.wait_words("stays as it was", 10)
    server.signal(signal.SIGTERM)
    equal(server.wait(2), 0, "exit code of the rendezvous")
    bob.kill()


@scenario
def probes_by_the_identity_that_answers_cost_no_call(lab):
    """A cron job probes with the identity of the service that answers: every call is answered."""
    lab.rendezvous()
    bob = ready(lab, "--accept")
    end, probes, calls = time.monotonic() + 40, [], 0
    while time.monotonic() < end:
        if not probes or probes[-1].process.poll() is not None:
            probes.append(
                lab.peer("b", "probe", f"{ADDRESS['r']}:{PORT}", "--duration", "4", identity="bob")
            )
        calls += 1
        call = lab.peer("a", "call", "bob", "--duration", "1", identity="alice")
        outcome(call, "completed", 0, 15)
    equal(bob.process.poll(), None, f"answer still runs ({bob.describe()})")
    for program in probes[:-1]:
        # Four at once, then one every 15 s: the others are refused as busy.
        assert program.wait(10) in (0, 4), f"  a probe failed ({program.describe()})"
    return f"{calls} calls, none missed, beside {len(probes)} probes"


@scenario
def a_cron_probe_beside_an_answering_service(lab):
    """Two cron jobs with the service's identity, a program each minute and one that stays: no call is missed.

    `--seconds 3600` is the hour of Benchmarks/probe; by itself it takes 45 s, with two probes each 15 s.
    """
    lab.rendezvous()
    server = f"{ADDRESS['r']}:{PORT}"
    bob = ready(lab, "--accept")
    seconds = lab.seconds or 45
    pause, between = (60, 18) if lab.seconds else (15, 1)
    words = ["--every", f"{pause}s", "--for", f"{seconds}s", "--duration", "4"]
    staying = lab.peer("b", "probe", server, *words, identity="bob")
    began, cron, missed, connected = time.monotonic(), [], [], []
    while time.monotonic() - began < seconds:
        # Half a period after the program that stays.
        if time.monotonic() - began > (len(cron) + 0.5) * pause:
            cron.append(lab.peer("b", "probe", server, "--duration", "4", identity="bob"))
        call = lab.peer("a", "call", "bob", "--duration", "2", identity="alice")
        code = call.wait(20)
        end = call.summary()
        if code != 0 or end["outcome"] != "completed":
            at = time.monotonic() - began
            missed.append(f"after {at:.0f} s: {end['outcome']}, {end['reason']}")
        connected.append(end.get("timeline", {}).get("connectedMs", 0))
        time.sleep(between)
    equal(bob.process.poll(), None, f"answer still runs ({bob.describe()})")
    equal(missed, [], f"calls missed of {len(connected)}")
    for program in cron:
        assert program.wait(10) in (0, 4), f"  a probe failed ({program.describe()})"
    equal(staying.wait(pause + 10), 0, f"exit code ({staying.describe()})")
    found = [
        line["state"]
        for program in [staying, *cron]
        for line in program.lines()
        if line.get("type") == "probe"
    ]
    taken = len([call for call in bob.lines() if call.get("type") == "summary"])
    return (
        f"{len(connected)} calls, 0 missed, connected after {max(connected)} ms at the latest; "
        f"{len(found)} probes, {found.count('complete')} complete; bob wrote {taken} summaries"
    )


@scenario
def answer_starts_a_program_for_each_call(lab):
    """`--exec`: a start when a call rings and one when it has ended, told by the environment alone."""
    lab.rendezvous()
    told, hook = lab.path("told"), lab.path("hook")
    with open(hook, "w") as file:
        words = "$# $EARSHOT_EVENT $EARSHOT_PEER $EARSHOT_TRUST $EARSHOT_OUTCOME"
        file.write(f"#!/bin/sh\necho noise\necho {words} >> {told}\n")
    os.chmod(hook, 0o700)
    missing = lab.peer("b", "answer", "--accept", "--exec", lab.path("nothing"), name="bob")
    equal(missing.wait(5), 8, "exit code with a program that is not there")
    bob = ready(lab, "--ring-for", "3", "--calls", "2", "--exec", hook)
    first = lab.peer("a", "call", "bob", "--ring-timeout", "1", name="alice")
    outcome(first, "timeout", 5, 10)
    second = lab.peer("a", "call", "bob", "--duration", "2", name="alice")
    outcome(second, "completed", 0, 15)
    equal(bob.wait(5), 0, f"exit code ({bob.describe()})")
    end = time.monotonic() + 5
    lines = []
    while len(lines) < 4 and time.monotonic() < end:
        if os.path.exists(told):
            with open(told) as file:
                lines = file.read().splitlines()
        time.sleep(0.05)
    expected = [
        "ringing alice",
        "ended alice new timeout",
        "ringing alice",
        "ended alice new completed",
    ]
    equal(len(lines), 4, f"lines ({lines})")
    # Two programs that were started 2 s apart write in order.
    for line, wanted in zip(lines, expected):
        assert line.startswith("0 " + wanted), f"  {line!r}, not {wanted!r}"
    assert all(line.get("type") != "unparsable" for line in bob.lines()), "  noise among the lines"
    return "; ".join(lines)


@scenario
def the_link_of_a_code_reaches_its_owner(lab):
    """`card --qr` fits a terminal of 24 rows; its link is all that a caller gives."""
    server = lab.rendezvous()
    own = next(line["identity"] for line in server.lines() if line["type"] == "listening")
    ready(lab, "--accept")
    place = f"{ADDRESS['r']}:{PORT}#{own}"
    words = ["card", "--qr", "--identity", lab.path("identity-bob"), "--rendezvous", place]
    shown = sh("env", "LC_ALL=C.UTF-8", f"{BIN}/earshot", *words).stdout.splitlines()
    link = shown[-1]
    rows = len(shown) - 1 + (len(link) + 79) // 80
    assert rows < 24, f"  {rows} rows, and a prompt"
    for text in (link, link.lower()):
        call = lab.run(
            "a", f"{BIN}/earshot", "call", text, "--duration", "2", "--json", "--identity",
            lab.path("identity-alice"), name=f"alice{len(lab.programs)}",
        )  # fmt: skip
        summary = outcome(call, "completed", 0, 15)
        assert summary["peer"]["id"].upper() in link, summary["peer"]
    return f"{rows} rows"
