"""Each function plays one scenario and returns a line about what it measured; a wrong result raises."""

import array
import functools
import math
import os
import shutil
import signal
import time
import wave

from lab import ADDRESS, BIN, PORT, sh

ALL = []


def scenario(function):
    ALL.append((function.__name__.replace("_", " "), function))
    return function


def equal(actual, expected, what):
    assert actual == expected, f"  {what}: {actual!r}, expected {expected!r}"


def outcome(program, expected, code, seconds=10, reason=None):
    equal(program.wait(seconds), code, f"exit code of {program.label} ({program.describe()})")
    summary = program.summary()
    equal(summary["outcome"], expected, f"outcome of {program.label}")
    assert summary["reason"], f"  {program.label}: the reason is empty"
    if reason:
        assert reason in summary["reason"].lower(), (
            f"  reason of {program.label}: {summary['reason']!r}"
        )
    return summary


@functools.cache
def voiced(rate, count):
    """So many samples that are something like speech."""
    samples, phase = array.array("h"), 0.0
    for n in range(count):
        t = n / rate
        phase += 2 * math.pi * (120 + 60 * math.sin(0.9 * t) + 25 * t) / rate
        level = 0.5 * (1 - math.cos(2 * math.pi * 3.1 * t)) * 0.2
        voice = math.sin(phase) + 0.5 * math.sin(2 * phase) + 0.3 * math.sin(5 * phase)
        samples.append(int(32767 * level * voice / 1.8))
    return samples


def speech(path, seconds, rate=48000, channels=1):
    """Something like speech: a harmonic tone with a syllable envelope and a rising pitch."""
    samples = voiced(rate, int(seconds * rate))
    if channels > 1:
        samples = array.array("h", (value for value in samples for _ in range(channels)))
    with wave.open(path, "wb") as file:
        file.setnchannels(channels), file.setsampwidth(2), file.setframerate(rate)
        file.writeframes(samples.tobytes())


def ready(lab, *options, host="b", name="bob", **more):
    if not {"--accept", "--reject"} & set(options):
        options += ("--accept",)
    answer = lab.peer(host, "answer", *options, name=name, **more)
    answer.wait_event("registered")
    return answer


def same_call(a, b):
    equal(a["callId"], b["callId"], "callId")


def heard_again(lab, arrivals, saved):
    """A replay of what arrived is what was heard, to the bit."""
    sh(f"{BIN}/earshot", "replay", lab.path(arrivals), "--save", lab.path("again.wav"))
    with open(lab.path(saved), "rb") as first, open(lab.path("again.wav"), "rb") as again:
        assert first.read() == again.read(), "  the call heard again from its arrivals is another"


@scenario
def call_and_answer(lab):
    lab.rendezvous()
    speech(lab.path("in.wav"), 4)
    bob = ready(
        lab,
        "--accept",
        "--calls",
        "1",
        "--save",
        lab.path("out.wav"),
        "--capture",
        lab.path("arrivals"),
    )
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--play",
        lab.path("in.wav"),
        "--save",
        lab.path("back.wav"),
        name="alice",
    )
    one, two = outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
    same_call(one, two)
    equal(one["path"]["kind"], "direct", "path")
    equal(two["audio"]["received"]["lost"], 0, "lost packets at the callee")
    with wave.open(lab.path("out.wav")) as file:
        seconds = file.getnframes() / file.getframerate()
    assert seconds >= 4, f"  the saved file lasts {seconds} s"
    heard_again(lab, "arrivals", "out.wav")
    return f"accept→connected {one['timeline']['connectedMs'] - one['timeline']['acceptedMs']} ms, MOS {two['audio']['received']['mos']}"


@scenario
def capture_reads_as_rtp_and_rtcp(lab):
    if not shutil.which("tshark"):
        return "skipped: tshark is not installed"
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "6", "--pcap", lab.path("call.pcapng"))
    one = outcome(alice, "completed", 0, 20)
    outcome(bob, "completed", 0, 5)
    ports = [one["path"][end].rsplit(":", 1)[1] for end in ("local", "remote")]
    equal(one["path"]["local"].rsplit(":", 1)[0], ADDRESS["a"], "own address of the path")

    def tshark(filter, *fields):
        ways = [word for port in ports for word in ("-d", f"udp.port=={port},rtp")]
        wanted = [word for field in fields for word in ("-e", field)]
        return sh(
            "tshark",
            "-n",
            "-r",
            lab.path("call.pcapng"),
            *ways,
            "-Y",
            filter,
            "-T",
            "fields",
            *wanted,
        ).stdout.split()

    equal(
        tshark("_ws.malformed || _ws.expert.severity >= 6291456", "frame.number"),
        [],
        "frames with errors or warnings",
    )
    equal(tshark("!rtp && !rtcp", "frame.number"), [], "frames that are neither RTP nor RTCP")
    kinds = tshark("rtcp", "rtcp.pt")
    # Every 2 s one of ours and one of theirs, each with a name.
    assert kinds.count("200,202") >= 2 and kinds.count("201,202") >= 2, f"  RTCP: {kinds}"
    # RFC 3550 §6.4.1: the round trip is arrival - last SR - delay since, in 1/65536 s since 1900.
    reports = tshark(
        "rtcp.pt == 201 && rtcp.ssrc.lsr != 0",
        "frame.time_epoch",
        "rtcp.ssrc.lsr",
        "rtcp.ssrc.dlsr",
    )
    trips = [
        (int((float(arrival) + 2208988800) * 65536) - int(last) - int(delay)) % 2**32 / 65.536
        for arrival, last, delay in zip(*[iter(reports)] * 3)
    ]
    assert trips and all(trip <= 50 for trip in trips), f"  round trips by the reports, ms: {trips}"
    sent = len(tshark(f"rtp && ip.src == {ADDRESS['a']}", "frame.number"))
    equal(sent, one["audio"]["sent"]["packets"], "RTP packets sent")
    return f"{sent} RTP packets sent, {len(kinds)} RTCP, round trip {max(trips):.2f} ms"


@scenario
def reject(lab):
    lab.rendezvous()
    bob = ready(lab, "--reject", "not now", "--calls", "1")
    alice = lab.peer("a", "call", "bob")
    one, two = outcome(alice, "rejected", 4, reason="not now"), outcome(bob, "rejected", 0)
    same_call(one, two)


@scenario
def cancel_while_ringing(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--ring-for", "10", "--calls", "1")
    alice = lab.peer("a", "call", "bob")
    alice.wait_event("delivered")
    alice.signal(signal.SIGINT)
    one, two = outcome(alice, "cancelled", 4), outcome(bob, "cancelled", 4)
    same_call(one, two)


@scenario
def busy(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "4", name="alice")
    alice.wait_event("connected")
    carol = lab.peer("r", "call", "bob", identity="carol")
    outcome(carol, "busy", 4, reason="busy")
    outcome(alice, "completed", 0)
    outcome(bob, "completed", 0)


@scenario
def ring_timeout(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--ring-for", "20", "--calls", "1")
    began = time.monotonic()
    alice = lab.peer("a", "call", "bob", "--ring-timeout", "2")
    one = outcome(alice, "timeout", 5)
    elapsed = time.monotonic() - began
    two = outcome(bob, "timeout", 5)
    same_call(one, two)
    assert 1.9 < elapsed < 4, f"  took {elapsed:.1f} s"


@scenario
def hang_up_by_caller(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "60")
    alice.wait_event("connected")
    time.sleep(1)
    alice.signal(signal.SIGINT)
    one, two = outcome(alice, "completed", 0, 3), outcome(bob, "completed", 0, 3)
    same_call(one, two)
    assert "other side" in two["reason"].lower() or "remote" in two["reason"].lower(), two["reason"]


@scenario
def hang_up_by_callee(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1", "--duration", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "60")
    one, two = outcome(alice, "completed", 0, 8), outcome(bob, "completed", 0, 3)
    same_call(one, two)


@scenario
def unknown_name(lab):
    lab.rendezvous()
    began = time.monotonic()
    outcome(lab.peer("a", "call", "nobody"), "unreachable", 3, reason="nobody")
    # Nothing said is given up after 8 s; a busy host takes its time to start a program.
    assert time.monotonic() - began < 4, "  was not said at once"


@scenario
def known_but_not_online(lab):
    lab.rendezvous()
    bob = ready(lab)
    bob.signal(signal.SIGTERM)
    bob.wait(3)
    began = time.monotonic()
    outcome(lab.peer("a", "call", "bob"), "unreachable", 3, reason="bob")
    assert time.monotonic() - began < 2, "  was not said at once"


@scenario
def wrong_rendezvous(lab):
    alice = lab.peer("a", "call", "bob", rendezvous=f"{ADDRESS['r']}:{PORT}")
    equal(alice.wait(15), 3, "exit code")
    assert f"{ADDRESS['r']}:{PORT}" in alice.stderr(), alice.stderr()


@scenario
def rendezvous_of_another_identity(lab):
    lab.rendezvous()
    wrong = "y" * 52
    alice = lab.peer("a", "call", "bob", rendezvous=f"{ADDRESS['r']}:{PORT}#{wrong}")
    equal(alice.wait(15), 7, f"exit code ({alice.describe()})")


@scenario
def rendezvous_replaced_under_the_same_address(lab):
    first = lab.rendezvous("data1")
    bob = ready(lab)
    bob.signal(signal.SIGTERM)
    bob.wait(3)
    first.kill()
    lab.rendezvous("data2")
    again = lab.peer("b", "answer", "--accept", name="bob")
    equal(again.wait(15), 7, f"exit code ({again.describe()})")


@scenario
def name_taken(lab):
    lab.rendezvous()
    ready(lab)
    other = lab.peer("a", "answer", "--accept", name="bob", identity="somebody-else")
    equal(other.wait(5), 4, f"exit code ({other.describe()})")
    assert "bob" in other.stderr(), other.stderr()


@scenario
def peer_behind_a_name_changed(lab):
    first = lab.rendezvous("data1")
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "1", identity="alice")
    outcome(alice, "completed", 0)
    bob.wait(3)
    # The operator gives the name to somebody else: a new database under the same server key is simulated by
    # deleting the binding.
    first.signal(signal.SIGTERM)
    first.wait(3)
    import glob
    import sqlite3

    for file in glob.glob(lab.path("data1") + "/*.sqlite*") + glob.glob(
        lab.path("data1") + "/*.db"
    ):
        if file.endswith(("sqlite", "db", "sqlite3")):
            base = sqlite3.connect(file)
            tables = [
                row[0] for row in base.execute("select name from sqlite_master where type='table'")
            ]
            for table in tables:
                columns = [row[1] for row in base.execute(f"pragma table_info({table})")]
                if "name" in columns:
                    base.execute(f"delete from {table}")
            base.commit()
            base.close()
    lab.rendezvous("data1")
    ready(lab, "--accept", identity="impostor")
    alice = lab.peer("a", "call", "bob", identity="alice")
    equal(alice.wait(8), 7, f"exit code ({alice.describe()})")
    summary = alice.summary()
    equal(summary["peer"]["trust"], "changed", "trust")


@scenario
def rendezvous_killed_in_mid_call(lab):
    server = lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "60", name="alice")
    alice.wait_event("connected")
    time.sleep(1)
    server.kill()
    time.sleep(3)
    back = time.monotonic()
    lab.rendezvous()

    def registered_again(program):
        seen = [
            line
            for line in program.lines()
            if line.get("type") == "event" and line.get("name") == "registered"
        ]
        return len(seen) >= 2

    while time.monotonic() < back + 8 and not (registered_again(alice) and registered_again(bob)):
        time.sleep(0.05)
    elapsed = time.monotonic() - back
    assert elapsed <= 6, f"  registered again only after {elapsed:.1f} s"
    alice.signal(signal.SIGINT)
    one, two = outcome(alice, "completed", 0, 3), outcome(bob, "completed", 0, 3)
    same_call(one, two)
    equal(
        one["audio"]["received"]["lost"] + two["audio"]["received"]["lost"], 0, "lost audio packets"
    )
    return f"registered again after {elapsed:.1f} s"


@scenario
def rendezvous_killed_before_the_hang_up(lab):
    server = lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "2")
    alice.wait_event("connected")
    server.kill()
    one, two = outcome(alice, "completed", 0, 8), outcome(bob, "completed", 0, 8)
    same_call(one, two)


@scenario
def peer_killed_in_mid_call(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "60", "--save", lab.path("heard.wav"))
    alice.wait_event("connected")
    bob.kill()
    began = time.monotonic()
    outcome(alice, "lost", 3, 25)
    elapsed = time.monotonic() - began
    assert 19 <= elapsed <= 22, f"  took {elapsed:.1f} s"
    with wave.open(lab.path("heard.wav")) as file:
        seconds = file.getnframes() / file.getframerate()
    assert seconds > 18, f"  the saved file lasts only {seconds:.1f} s"
    return f"lost after {elapsed:.1f} s"


@scenario
def killed_by_sigterm_leaves_readable_files(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1", "--save", lab.path("out.wav"))
    alice = lab.peer("a", "call", "bob", "--duration", "60", "--save", lab.path("back.opus"))
    alice.wait_event("connected")
    time.sleep(2)
    alice.signal(signal.SIGTERM)
    outcome(alice, "completed", 0, 3)
    outcome(bob, "completed", 0, 3)
    with wave.open(lab.path("out.wav")) as file:
        assert file.getnframes() > 48000, "  too short"
    assert os.path.getsize(lab.path("back.opus")) > 1000


@scenario
def both_call_each_other(lab):
    lab.rendezvous()
    alice = lab.peer("a", "call", "bob", "--duration", "3", name="alice")
    bob = lab.peer("b", "call", "alice", "--duration", "3", name="bob")
    codes = [alice.wait(12), bob.wait(12)]
    assert codes == [0, 0], f"  exit codes {codes}\n{alice.describe()}\n{bob.describe()}"
    same_call(alice.summary(), bob.summary())
    return "one call"
