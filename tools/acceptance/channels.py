"""Channels: real programs in one room, heard by each other and saved."""

import array
import functools
import itertools
import json
import math
import operator
import os
import re
import shlex
import signal
import subprocess
import sys
import time
import wave
from datetime import datetime

from contacts import Keyboard
from lab import ADDRESS, BIN, PORT, sh, whole_lines
from scenarios import equal, outcome, scenario


def tone(path, hertz, seconds=20, peak=9000):
    """A tone of whole hertz: each second is like the first."""
    step = 2 * math.pi * hertz / 48000
    second = array.array("h", (int(peak * math.sin(step * index)) for index in range(48000)))
    with wave.open(path, "wb") as file:
        file.setnchannels(1)
        file.setsampwidth(2)
        file.setframerate(48000)
        file.writeframes(second.tobytes() * seconds)


@functools.cache
def waves(hertz, size):
    """So many samples of a cosine and of a sine."""
    step = 2 * math.pi * hertz / 48000
    return (
        [math.cos(step * index) for index in range(size)],
        [math.sin(step * index) for index in range(size)],
    )


def level(path, hertz, second):
    """How loud a tone is in one second of a file: playout may move its phase in the middle."""
    with wave.open(path, "rb") as file:
        file.setpos(48000 * second)
        values = array.array("h", file.readframes(48000))
    size, total = 4800, 0.0
    cosine, sine = waves(hertz, size)
    for first in range(0, len(values), size):
        block = values[first : first + size]
        total += math.hypot(
            sum(map(operator.mul, block, cosine)), sum(map(operator.mul, block, sine))
        )
    return 2 * total / max(1, len(values))


def named(program, name):
    return [line for line in program.lines() if line.get("name") == name]


def moment(line):
    """When a line was written, in seconds."""
    return datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()


def summary(program):
    return [line for line in program.lines() if line["type"] == "summary"][-1]


def joined(lab, host, *words, identity, room="tea"):
    return lab.peer(host, "join", room, *words, "--no-port-mapping", identity=identity)


@scenario
def channel_three_heard(lab):
    lab.rendezvous()
    for name, hertz in (("low", 440), ("high", 700)):
        tone(lab.path(name + ".wav"), hertz)
    alice = joined(
        lab,
        "a",
        "--play",
        lab.path("low.wav"),
        "--save",
        lab.path("alice.wav"),
        "--duration",
        "8",
        identity="alice",
    )
    alice.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    bob = joined(
        lab,
        "b",
        "--play",
        lab.path("high.wav"),
        "--save",
        lab.path("bob.wav"),
        "--duration",
        "6",
        identity="bob",
    )
    carol = joined(
        lab,
        "b",
        "--role",
        "audience",
        "--save",
        lab.path("carol.wav"),
        "--report",
        lab.path("carol.html"),
        "--duration",
        "5",
        identity="carol",
    )
    for program in (alice, bob, carol):
        equal(program.wait(20), 0, f"exit code ({program.describe()})")
    for name, tones in (("alice", (700,)), ("bob", (440,)), ("carol", (440, 700))):
        for hertz in (440, 700):
            loud = level(lab.path(name + ".wav"), hertz, 2)
            equal(loud > 6000, hertz in tones, f"{name} hears {hertz} Hz ({loud:.0f})")
            if hertz not in tones:
                equal(loud < 200, True, f"{name} does not hear {hertz} Hz ({loud:.0f})")
    equal(len(named(alice, "userJoined")), 1, "hosts that alice saw join")
    equal(len(named(alice, "audienceJoined")), 1, "listeners that alice saw")
    equal(len(named(carol, "userJoined")), 2, "hosts that carol saw")
    equal([line["reason"] for line in named(alice, "userOffline")], ["left"], "how bob went")
    equal(summary(carol)["membersHeard"], 2, "members that carol heard")
    heard = [one["heardMs"] > 2000 and one["mos"] > 4 for one in summary(carol)["members"]]
    equal(heard, [True, True], f"rows of carol's summary {summary(carol)}")
    with open(lab.path("carol.html")) as file:
        page = file.read()
    equal(page.count("<td>host</td>"), 2, "rows of carol's page")
    equal(page.count("<svg"), 5, "drawings of carol's page")
    return f"first sound after {first_sound(carol)} ms"


def with_relay(lab, *options, serve=()):
    """A rendezvous and a relay that is registered with it; the relay, and its ID.

    *serve*: further options of the rendezvous.
    """
    printed = sh(f"{BIN}/earshot-relay", "--print-id", "--data", lab.path("relay")).stdout
    with open(lab.path("relays"), "w") as file:
        file.write(f"# the relays of tea\n{'y' * 52}\n")
    rendezvous = lab.rendezvous(options=("--relay-key", lab.path("relays"), *serve))
    # The relay comes to a rendezvous that runs.
    with open(lab.path("relays"), "a") as file:
        file.write(printed)
    rendezvous.signal(signal.SIGHUP)
    rendezvous.wait_words("was read again", 10)
    own = next(line["identity"] for line in rendezvous.lines() if line["type"] == "listening")
    relay = start_relay(lab, own, *options)
    relay.own, relay.introducer = own, rendezvous
    return relay


# Writes what passes a port to a file, as long as it runs.
CAPTURE = """
import socket, sys
tap = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
with open(sys.argv[1], "wb", 0) as file:
    while True:
        packet = tap.recv(65536)
        ports = packet[34:36], packet[36:38]
        if int(sys.argv[2]).to_bytes(2, "big") in ports:
            file.write(packet[42:])
"""


def start_relay(lab, rendezvous, *options, data="relay", port=7500):
    relay = lab.run(
        "r",
        f"{BIN}/earshot-relay",
        "--rendezvous",
        f"{ADDRESS['r']}:{PORT}#{rendezvous}",
        "--data",
        lab.path(data),
        "--listen",
        f"{ADDRESS['r']}:{port}",
        "--json",
        *options,
    )
    relay.wait_line(lambda line: line.get("type") == "registered", 5)
    return relay


def clear_text(path, words):
    """Which of some words a capture has in it."""
    with open(path, "rb") as file:
        data = file.read()
    return [word for word in words if word.encode() in data]


def numbers_of_hosts(program, hosts):
    """What a member was told each 2 s of hosts by a relay: nothing lost, and how they sound."""
    for uid in hosts:
        rows = [
            line for line in program.lines() if line["type"] == "stats" and line.get("uid") == uid
        ]
        equal(len(rows) >= 2, True, f"lines of numbers of host {uid} ({len(rows)})")
        sound = [part for part in rows[-1]["stats"] if part["id"] == "audio-in"][0]
        equal(sound["packetsReceived"] > 100, True, f"packets of host {uid} ({sound})")
        equal(sound["packetsLost"], 0, f"packets of host {uid} that were lost")
        equal(sound["earshotMos"] > 4, True, f"MOS of host {uid} ({sound['earshotMos']})")
        equal(rows[-1]["qualityRx"], 1, f"grade of host {uid}")
        states = [
            line["state"]
            for line in named(program, "streamChanged")
            if line.get("uid") == uid and line["stream"] == "remoteAudio"
        ]
        equal(states[:2], ["starting", "decoding"], f"states of the sound of host {uid}")
    members = {member["uid"]: member for member in summary(program)["members"]}
    for uid in hosts:
        equal(members[uid]["packets"] > 100, True, f"packets in the summary ({members[uid]})")


def ends_of_streams(program, streams):
    """By stream and uid how its last change was told of; `None` where none was."""
    last = {}
    for line in named(program, "streamChanged"):
        last[line["stream"], line.get("uid")] = line["state"], line["reason"]
    return {key: last.get(key) for key in streams}


@scenario
def channel_relay_three_heard(lab):
    relay = with_relay(lab, "--metrics", f"{ADDRESS['r']}:9101")
    capture = lab.run("r", sys.executable, "-c", CAPTURE, lab.path("relay.bytes"), "7500")
    for name, hertz in (("low", 440), ("high", 700)):
        tone(lab.path(name + ".wav"), hertz)
    words, room = ("--relay", "--duration"), "quiet-harbour"
    alice = joined(
        lab,
        "a",
        "--play",
        lab.path("low.wav"),
        "--save",
        lab.path("alice.wav"),
        *words,
        "9",
        identity="alice",
        room=room,
    )
    alice.wait_line(lambda line: line.get("name") == "relayConnected", 5)
    bob = joined(
        lab,
        "b",
        "--play",
        lab.path("high.wav"),
        "--save",
        lab.path("bob.wav"),
        *words,
        "7",
        identity="bob",
        room=room,
    )
    carol = joined(
        lab,
        "b",
        "--role",
        "audience",
        "--save",
        lab.path("carol.wav"),
        *words,
        "6",
        identity="carol",
        room=room,
    )
    carol.wait_line(lambda line: line.get("name") == "relayFirstFrame", 6)
    time.sleep(3)
    scraped = lab.run("r", "curl", "-s", f"http://{ADDRESS['r']}:9101/metrics")
    for program in (alice, bob, carol):
        equal(program.wait(20), 0, f"exit code ({program.describe()})")
    # Alice is there before bob: her third second may be before his first word on a busy host.
    for name, tones, second in (
        ("alice", (700,), 5), ("bob", (440,), 3), ("carol", (440, 700), 3),
    ):  # fmt: skip
        for hertz in (440, 700):
            loud = level(lab.path(name + ".wav"), hertz, second)
            equal(loud > 6000, hertz in tones, f"{name} hears {hertz} Hz ({loud:.0f})")
            if hertz not in tones:
                equal(loud < 200, True, f"{name} does not hear {hertz} Hz ({loud:.0f})")
    for program in (alice, bob, carol):
        equal(named(program, "connected"), [], f"calls ({program.label})")
    hosts = [named(program, "channelJoined")[0]["uid"] for program in (alice, bob)]
    numbers_of_hosts(carol, hosts)
    # Who leaves first sees the ends of the others' streams by its own end alone.
    for program, others in ((bob, hosts[:1]), (carol, hosts)):
        wanted = {("audioSubscribe", uid): ("idle", "callEnded") for uid in others}
        if program is bob:
            wanted["audioPublish", None] = ("idle", "callEnded")
        equal(ends_of_streams(program, wanted), wanted, f"ends of streams ({program.label})")
    found = summary(carol)
    equal(found["membersHeard"], 2, "members that carol heard")
    equal(found["relayFramesOpened"] > 400, True, f"frames that opened ({found})")
    equal(found["relayFramesUnopened"] < 50, True, f"frames that did not open ({found})")
    scraped.wait(5)
    with open(lab.path(scraped.label + ".out")) as file:
        numbers = dict(line.split() for line in file if not line.startswith("#"))
    equal(numbers["earshot_relay_seats"], "3", "seats that the relay tells of")
    forwarded = int(numbers["earshot_relay_audio_forwarded_total"])
    equal(forwarded > 200, True, "packets that the relay has forwarded")
    capture.kill()
    byte_count = os.path.getsize(lab.path("relay.bytes"))
    equal(byte_count > 100_000, True, f"bytes that the capture has ({byte_count})")
    seen = clear_text(lab.path("relay.bytes"), (room, "v4.public", "register", "audience"))
    equal(seen, [], "words in the capture at the relay")
    relay.signal(signal.SIGTERM)
    equal(relay.wait(5), 0, f"exit code ({relay.describe()})")
    return (
        f"first sound after {first_sound(carol, 'relayFirstFrame')} ms, {byte_count} bytes captured"
    )


def gaps(path, hertz, begin, end):
    """Runs without a tone between two seconds of a file, in ms; looked at each 10 ms."""
    with wave.open(path, "rb") as file:
        file.setpos(int(48000 * begin))
        data = array.array("h", file.readframes(int(48000 * (end - begin))))
    runs, run = [], 0
    cosine, sine = waves(hertz, 480)
    for place in range(0, len(data) - 480, 480):
        block = data[place : place + 480]
        real = sum(map(operator.mul, block, cosine))
        imaginary = sum(map(operator.mul, block, sine))
        if math.hypot(real, imaginary) / 240 < 2000:
            run += 10
        elif run:
            runs.append(run)
            run = 0
    return runs + ([run] if run else [])


def seconds_loud(path, hertz, seconds):
    return [level(path, hertz, second) > 4000 for second in seconds]


@scenario
def channel_relay_role_changes(lab):
    """A host that only listens is silent at once, and heard again when it is host again."""
    with_relay(lab)
    tone(lab.path("low.wav"), 440, 40)
    tone(lab.path("high.wav"), 700, 40)
    alice = joined(lab, "a", "--play", lab.path("low.wav"), "--relay", identity="alice")
    carol = joined(lab, "a", "--play", lab.path("high.wav"), "--relay", identity="carol")
    bob = joined(
        lab, "b", "--relay", "--role", "audience", "--save", lab.path("bob.wav"),
        "--save-each", lab.path("{uid}.wav"), "--duration", "16", identity="bob",
    )  # fmt: skip
    for _ in range(2):
        bob.wait_line(lambda line: line.get("name") == "relayFirstFrame", 6)
    time.sleep(4)
    uid = named(alice, "channelJoined")[0]["uid"]
    for role, program in (("audience", alice), ("host", alice), ("host", bob)):
        count = len(named(program, "roleChanged"))
        program.signal(signal.SIGUSR2)
        program.wait_line(lambda line: line.get("name") == "roleChanged", 3)
        while len(named(program, "roleChanged")) == count:
            time.sleep(0.01)
        equal(named(program, "roleChanged")[-1]["role"], role, "the role now")
        time.sleep(3)
    equal(
        [line["reason"] for line in named(bob, "userOffline") if line["uid"] == uid],
        ["becameAudience"],
        "what bob was told of alice",
    )
    alice.wait_line(lambda line: line.get("name") == "relayFirstFrame", 3)
    equal(bob.wait(20), 0, f"exit code ({bob.describe()})")
    for program in (alice, carol):
        program.signal(signal.SIGTERM)
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
    # Carol's own file has no pause; alice's has one of about three seconds.
    other = named(carol, "channelJoined")[0]["uid"]
    pauses = gaps(lab.path(f"{other}.wav"), 700, 2, 9)
    equal(max(pauses, default=0) <= 60, True, f"pauses of the other host, ms ({pauses})")
    own = gaps(lab.path(f"{uid}.wav"), 440, 1, 11)
    equal(2500 <= max(own, default=0) <= 3600, True, f"pauses of the host that changed, ms ({own})")
    return f"silent for {max(own)} ms, the other host's longest pause {max(pauses, default=0)} ms"


@scenario
def channel_way_changes_by_itself(lab):
    """Four hosts in a mesh; a fifth comes and all go by the relay; two leave and all come back."""
    with_relay(lab)
    tone(lab.path("low.wav"), 440, 70)
    # A relay forwards the three loudest: alice is one of them.
    tone(lab.path("quiet.wav"), 700, 70, peak=500)
    quiet = ("--play", lab.path("quiet.wav"))
    alice = joined(lab, "a", "--play", lab.path("low.wav"), identity="alice")
    alice.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    bob = joined(
        lab, "b", *quiet, "--save-each", lab.path("{uid}.wav"), "--duration", "50", identity="bob",
    )  # fmt: skip
    others = [joined(lab, "b", *quiet, identity=name) for name in ("carol", "dave")]
    for program in (alice, bob, *others):
        program.wait_line(lambda line: line.get("name") == "firstFrameReceived", 8)
    time.sleep(3)
    equal(named(alice, "channelWayChanged"), [], "ways that four hosts have taken")
    eve = joined(lab, "a", *quiet, identity="eve")
    for program in (alice, bob, eve, *others):
        program.wait_line(lambda line: line.get("name") == "relayConnected", 5)
    time.sleep(12)  # Calls with those who are not heard by the relay end after 10 s.
    for program in (eve, others[1]):
        program.signal(signal.SIGTERM)
    for program in (alice, bob, others[0]):
        program.wait_line(
            lambda line: line.get("name") == "channelWayChanged" and line["way"] == "mesh", 16
        )
    equal(bob.wait(60), 0, f"exit code ({bob.describe()})")
    for program in (alice, others[0]):
        program.signal(signal.SIGTERM)
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
    for program in (eve, others[1]):
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
    uid = named(alice, "channelJoined")[0]["uid"]
    ways = [line["way"] for line in named(bob, "channelWayChanged")]
    equal(ways, ["relay", "mesh"], "ways that bob has taken")
    found = gaps(lab.path(f"{uid}.wav"), 440, 1, 44)
    equal(max(found, default=0) <= 60, True, f"pauses of a host, ms ({found})")
    return f"longest pause {max(found, default=0)} ms"


@scenario
def channel_also_and_each_saved(lab):
    """One program in two channels: a file for each who is heard, of both."""
    lab.rendezvous()
    for name, hertz in (("low", 440), ("high", 700)):
        tone(lab.path(name + ".wav"), hertz)
    alice = joined(lab, "a", "--play", lab.path("low.wav"), identity="alice")
    carol = joined(lab, "a", "--play", lab.path("high.wav"), identity="carol", room="milk")
    bob = joined(
        lab, "b", "--role", "audience", "--also", "milk", "--save", lab.path("bob.wav"),
        "--save-each", lab.path("{room}-{uid}.wav"), "--duration", "7", identity="bob",
    )  # fmt: skip
    equal(bob.wait(15), 0, f"exit code ({bob.describe()})")
    for program, room, own, other in ((alice, "tea", 440, 700), (carol, "milk", 700, 440)):
        uid = named(program, "channelJoined")[0]["uid"]
        path = lab.path(f"{room}-{uid}.wav")
        equal(level(path, own, 2) > 6000 > 200 > level(path, other, 2), True, f"what {path} has")
    for hertz in (440, 700):
        equal(level(lab.path("bob.wav"), hertz, 3) > 6000, True, f"{hertz} Hz in the mix")
    kinds = [line["type"] for line in bob.lines() if "ummary" in line["type"]]
    equal(kinds, ["channelSummary", "summary"], "summaries")
    equal(
        [line["membersHeard"] for line in bob.lines() if "ummary" in line["type"]],
        [1, 1],
        "members heard in each",
    )


@scenario
def scenario_23_many_channels(lab):
    """One program in 20 channels besides its own, the same uid in each: each is by itself."""
    lab.rendezvous()
    tones = {}
    for index, hertz in enumerate((440, 700, 1000, 1500)):
        tone(lab.path(f"{index}.wav"), hertz, 60)
        tones[index] = hertz
    rooms = [f"room{number}" for number in range(20)]
    hosts = [
        joined(
            lab, "b", "--uid", "5", "--play", lab.path(f"{number % 4}.wav"),
            identity=f"host{number}", room=room,
        )
        for number, room in enumerate(rooms)
    ]  # fmt: skip
    for host in hosts:
        host.wait_line(lambda line: line.get("name") == "channelJoined", 10)
    also = [word for room in rooms for word in ("--also", room)]
    alice = joined(
        lab, "a", *also, "--save-each", lab.path("{room}-{uid}.wav"), "--duration", "34",
        identity="alice",
    )  # fmt: skip
    alice.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    time.sleep(8)
    hosts[7].kill()
    equal(alice.wait(45), 0, f"exit code ({alice.describe()})")
    for host in hosts[:7] + hosts[8:]:
        host.signal(signal.SIGTERM)
    for host in hosts[:7] + hosts[8:]:
        equal(host.wait(5), 0, f"exit code ({host.describe()})")
    met = named(alice, "userJoined")
    equal(sorted(line["channel"] for line in met), sorted(rooms), "channels of hosts")
    equal({line["uid"] for line in met}, {5}, "uids of hosts")
    gone = named(alice, "userOffline")
    equal([(line["channel"], line["reason"]) for line in gone], [("room7", "dropped")], "who went")
    for number, room in enumerate(rooms):
        # Room 7 has its host for 8 s.
        seconds = (1, 3) if number == 7 else (1, 3, 6, 7, 8)
        for index, hertz in tones.items():
            for second in seconds:
                found = level(lab.path(f"{room}-5.wav"), hertz, second)
                what = f"{hertz} Hz in {room}, second {second} ({found:.0f})"
                equal(found > 4000, index == number % 4, what)


@scenario
def scenario_25_leave_and_destroy(lab):
    """One program in two channels leaves one of them, joins it again and leaves the other."""
    lab.rendezvous()
    for name, hertz in (("low", 440), ("high", 700), ("higher", 1000)):
        tone(lab.path(name + ".wav"), hertz, 60)
    bob, carol = (
        joined(
            lab, "b", "--play", lab.path(sound), "--save", lab.path(name + ".wav"), identity=name,
            room=room,
        )
        for name, sound, room in (("bob", "high.wav", "tea"), ("carol", "higher.wav", "milk"))
    )  # fmt: skip
    for host in (bob, carol):
        host.wait_line(lambda line: line.get("name") == "channelJoined", 10)
    place = f"{ADDRESS['r']}:{PORT}"
    two = lab.run(
        "a", f"{BIN}/TwoChannels", place, "tea", "milk", lab.path("low.wav"), lab.path("two.wav")
    )
    equal(two.wait(40), 0, f"exit code ({two.describe()})")
    for host in (bob, carol):
        host.signal(signal.SIGTERM)
        equal(host.wait(5), 0, f"exit code ({host.describe()})")
    uids = [named(host, "channelJoined")[0]["uid"] for host in (bob, carol)]
    heard = [f"tea: {uids[0]} is heard", f"milk: {uids[1]} is heard"]
    equal(
        open(two.out.name).read().splitlines(),
        [*heard, "milk: left", "milk: channelState", heard[1], "tea: left", "milk: left"],
        "what the program says",
    )
    # Each channel is told of its own goodbyes, and of no other.
    gone = [("userOffline", "left")], [("audienceLeft", "left")] * 2
    for host, expected in zip((bob, carol), gone):
        told = [
            (line["name"], line["reason"])
            for line in host.lines()
            if line.get("name") in ("userOffline", "audienceLeft")
        ]
        equal(told, expected, "goodbyes")
    # Nothing of the one is in the other, and what goes on has no gap.
    came, went = (moment(named(bob, name)[0]) for name in ("userJoined", "userOffline"))
    begin = moment(named(bob, "channelJoined")[0])
    equal(went - came > 8, True, f"time in tea ({went - came:.1f} s)")
    seconds = range(int(came - begin) + 3, int(went - begin) - 1)
    equal(seconds_loud(lab.path("bob.wav"), 440, seconds), [True] * len(seconds), "tea")
    equal(os.path.exists(lab.path("carol.wav")), False, "an audience says nothing")
    with wave.open(lab.path("two.wav"), "rb") as file:
        whole = range(file.getnframes() // 48000)
    for hertz, parts in ((700, [True, False]), (1000, [True, False, True])):
        # How much of the first second there is depends on when it was heard first.
        loud = itertools.dropwhile(
            lambda one: not one, seconds_loud(lab.path("two.wav"), hertz, whole)
        )
        equal([one for one, _ in itertools.groupby(loud)], parts, f"{hertz} Hz in the mix")


@scenario
def channel_relay_absent(lab):
    lab.rendezvous()
    alice = joined(lab, "a", "--relay", identity="alice")
    equal(alice.wait(10), 3, f"exit code without a relay ({alice.describe()})")
    equal(summary(alice)["reason"], "noRelay", "the reason")


@scenario
def channel_member_removed(lab):
    """Who may manage removes another by two keys of its terminal."""
    lab.rendezvous()
    made = lab.run(
        "r", f"{BIN}/earshot", "token", "new", "--key", lab.path("key"), "--public", lab.path("pub")
    )
    equal(made.wait(5), 0, f"exit code ({made.describe()})")
    with open(lab.path("pub")) as file:
        room = "tea@" + file.read().strip()
    for name, scope in (("alice", "host manage"), ("bob", "host")):
        keygen = lab.run(
            "r", f"{BIN}/earshot", "keygen", "--json", "--identity", lab.path(f"identity-{name}")
        )
        equal(keygen.wait(5), 0, f"exit code ({keygen.describe()})")
        signed = lab.run(
            "r", f"{BIN}/earshot", "token", "sign", "--key", lab.path("key"), "--sub",
            next(keygen.lines())["id"], "--channel", room, "--scope", scope, "--expires", "5m",
        )  # fmt: skip
        equal(signed.wait(5), 0, f"exit code ({signed.describe()})")
        os.rename(lab.path(signed.label + ".out"), lab.path("token-" + name))
    bob = joined(lab, "b", "--token", lab.path("token-bob"), identity="bob", room=room)
    bob.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    words = [
        f"{BIN}/earshot", "join", room, "--token", lab.path("token-alice"), "--json",
        "--no-port-mapping", "--identity", lab.path("identity-alice"), "--rendezvous",
        f"{ADDRESS['r']}:{PORT}",
    ]  # fmt: skip
    keys = "sleep 3; printf x; sleep 1; printf 1; sleep 2; printf q; sleep 1"
    alice = lab.run("a", "sh", "-c", f"({keys}) | script -qefc '{shlex.join(words)}' /dev/null")
    equal(bob.wait(15), 4, f"exit code ({bob.describe()})")
    equal(summary(bob)["reason"], "removed", "why bob's stay ended")
    equal(alice.wait(15), 0, f"exit code ({alice.describe()})")
    finished = named(alice, "removalFinished")
    equal([line.get("reason") for line in finished], [None], "what became of it")


def mutes_by_key(lab, *way):
    """A host at a terminal begins muted, and mutes again for three seconds; what others hear."""
    tone(lab.path("low.wav"), 440, 30)
    bob = joined(
        lab, "b", *way, "--role", "audience", "--save", lab.path("bob.wav"), "--duration", "12",
        identity="bob",
    )  # fmt: skip
    bob.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    words = [
        f"{BIN}/earshot", "join", "tea", *way, "--no-port-mapping", "--play", lab.path("low.wav"),
        "--mute", "--identity", lab.path("identity-alice"), "--rendezvous", f"{ADDRESS['r']}:{PORT}",
        "--events", lab.path("events"),
    ]  # fmt: skip
    keys = "sleep 2.5; printf m; sleep 3; printf m; sleep 3; printf m; sleep 4; printf q; sleep 1"
    typed = f"({keys}) | script -qefc '{shlex.join(words)}' {lab.path('screen')}"
    alice = lab.run("a", "env", "TERM=xterm", "COLUMNS=100", "sh", "-c", typed)
    for program in (bob, alice):
        equal(program.wait(25), 0, f"exit code ({program.describe()})")
    found = [
        "#" if is_heard else "." for is_heard in seconds_loud(lab.path("bob.wav"), 440, range(11))
    ]
    equal(re.fullmatch(r"\.{2,3}#{2,}\.{2,}#+", "".join(found)) is not None, True, "".join(found))
    member = summary(bob)["members"][0]
    equal(5000 < member["heardMs"] < 11_000, True, f"heardMs {member['heardMs']}")
    with open(lab.path("screen"), encoding="utf-8", errors="replace") as file:
        screen = file.read()
    for text in ("2 there", "host to host" if not way else "by a relay", "muted", "listens"):
        equal(text in screen, True, f"{text!r} on the screen")


@scenario
def channel_member_mutes(lab):
    lab.rendezvous()
    mutes_by_key(lab)


@scenario
def channel_relay_member_mutes(lab):
    with_relay(lab)
    mutes_by_key(lab, "--relay")


@scenario
def channel_relay_loudest_chosen(lab):
    """Five hosts speak, each fainter than the one before; each listener hears as many as it likes."""
    with_relay(lab)
    pitches = (440, 520, 610, 700, 800)
    for uid, (hertz, peak) in enumerate(zip(pitches, (9000, 6000, 4000, 2700, 1800), strict=True)):
        tone(lab.path(f"{uid}.wav"), hertz, 40, peak)
        words = ("--play", lab.path(f"{uid}.wav"), "--uid", str(uid + 1), "--duration", "30")
        host = joined(lab, "a", "--relay", *words, identity=f"h{uid}")
        host.wait_line(lambda line: line.get("name") == "relayConnected", 8)
    listeners = []
    for name, choice in (("one", "1"), ("five", "5"), ("usual", None)):
        chosen = ("--loudest", choice) if choice else ()
        words = ("--role", "audience", "--save-each", lab.path(name + "-{uid}.wav"), *chosen)
        more = ("--duration", "11")
        listeners.append(joined(lab, "b", "--relay", *words, *more, identity=name))
    for program in listeners:
        equal(program.wait(20), 0, f"exit code ({program.describe()})")
    for name, count in (("one", 1), ("five", 5), ("usual", 3)):
        heard = [
            uid + 1
            for uid, hertz in enumerate(pitches)
            if os.path.exists(lab.path(f"{name}-{uid + 1}.wav"))
            and level(lab.path(f"{name}-{uid + 1}.wav"), hertz, 4) > 800
        ]
        equal(heard, list(range(1, count + 1)), f"whom {name} heard")
    return "1, 5 and the usual 3 of 5"


def swelling(path, hertz, shift, seconds=20):
    """A tone that is loud for two seconds of five."""
    halves = {peak: path + f".{peak}" for peak in (9000, 2500)}
    for peak, part in halves.items():
        tone(part, hertz, 1, peak)
    frames = {}
    for peak, part in halves.items():
        with wave.open(part, "rb") as file:
            frames[peak], form = file.readframes(48000), file.getparams()
    with wave.open(path, "wb") as file:
        file.setparams(form)
        for second in range(seconds):
            file.writeframes(frames[9000 if (second + shift) % 5 < 2 else 2500])


@scenario
def channel_relay_named_later(lab):
    """A relay runs before the operator has named it: it is offered as soon as SIGHUP was read."""
    printed = sh(f"{BIN}/earshot-relay", "--print-id", "--data", lab.path("relay")).stdout
    with open(lab.path("relays"), "w") as file:
        file.write("y" * 52 + "\n")
    rendezvous = lab.rendezvous(options=("--relay-key", lab.path("relays")))
    own = next(line["identity"] for line in rendezvous.lines() if line["type"] == "listening")
    start_relay(lab, own)
    rendezvous.wait_words("--relay-key does not name", 10)
    with open(lab.path("relays"), "a") as file:
        file.write(printed)
    rendezvous.signal(signal.SIGHUP)
    rendezvous.wait_words("was read again", 10)
    alice = joined(lab, "a", "--relay", "--duration", "8", identity="alice")
    bob = joined(lab, "b", "--relay", "--duration", "6", identity="bob")
    for program in (alice, bob):
        program.wait_line(lambda line: line.get("name") == "relayFirstFrame", 6)
        equal(program.wait(15), 0, f"exit code ({program.describe()})")
    return "offered without another start"


@scenario
def channel_relay_leaves_out(lab):
    """Of five who are never silent three are heard at a time: what is left out is no loss."""
    with_relay(lab)
    hosts = []
    for uid, hertz in enumerate((440, 520, 610, 700, 800), 1):
        swelling(lab.path(f"{uid}.wav"), hertz, uid)
        words = ("--play", lab.path(f"{uid}.wav"), "--uid", str(uid), "--duration", "16")
        hosts.append(joined(lab, "ab"[uid % 2], "--relay", *words, identity=f"h{uid}"))
    for host in hosts:
        equal(host.wait(30), 0, f"exit code ({host.describe()})")
    worst, least = 5.0, 1000
    for host in hosts:
        for member in summary(host)["members"]:
            assert member["lost"] <= 1 and member["mos"] >= 4.2, f"  {member}"
            worst, least = min(worst, member["mos"]), min(least, member["packets"])
    assert least < 600, f"  nobody was left out: {least} packets at the least"
    return f"MOS {worst} at the least, {least} packets of 750"


@scenario
def channel_relay_full(lab):
    """A fifth host finds four at the relay, and no room: it talks to all of them, host to host."""
    with_relay(lab, "--limit-seats", "4", "--limit-loudest", "5")
    tone(lab.path("low.wav"), 440, 40)
    tone(lab.path("high.wav"), 700, 40)
    # The tone that is played by default has notes of 440 Hz, which would add to that of `low`.
    tone(lab.path("rest.wav"), 1500, 40, peak=3000)
    words = ("--duration", "22", "--save", lab.path("zero.wav"), "--play", lab.path("low.wav"))
    first = joined(lab, "a", *words, identity="zero")
    others = [
        joined(
            lab,
            "ab"[number % 2],
            "--duration",
            "20",
            "--play",
            lab.path("rest.wav"),
            identity=f"n{number}",
        )  # fmt: skip
        for number in range(3)
    ]
    for program in others:
        program.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    late = joined(
        lab, "b", "--duration", "14", "--play", lab.path("high.wav"), "--save",
        lab.path("late.wav"), identity="late",
    )  # fmt: skip
    refused = [
        program
        for program in (first, *others, late)
        if program.wait(40) == 0 and named(program, "relayRefused")
    ]
    equal(len(refused), 1, "members that found no room")
    refusals = named(refused[0], "relayRefused")
    equal([line["reason"] for line in refusals], ["relayFull"], "what it was told")
    for program in (first, *others, late):
        equal(summary(program)["membersHeard"], 4, f"members heard ({program.describe()})")
    joins = [moment(named(program, "channelJoined")[0]) for program in (first, late)]
    for name, hertz, begin in (("zero", 700, math.ceil(joins[1] - joins[0])), ("late", 440, 0)):
        heard = seconds_loud(lab.path(name + ".wav"), hertz, range(begin + 4, begin + 11))
        equal(heard.count(False), 0, f"seconds in which {name} heard the other ({heard})")
    alone = joined(lab, "a", "--relay", "--duration", "5", identity="alone", room="milk")
    alone.wait_line(lambda line: line.get("name") == "relayConnected", 5)
    equal(alone.wait(20), 0, "exit code in another channel")


@scenario
def channel_talks_before_the_relay_is_full(lab):
    """Five hosts talk host to host while the relay is away, and then it has room for four: who has
    no seat has its calls, and keeps them."""
    relay = with_relay(lab, "--limit-seats", "4")
    tone(lab.path("low.wav"), 440, 40)
    members = []
    for number in range(5):
        if number == 4:
            relay.signal(signal.SIGSTOP)
        words = ("--duration", str(28 - number), "--play", lab.path("low.wav"))
        members.append(joined(lab, "ab"[number % 2], *words, identity=f"n{number}"))
        members[-1].wait_line(lambda line: line.get("name") == "channelJoined", 5)
    try:
        members[-1].wait_line(lambda _: len(named(members[-1], "connected")) == 4, 10)
    finally:
        relay.signal(signal.SIGCONT)
    for program in members:
        equal(program.wait(40), 0, f"exit code ({program.describe()})")
    refused = [program for program in members if named(program, "relayRefused")]
    equal(len(refused), 1, "members that found no room")
    since = moment(named(refused[0], "relayRefused")[0])
    # The first that leaves ends its calls a little before it says so.
    until = min(moment(named(program, "channelLeft")[0]) for program in members) - 1
    ended = [line for line in named(refused[0], "ended") if since < moment(line) < until]
    equal(ended, [], "its calls that ended before others left")
    assert until - since > 12, f"  only {until - since:.1f} s were seen"
    return f"{until - since:.0f} s by its calls alone"


def talk_by_relay(lab, seconds, role="host"):
    """Alice has a tone, bob saves what he hears of it; both by a relay, which has begun.

    *role*: bob's; as host he says nothing.
    """
    tone(lab.path("low.wav"), 440, seconds + 10)
    alice = joined(
        lab, "a", "--play", lab.path("low.wav"), "--relay", "--duration", str(seconds + 2),
        identity="alice",
    )  # fmt: skip
    bob = joined(
        lab, "b", "--relay", "--role", role, "--save", lab.path("bob.wav"), "--duration",
        str(seconds), identity="bob",
    )  # fmt: skip
    bob.wait_line(lambda line: line.get("name") == "relayFirstFrame", 6)
    time.sleep(3)
    return alice, bob


def silent_seconds(lab, programs, seconds):
    """Waits for the end; in which seconds bob's file has no tone."""
    for program in programs:
        equal(program.wait(seconds + 15), 0, f"exit code ({program.describe()})")
    return [
        second for second in range(1, seconds - 2) if level(lab.path("bob.wav"), 440, second) < 4000
    ]


@scenario
def channel_relay_killed(lab):
    return relay_killed(lab, "host")


@scenario
def channel_relay_killed_under_audience(lab):
    """Who only listens has no report of the relay to miss, and finds out as soon."""
    return relay_killed(lab, "audience")


@scenario
def channel_relay_out_of_reach(lab):
    """A relay is registered, and answers nobody: who wants it talks host to host meanwhile, also
    when the rendezvous has none any more.
    """
    relay = with_relay(lab, "--public", f"{ADDRESS['r']}:7599")
    tone(lab.path("low.wav"), 440, 30)
    way = ("--relay", "--duration", "14")
    alice = joined(lab, "a", *way, "--play", lab.path("low.wav"), identity="alice")
    bob = joined(lab, "b", *way, "--save", lab.path("bob.wav"), identity="bob")
    bob.wait_line(lambda line: line.get("name") == "relayLost", 5)
    time.sleep(3)
    relay.signal(signal.SIGTERM)
    bob.wait_line(lambda line: line.get("name") == "relayUnavailable", 10)
    for program in (alice, bob):
        equal(program.wait(25), 0, f"exit code ({program.describe()})")
    # They call each other 1.5 s after a relay was asked for.
    for second in (3, 5, 9, 11):
        found = level(lab.path("bob.wav"), 440, second)
        equal(found > 4000, True, f"440 Hz at bob, second {second} ({found:.0f})")


@scenario
def channel_member_started_anew(lab):
    """A member of a mesh is killed and comes back at once: heard, and hears, long before 20 s."""
    lab.rendezvous()
    for name, hertz in (("low", 440), ("high", 700)):
        tone(lab.path(name + ".wav"), hertz, 40)
    alice = joined(
        lab, "a", "--play", lab.path("low.wav"), "--save", lab.path("alice.wav"),
        "--duration", "20", identity="alice",
    )  # fmt: skip
    play = ("--play", lab.path("high.wav"))
    bob = joined(lab, "b", *play, "--duration", "20", identity="bob")
    bob.wait_line(lambda line: line.get("name") == "firstFrameReceived", 8)
    time.sleep(2)
    bob.kill()
    began = time.monotonic()
    again = joined(
        lab, "b", *play, "--save", lab.path("bob.wav"), "--duration", "10", identity="bob"
    )
    again.wait_line(lambda line: line.get("name") == "firstFrameReceived", 12)
    took = time.monotonic() - began
    equal(took <= 6, True, f"seconds until who came back heard ({took:.1f})")
    for program in (again, alice):
        equal(program.wait(30), 0, f"exit code ({program.describe()})")
    found = level(lab.path("alice.wav"), 700, 11)
    equal(found > 4000, True, f"700 Hz at alice 6 s or more after ({found:.0f})")
    return f"heard after {took:.1f} s"


def relay_killed(lab, role):
    relay = with_relay(lab)
    alice, bob = talk_by_relay(lab, 14, role)
    relay.kill()
    began = time.monotonic()
    bob.wait_line(lambda line: line.get("name") == "firstFrameReceived", 6)
    took = time.monotonic() - began
    silent = silent_seconds(lab, (alice, bob), 14)
    equal(took <= 2.0, True, f"seconds until bob heard again ({took:.2f})")
    equal(len(silent) <= 3, True, f"seconds without sound ({silent})")
    return f"heard again after {took:.2f} s"


@scenario
def channel_relay_killed_beside_another(lab):
    """Two relays; the one that a channel has is killed, and there are no calls to fall back on."""
    return killed_beside_another(lab, ("--relay-only",))


@scenario
def channel_relay_killed_in_a_crowd(lab):
    """The same in a channel of more members than a mesh has."""
    return killed_beside_another(lab, ("--relay",), crowd=9)


def killed_beside_another(lab, way, crowd=0):
    relay = with_relay(lab)
    printed = sh(f"{BIN}/earshot-relay", "--print-id", "--data", lab.path("relay2")).stdout
    with open(lab.path("relays"), "a") as file:
        file.write(printed)
    relay.introducer.signal(signal.SIGHUP)
    time.sleep(0.5)
    both = {
        sh(f"{BIN}/earshot-relay", "--print-id", "--data", lab.path("relay")).stdout.strip(): relay,
        printed.strip(): start_relay(lab, relay.own, data="relay2", port=7501),
    }
    seconds = 16
    tone(lab.path("low.wav"), 440, seconds + 10)
    play = ("--play", lab.path("low.wav"))
    alice = joined(lab, "a", *way, *play, "--duration", str(seconds + 2), identity="alice")
    listeners = [
        joined(lab, "b", *way, "--role", "audience", "--duration", str(seconds), identity=f"c{one}")
        for one in range(crowd)
    ]
    save = ("--save", lab.path("bob.wav"))
    bob = joined(lab, "b", *way, *save, "--duration", str(seconds), identity="bob")
    bob.wait_line(lambda line: line.get("name") == "relayFirstFrame", 8)
    time.sleep(4)
    grants = {line["relay"] for line in named(alice, "relayGranted") + named(bob, "relayGranted")}
    equal(len(grants), 1, f"relays of one channel ({grants})")
    dead = grants.pop()
    both[dead].kill()
    began = time.monotonic()
    # Whoever has another seat hears the tone again.
    bob.wait_line(lambda line: line.get("name") == "relayGranted" and line["relay"] != dead, 8)
    told = time.monotonic() - began
    for program in (alice, bob, *listeners):
        equal(program.wait(seconds + 15), 0, f"exit code ({program.describe()})")
    gap = longest_gap(lab.path("bob.wav"))
    equal(gap <= 2.0, True, f"seconds without sound ({gap:.1f})")
    return f"another relay after {told:.2f} s, {gap:.1f} s without sound"


def longest_gap(path):
    """The longest time in a file without sound, after its first and before its last, in s."""
    with wave.open(path, "rb") as file:
        samples = memoryview(file.readframes(file.getnframes())).cast("h")
    block = 2400
    loud = [
        first
        for first in range(0, len(samples) - block, block)
        if max(map(abs, samples[first : first + block])) > 1000
    ]
    gaps = [late - early - block for early, late in itertools.pairwise(loud)]
    return max(gaps, default=len(samples)) / 48000


@scenario
def channel_relay_stopped_and_back(lab):
    """Its operator stops a relay, and starts it again: nobody has to join anew."""
    relay = with_relay(lab)
    alice, bob = talk_by_relay(lab, 34)
    relay.signal(signal.SIGTERM)
    equal(relay.wait(5), 0, f"exit code ({relay.describe()})")
    time.sleep(12)
    start_relay(lab, relay.own)
    end = time.monotonic() + 12
    while time.monotonic() < end and any(
        len(named(program, "relayConnected")) < 2 for program in (alice, bob)
    ):
        time.sleep(0.1)
    for program in (alice, bob):
        equal(len(named(program, "relayConnected")), 2, f"times by the relay ({program.label})")
    silent = silent_seconds(lab, (alice, bob), 34)
    equal(len(silent) <= 5, True, f"seconds without sound ({silent})")
    return f"{len(silent)} of 31 s without sound"


@scenario
def channel_relay_outlives_rendezvous(lab):
    """After a rendezvous that forgot all members they are others to whoever joins then."""
    relay = with_relay(lab)
    alice, bob = talk_by_relay(lab, 44)
    relay.introducer.kill()
    time.sleep(1)
    lab.rendezvous(options=("--relay-key", lab.path("relays")))
    time.sleep(6)
    carol = joined(lab, "b", "--relay", "--duration", "20", identity="carol")
    carol.wait_line(lambda line: line.get("name") == "relayFirstFrame", 12)
    silent = silent_seconds(lab, (alice, bob, carol), 44)
    late = [second for second in silent if second > 34]
    equal(late, [], f"seconds without sound at the end ({silent})")
    took = first_sound(carol, "relayFirstFrame")
    return f"{len(silent)} of 41 s without sound, carol hears after {took} ms"


def first_sound(program, name="firstFrameReceived"):
    """From the command to join to the first audio frame of another member."""

    def at(line):
        return datetime.fromisoformat(line["ts"].replace("Z", "+00:00"))

    begin = next(line for line in program.lines() if line.get("name") == "channelStateChanged")
    heard = next(line for line in program.lines() if line.get("name") == name)
    return round((at(heard) - at(begin)).total_seconds() * 1000)


@scenario
def channel_host_dies(lab):
    lab.rendezvous()
    alice = joined(lab, "a", "--duration", "30", identity="alice")
    bob = joined(lab, "b", identity="bob")
    alice.wait_line(lambda line: line.get("name") == "userJoined", 5)
    alice.wait_line(lambda line: line.get("name") == "connected", 5)
    time.sleep(0.7)
    bob.kill()
    killed = time.time()
    line = alice.wait_line(lambda line: line.get("name") == "userOffline", 25)
    equal(line["reason"], "dropped", "how bob went")
    took = moment(line) - killed
    equal(19.5 <= took <= 20.2, True, f"seconds until alice was told ({took:.2f})")
    return f"told after {took:.2f} s"


@scenario
def channel_eighteen_hosts(lab):
    """The operator lets one host more in than usual, and still one more finds no room."""
    with_relay(lab, serve=("--limit-channel-hosts", "18"))
    hosts = []
    for number in range(18):
        words = ("--relay", "--duration", "30")
        hosts.append(joined(lab, "ab"[number % 2], *words, identity=f"host{number}"))
        hosts[-1].wait_line(lambda line: line.get("name") == "channelJoined", 10)
    late = joined(lab, "a", "--relay", "--duration", "5", identity="late")
    late.wait(15)
    equal(summary(late)["reason"], "tooManyHosts", "why the 19th is not there")
    hosts[0].wait_line(lambda _: len(named(hosts[0], "userJoined")) == 17, 10)
    for host in hosts:
        host.signal(signal.SIGTERM)
    for host in hosts:
        equal(host.wait(10), 0, f"exit code ({host.describe()})")


@scenario
def channel_token(lab):
    lab.rendezvous()
    made = lab.run(
        "r", f"{BIN}/earshot", "token", "new", "--key", lab.path("key"), "--public", lab.path("pub")
    )
    equal(made.wait(5), 0, f"exit code ({made.describe()})")
    with open(lab.path("pub")) as file:
        room = "tea@" + file.read().strip()
    identity = lab.run(
        "r", f"{BIN}/earshot", "keygen", "--json", "--identity", lab.path("identity-alice")
    )
    equal(identity.wait(5), 0, f"exit code ({identity.describe()})")
    subject = next(identity.lines())["id"]
    signed = lab.run(
        "r",
        f"{BIN}/earshot",
        "token",
        "sign",
        "--key",
        lab.path("key"),
        "--sub",
        subject,
        "--channel",
        room,
        "--scope",
        "host audience",
        "--expires",
        "33s",
    )
    equal(signed.wait(5), 0, f"exit code ({signed.describe()})")
    with open(lab.path(signed.label + ".out")) as file, open(lab.path("token"), "w") as out:
        out.write(file.read())
    alice = joined(lab, "a", "--token", lab.path("token"), identity="alice", room=room)
    alice.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    bob = joined(lab, "b", "--token", lab.path("token"), identity="bob", room=room)
    equal(bob.wait(10), 7, f"exit code with another's token ({bob.describe()})")
    alice.wait_line(lambda line: line.get("name") == "channelTokenWillExpire", 10)
    equal(alice.wait(40), 7, f"exit code at the end of the token ({alice.describe()})")
    equal(summary(alice)["reason"], "tokenExpired", "the reason")


class Keyed:
    """Channels with one key, and whoever signs their tokens."""

    def __init__(self, lab):
        self.lab, self.others = lab, 0
        self.public = self.make_key("key")

    def make_key(self, name):
        made = self.lab.run(
            "r", f"{BIN}/earshot", "token", "new", "--key", self.lab.path(name), "--public",
            self.lab.path(name + ".pub"),
        )  # fmt: skip
        equal(made.wait(5), 0, f"exit code ({made.describe()})")
        with open(self.lab.path(name + ".pub")) as file:
            return file.read().strip()

    def room(self, name):
        return f"{name}@{self.public}"

    def give(self, name, room, life, key="key"):
        """Puts a token for somebody into a file; the file."""
        keygen = self.lab.run(
            "r", f"{BIN}/earshot", "keygen", "--json", "--identity",
            self.lab.path(f"identity-{name}"),
        )  # fmt: skip
        equal(keygen.wait(5), 0, f"exit code ({keygen.describe()})")
        signed = self.lab.run(
            "r", f"{BIN}/earshot", "token", "sign", "--key", self.lab.path(key), "--sub",
            next(keygen.lines())["id"], "--channel", room, "--scope", "host audience",
            "--expires", life,
        )  # fmt: skip
        equal(signed.wait(5), 0, f"exit code ({signed.describe()})")
        path = self.lab.path(f"token-{name}-{room.split('@')[0]}")
        os.rename(self.lab.path(signed.label + ".out"), path)
        return path


def wait_named(program, name, seconds):
    return program.wait_line(lambda line: line.get("name") == name, seconds)


@scenario
def channel_token_renewed(lab):
    """Scenario 37: a token of 40 s is renewed from its file, in a mesh and by a relay."""
    with_relay(lab)
    keyed = Keyed(lab)
    keyed.make_key("foreign")
    for name, hertz in (("low", 440), ("high", 700)):
        tone(lab.path(name + ".wav"), hertz, 70)
    pairs = []
    for name, way in (("tea", "--mesh"), ("milk", "--relay")):
        room = keyed.room(name)
        stays, renewed = f"{name}-alice", f"{name}-bob"
        alice = joined(
            lab, "a", way, "--token", keyed.give(stays, room, "1h"), "--play",
            lab.path("low.wav"), "--save", lab.path(stays + ".wav"), identity=stays, room=room,
        )  # fmt: skip
        wait_named(alice, "channelJoined", 5)
        token = keyed.give(renewed, room, "40s")
        bob = joined(
            lab, "b", way, "--token", token, "--play", lab.path("high.wav"), "--save",
            lab.path(renewed + ".wav"), "--duration", "50", identity=renewed, room=room,
        )  # fmt: skip
        wait_named(bob, "channelJoined", 5)
        pairs.append((room, renewed, token, alice, bob))
    # One program in both, each by its own token.
    also = f"{keyed.room('milk')}:audience:{keyed.give('carol', keyed.room('milk'), '1h')}"
    carol = joined(
        lab, "b", "--role", "audience", "--token", keyed.give("carol", keyed.room("tea"), "1h"),
        "--also", also, "--duration", "6", identity="carol", room=keyed.room("tea"),
    )  # fmt: skip
    equal(carol.wait(15), 0, f"exit code ({carol.describe()})")
    equal(len(named(carol, "channelJoined")), 2, "channels with a key that carol joined")
    for _, _, token, _, bob in pairs:
        left = wait_named(bob, "channelTokenWillExpire", 12)["inMs"]
        equal(29_000 <= left <= 30_000, True, f"ms left at the warning ({left})")
        with open(token, "w") as file:
            file.write("nonsense\n")
    for room, renewed, _, _, bob in pairs:
        wait_named(bob, "channelTokenUnusable", 5)
        keyed.give(renewed, room, "1h", key="foreign")
    for room, renewed, _, _, bob in pairs:
        wait_named(bob, "channelTokenRefused", 5)
        keyed.give(renewed, room, "1h")
    for _, _, _, _, bob in pairs:
        wait_named(bob, "channelTokenRenewed", 5)
    longest = []
    for _, renewed, _, alice, bob in pairs:
        equal(bob.wait(60), 0, f"exit code ({bob.describe()})")
        alice.signal(signal.SIGTERM)
        equal(alice.wait(5), 0, f"exit code ({alice.describe()})")
        counts = [
            len(named(bob, name))
            for name in (
                "channelJoined", "channelTokenWillExpire", "channelTokenUnusable",
                "channelTokenRefused", "channelTokenRenewed", "userOffline", "channelRejoined",
            )
        ]  # fmt: skip
        equal(counts, [1, 1, 1, 1, 1, 0, 0], f"events of {renewed}")
        for path, hertz in ((renewed, 440), (renewed.replace("bob", "alice"), 700)):
            found = gaps(lab.path(path + ".wav"), hertz, 4, 46)
            equal(max(found, default=0) <= 60, True, f"pauses in {path}, ms ({found})")
            longest.append(max(found, default=0))
    return f"longest pauses {longest} ms over the end of the first token"


@scenario
def channel_relay_only(lab):
    """Who wants the relay only has no call with anybody while the relay is away, and waits for it."""
    relay = with_relay(lab)
    tone(lab.path("low.wav"), 440, 60)
    alice = joined(lab, "a", "--relay-only", "--play", lab.path("low.wav"), identity="alice")
    wait_named(alice, "relayConnected", 5)
    # Carol would talk host to host meanwhile.
    carol = joined(lab, "a", "--relay", "--role", "audience", identity="carol")
    bob = joined(
        lab, "b", "--relay-only", "--role", "audience", "--save", lab.path("bob.wav"),
        identity="bob",
    )  # fmt: skip
    for program in (bob, carol):
        wait_named(program, "relayFirstFrame", 6)
    time.sleep(2)
    relay.kill()
    for program in (alice, bob):
        wait_named(program, "relayLost", 30)
    time.sleep(6)
    start_relay(lab, relay.own)
    for program in (alice, bob):
        end = time.monotonic() + 40
        while len(named(program, "relayConnected")) < 2 and time.monotonic() < end:
            time.sleep(0.05)
        equal(len(named(program, "relayConnected")), 2, f"seats ({program.describe()})")
    time.sleep(5)
    for program in (alice, bob, carol):
        program.signal(signal.SIGTERM)
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
        equal(named(program, "connected"), [], f"calls ({program.label})")
    with wave.open(lab.path("bob.wav"), "rb") as file:
        seconds = file.getnframes() // 48000
    equal(level(lab.path("bob.wav"), 440, seconds - 2) > 4000, True, "alice is heard at the end")


def messages_of(lab, *way):
    """Alice's lines come on standard input, bob's from his keys; carol reads words."""
    reader, writer = os.pipe()
    words = (
        "--no-port-mapping", "--rendezvous", f"{ADDRESS['r']}:{PORT}", *way,
    )  # fmt: skip

    def started(host, name, *more, stdin=subprocess.DEVNULL, terminal=()):
        return lab.run(
            host, *terminal, f"{BIN}/earshot", "join", "tea", *words, *more, "--identity",
            lab.path("identity-" + name), stdin=stdin, name=name,
        )  # fmt: skip

    alice = started("a", "alice", "--json", "--text", "-", stdin=reader)
    os.close(reader)
    # Nobody is there yet: it waits.
    os.write(writer, "it is ré\u202eady\x1b[2J\r\n\n".encode())
    wait_named(alice, "channelJoined", 5)
    keyboard = Keyboard()
    bob = started("b", "bob", "--json", stdin=keyboard.theirs, terminal=("setsid", "-c"))
    first = wait_named(bob, "channelMessage", 10)
    equal(first["text"], "it is ré\u202eady\x1b[2J", "what bob reads first")
    equal(first["stream"], 8, "the stream")
    sent = wait_named(alice, "channelMessageDelivery", 5)
    equal([sent["message"], sent["delivered"]], [1, True], "what alice knows of it")
    carol = started("b", "carol", "--role", "audience", "--events", lab.path("carol.jsonl"))
    wait_named(bob, "audienceJoined", 5)
    time.sleep(3)
    for key in "tIt is hotx\x7f, q\n":
        keyboard.press(key)
    found = wait_named(alice, "channelMessage", 5)
    equal(found["text"], "It is hot, q", "what alice reads")
    lines = [f"line {number}" for number in range(60)]
    os.write(writer, b"\xff\x1b\n" + "".join(f"{line}\n" for line in lines).encode())
    os.write(writer, b"last\x1b[31m\x9b2J")
    os.close(writer)
    end = time.monotonic() + 12
    while len(named(bob, "channelMessage")) < 63 and time.monotonic() < end:
        time.sleep(0.05)
    texts = [line.get("text") for line in named(bob, "channelMessage")]
    equal(texts[2:62], lines, "the lines that bob reads")
    equal([texts[1], *texts[62:]], [None, None], "what is no text")
    time.sleep(1)
    delivered = [line["delivered"] for line in named(alice, "channelMessageDelivery")]
    equal(delivered, [True] * 63, "what alice knows of all")
    for program in (alice, bob, carol):
        program.signal(signal.SIGTERM)
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
    with open(lab.path(carol.label + ".out"), "rb") as file:
        screen = file.read()
    uids = [named(program, "channelJoined")[0]["uid"] for program in (alice, bob)]
    for text in (f"{uids[1]}: It is hot, q", f"{uids[0]}: line 3", "bytes that are no text"):
        equal(text.encode() in screen, True, f"{text!r} on carol's screen ({screen})")
    equal(b"\x1b" in screen or b"\x9b" in screen, False, "orders to carol's terminal")
    return f"{len(texts)} lines"


@scenario
def channel_messages(lab):
    lab.rendezvous()
    return messages_of(lab, "--mesh")


@scenario
def channel_relay_messages(lab):
    with_relay(lab)
    return messages_of(lab, "--relay")


# A call becomes a channel (docs/protocol/channels.md §10).

HERTZ = {"alice": 440, "bob": 700, "carol": 1000, "dan": 1500}


def sounds(lab, name, seconds=60):
    """What one plays, and where it saves what it hears."""
    tone(lab.path(f"{name}-tone.wav"), HERTZ[name], seconds, peak=6000)
    return ("--play", lab.path(f"{name}-tone.wav"), "--save", lab.path(f"{name}.wav"))


def speaking(lab, host, name, *words, stdin=subprocess.DEVNULL):
    """A program that says in words what happens, and writes its lines to a file."""
    terminal = () if stdin == subprocess.DEVNULL else ("setsid", "-c")
    events = lab.path(f"{name}.jsonl")
    program = lab.run(
        host, *terminal, f"{BIN}/earshot", *words, *sounds(lab, name), "--events", events,
        "--no-port-mapping", "--rendezvous", f"{ADDRESS['r']}:{PORT}", "--name", name,
        "--identity", lab.path("identity-" + name), stdin=stdin, name=name,
    )  # fmt: skip

    def lines():
        if os.path.exists(events):
            yield from (json.loads(line) for line in whole_lines(events))

    def said():
        text = ""
        for output in (program.out, program.err):
            with open(output.name, errors="replace") as file:
                text += file.read()
        return text

    program.lines, program.stderr = lines, said
    program.describe = lambda: f"{name}: {said()}"
    return program


def answering(lab, host, name, *words):
    """Somebody who answers without a person."""
    if not {"--reject", "--accept"} & set(words):
        words += ("--accept",)
    program = speaking(lab, host, name, "answer", "--calls", "1", *words)
    program.wait_event("registered")
    return program


def at_terminal(lab, host, name, *words):
    """The same with a person, who presses keys."""
    keyboard = Keyboard()
    program = speaking(lab, host, name, *words, stdin=keyboard.theirs)
    program.wait_event("registered")
    program.press, program.keyboard = keyboard.press, keyboard
    return program


def caller(lab, *words):
    return speaking(lab, "a", "alice", "call", "bob", *words)


def connected(program, count, seconds=15):
    """Until a program has been connected in so many calls."""
    program.wait_line(lambda _: len(named(program, "connected")) >= count, seconds)


def hears(lab, name, others, second):
    for other, hertz in HERTZ.items():
        if other != name:
            loud = level(lab.path(name + ".wav"), hertz, second)
            equal(loud > 3000, other in others, f"{name} hears {other} ({loud:.0f})")


@scenario
def call_becomes_a_channel(lab):
    """The call of two goes on without a gap; who answers by itself leaves with the caller."""
    lab.rendezvous()
    bob, carol = answering(lab, "b", "bob"), answering(lab, "b", "carol")
    alice = caller(lab, "--invite", "carol", "--duration", "12")
    for program in (alice, bob, carol):
        connected(program, 2)
    equal(alice.wait(20), 0, f"exit code ({alice.describe()})")
    # Fault of before: the two held each other.
    for program in (bob, carol):
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
        equal("has left" in program.stderr(), True, f"why it ends ({program.stderr()})")
        equal("3345" in program.stderr() or "Host " in program.stderr(), False, program.stderr())
    for name, others in (
        ("alice", ("bob", "carol")), ("bob", ("alice", "carol")), ("carol", ("alice", "bob")),
    ):  # fmt: skip
        hears(lab, name, others, 6)
    worst = 0
    for name, other in (("bob", "alice"), ("alice", "bob")):
        pauses = gaps(lab.path(name + ".wav"), HERTZ[other], 1, 10)
        worst = max(worst, *pauses, 0)
        equal(max(pauses, default=0) <= 60, True, f"pauses of {other} at {name}, ms ({pauses})")
    # The two have one call, not a second one in the channel.
    calls = {line["callId"] for program in (alice, bob) for line in named(program, "connected")}
    equal(len(calls), 3, "calls of the three")
    equal(summary(alice)["outcome"], "completed", "outcome of the first call")
    return f"longest pause of the two {worst} ms"


def agree(program, words, key="y", count=1):
    """A person is asked something, and answers."""
    program.wait_line(lambda _: asked(program, words) >= count, 15)
    # A key that comes before it can be read is not for it.
    time.sleep(1.2)
    program.press(key)


def asked(program, words):
    said = " ".join(program.stderr().split())
    return sum(words in part.split(":")[-1] for part in said.split("Press y or n")[:-1])


@scenario
def call_becomes_a_channel_of_persons(lab):
    """Persons at terminals: who invited leaves, the other two go on; names, codes and keys."""
    lab.rendezvous()
    bob = at_terminal(lab, "b", "bob", "answer", "--ask", "--calls", "1")
    carol = at_terminal(lab, "b", "carol", "answer", "--ask", "--calls", "1")
    alice = at_terminal(lab, "a", "alice", "call", "bob")
    bob.wait_event("incomingCall")
    bob.press("y")
    connected(alice, 1)
    alice.press("i")
    alice.press("bob\n")
    alice.wait_words("bob is here already", 5)
    alice.press("icarox\x7fl\n")
    carol.wait_event("incomingCall")
    carol.press("y")
    agree(bob, "asks carol")
    for program in (alice, bob, carol):
        connected(program, 2)
    alice.wait_words("Short code with carol", 5)
    bob.wait_words("Short code with", 5)
    alice.press("c")
    alice.wait_words("Whose short code? 1: bob, 2: carol", 5)
    alice.press("2")
    alice.wait_line(lambda line: line.get("name") == "peerVerified", 5)
    time.sleep(3)
    alice.press("q")
    equal(alice.wait(10), 0, f"exit code ({alice.describe()})")
    bob.wait_words("is still there", 5)
    # Live lines and statistics go on with the one who is left.
    count = sum(line["type"] == "stats" for line in bob.lines())
    bob.press("s")
    bob.wait_line(lambda _: sum(line["type"] == "stats" for line in bob.lines()) > count, 3)
    time.sleep(3)
    equal((bob.process.poll(), carol.process.poll()), (None, None), "the two go on")
    bob.press("q")
    for program in (bob, carol):
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    with wave.open(lab.path("bob.wav"), "rb") as file:
        last = file.getnframes() // 48000 - 2
    hears(lab, "bob", ("carol",), last)
    pauses = gaps(lab.path("bob.wav"), HERTZ["carol"], last - 3, last)
    equal(max(pauses, default=0) <= 60, True, f"pauses of carol at bob, ms ({pauses})")
    return f"longest pause while alice leaves {max(pauses, default=0)} ms"


@scenario
def channel_of_a_call_brings_in_more(lab):
    """Who has invited one brings in another when the first other end has left."""
    lab.rendezvous()
    bob, carol, dan = (
        answering(lab, "b", name, *words)
        for name, *words in (("bob", "--duration", "8"), ("carol",), ("dan",))
    )
    alice = at_terminal(lab, "a", "alice", "call", "bob", "--invite", "carol")
    for program in (alice, carol):
        connected(program, 2)
    equal(bob.wait(20), 0, f"exit code ({bob.describe()})")
    alice.wait_words("bob has left; carol is still there", 5)
    alice.press("idan\n")
    for program, count in ((alice, 3), (dan, 2)):
        connected(program, count)
    time.sleep(3)
    alice.press("q")
    for program in (alice, carol, dan):
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    hears(lab, "dan", ("alice", "carol"), 2)


@scenario
def channel_of_a_call_keeps_to_from(lab):
    """`answer --from` holds in the channel: who may not ring is not talked with, said once."""
    lab.rendezvous()
    made = lab.run(
        "r", f"{BIN}/earshot", "keygen", "--json", "--identity", lab.path("identity-alice")
    )
    equal(made.wait(5), 0, f"exit code ({made.describe()})")
    own = next(made.lines())["id"]
    bob = answering(lab, "b", "bob", "--from", own)
    carol = answering(lab, "b", "carol")
    alice = caller(lab, "--invite", "carol", "--duration", "12")
    for program in (alice, carol):
        connected(program, 1)
    connected(alice, 2)
    # Whom bob keeps out was never there: it is not "gone".
    time.sleep(3)
    equal("is gone" in carol.stderr(), False, carol.stderr())
    # To others bob is busy as ever: the channel has not raised how many may ring.
    time.sleep(2)
    dan = lab.peer("a", "call", "bob", "--no-port-mapping", name="dan")
    outcome(dan, "busy", 4)
    for program in (alice, bob, carol):
        equal(program.wait(20), 0, f"exit code ({program.describe()})")
    equal(len(named(bob, "connected")), 1, "calls of bob")
    equal(bob.stderr().count("is not talked with"), 1, bob.stderr())
    hears(lab, "bob", ("alice",), 6)
    hears(lab, "carol", ("alice",), 6)
    hears(lab, "alice", ("bob", "carol"), 6)


@scenario
def channel_of_a_call_refused(lab):
    """Why nobody comes is told as in a call, and the call of the two goes on as it was."""
    lab.rendezvous()
    bob = answering(lab, "b", "bob")
    carol = answering(lab, "b", "carol", "--reject", "not now")
    dan = answering(lab, "b", "dan")
    other = lab.peer("r", "call", "dan", "--no-port-mapping", "--duration", "20", name="erin")
    connected(dan, 1)
    alice = caller(
        lab, "--invite", "carol", "--invite", "dan", "--invite", "nobody", "--duration", "6"
    )
    for words in ("carol: rejected: ", "not now", "dan: busy: ", "nobody: unreachable: "):
        alice.wait_words(words, 8)
    equal(alice.wait(15), 0, f"exit code ({alice.describe()})")
    equal(bob.wait(5), 0, f"exit code ({bob.describe()})")
    equal(carol.wait(5), 0, f"exit code ({carol.describe()})")
    equal(named(bob, "channelJoined") + named(alice, "channelJoined"), [], "channels")
    pauses = gaps(lab.path("bob.wav"), HERTZ["alice"], 1, 5)
    equal(max(pauses, default=0) <= 60, True, f"pauses, ms ({pauses})")
    other.signal(signal.SIGTERM)


@scenario
def called_one_makes_the_channel(lab):
    """Who was called invites; who calls cannot be called itself, and calls the third."""
    lab.rendezvous()
    bob = at_terminal(lab, "b", "bob", "answer", "--ask", "--calls", "1")
    carol = answering(lab, "b", "carol")
    alice = caller(lab, "--duration", "12")
    bob.wait_event("incomingCall")
    bob.press("y")
    connected(bob, 1)
    bob.press("icarol\n")
    for program in (alice, bob, carol):
        connected(program, 2)
    equal(alice.wait(20), 0, f"exit code ({alice.describe()})")
    bob.wait_words("alice has left; carol is still there", 5)
    time.sleep(2)
    equal((bob.process.poll(), carol.process.poll()), (None, None), "who invited is still there")
    bob.press("q")
    for program in (bob, carol):
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    for name, others in (
        ("alice", ("bob", "carol")), ("bob", ("alice", "carol")), ("carol", ("alice", "bob")),
    ):  # fmt: skip
        hears(lab, name, others, 6)


@scenario
def caller_at_a_terminal_is_asked(lab):
    """Nobody is brought into a channel with others without being asked; no leaves the call."""
    lab.rendezvous()
    bob = at_terminal(lab, "b", "bob", "answer", "--ask", "--calls", "1")
    carol, dan = answering(lab, "b", "carol"), answering(lab, "b", "dan")
    alice = at_terminal(lab, "a", "alice", "call", "bob")
    bob.wait_event("incomingCall")
    bob.press("y")
    connected(bob, 1)
    bob.press("icarol\n")
    connected(carol, 1)
    alice.wait_line(lambda _: asked(alice, "carol") == 1, 15)
    bob.wait_words("alice is being asked whether others may come", 5)
    time.sleep(3)
    equal(len(named(alice, "connected")), 1, "calls before the answer")
    equal(named(alice, "channelJoined"), [], "channels before the answer")
    alice.press("n")
    bob.wait_words("alice wants nobody else in this call", 5)
    equal(carol.wait(10), 0, f"exit code ({carol.describe()})")
    hears(lab, "carol", ("bob",), 2)
    equal((alice.process.poll(), bob.process.poll()), (None, None), "the two go on")
    bob.press("idan\n")
    agree(alice, "dan")
    for program in (alice, bob, dan):
        connected(program, 3 if program is bob else 2)
    time.sleep(3)
    alice.press("q")
    equal(alice.wait(10), 0, f"exit code ({alice.describe()})")
    equal("dan? heard" in " ".join(alice.stderr().split()), True, alice.stderr())
    equal([one["heardMs"] > 1000 for one in members(alice)], [True], f"{members(alice)}")
    bob.press("q")
    for program in (bob, dan):
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    hears(lab, "dan", ("alice", "bob"), 2)


def members(program):
    """What the end says of further members."""
    return next(line for line in program.lines() if line["type"] == "channelSummary")["members"]


@scenario
def two_who_invite_at_once_have_one_channel(lab):
    """Both ends bring in somebody at the same moment: all four are in one channel, rung once."""
    lab.rendezvous()
    bob = at_terminal(lab, "b", "bob", "answer", "--ask", "--calls", "1")
    carol, dan = answering(lab, "b", "carol"), answering(lab, "b", "dan")
    alice = at_terminal(lab, "a", "alice", "call", "bob")
    bob.wait_event("incomingCall")
    bob.press("y")
    for program in (alice, bob):
        connected(program, 1)
    alice.press("icarol\n")
    bob.press("idan\n")
    everybody = (alice, bob, carol, dan)
    end, answered = time.monotonic() + 25, {alice: 0, bob: 0}
    while any(len(named(program, "connected")) < 3 for program in everybody):
        equal(time.monotonic() < end, True, "\n".join(one.describe() for one in everybody))
        for program in (alice, bob):
            if asked(program, "") - (program is bob) > answered[program]:
                answered[program] += 1
                time.sleep(1.2)
                program.press("y")
        time.sleep(0.1)
    equal(sum(answered.values()) >= 2, True, f"questions that were answered: {answered}")
    channels = {named(program, "channelJoined")[-1]["channel"] for program in everybody}
    equal(len(channels), 1, "channels that all are in at last")
    time.sleep(5)
    alice.press("q")
    bob.press("q")
    for program in everybody:
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    for name in HERTZ:
        with wave.open(lab.path(f"{name}.wav"), "rb") as file:
            last = file.getnframes() // 48000 - 4
        hears(lab, name, [other for other in HERTZ if other != name], last)
    for name, program in (("carol", carol), ("dan", dan)):
        text = " ".join(program.stderr().split())
        equal(text.count("into a channel with others"), 1, f"rings at {name} ({text})")


@scenario
def member_of_a_calls_channel_brings_in_another(lab):
    """Who was invited asks whoever made the channel, whose person decides."""
    lab.rendezvous()
    bob, dan = answering(lab, "b", "bob"), answering(lab, "b", "dan")
    carol = at_terminal(lab, "b", "carol", "answer", "--ask", "--calls", "1")
    alice = at_terminal(lab, "a", "alice", "call", "bob", "--invite", "carol")
    carol.wait_event("incomingCall")
    carol.press("y")
    for program in (alice, bob, carol):
        connected(program, 2)
    carol.press("idan\n")
    agree(alice, "dan")
    for program in (alice, bob, carol, dan):
        connected(program, 3)
    time.sleep(3)
    alice.press("q")
    equal(alice.wait(10), 0, f"exit code ({alice.describe()})")
    carol.wait_words("has left", 5)
    carol.press("q")
    for program in (bob, carol, dan):
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    hears(lab, "dan", ("alice", "bob", "carol"), 2)


@scenario
def channel_of_a_call_has_pictures(lab):
    """A further member sees and is seen; each call has a file of its own."""
    lab.rendezvous()
    words = ("--video", "test", "--max-video-bitrate", "200000")
    bob = answering(lab, "b", "bob", *words)
    carol = answering(lab, "b", "carol", *words, "--save-video", lab.path("carol.ivf"))
    alice = caller(
        lab, "--invite", "carol", *words, "--save-video", lab.path("alice.ivf"), "--duration", "14"
    )
    for program in (alice, bob, carol):
        connected(program, 2)
    equal(alice.wait(30), 0, f"exit code ({alice.describe()})")
    for program in (bob, carol):
        equal(program.wait(10), 0, f"exit code ({program.describe()})")
    # Who was invited has its call with alice, and one with bob.
    counts = {}
    for name in ("alice", "alice-member-1", "carol", "carol-member-1"):
        there = sorted(file for file in os.listdir(lab.path(".")) if file.endswith(".ivf"))
        equal(f"{name}.ivf" in there, True, f"pictures of {name} among {there}")
        with open(lab.path(f"{name}.ivf"), "rb") as file:
            counts[name] = int.from_bytes(file.read(32)[24:28], "little")
    equal(min(counts.values()) > 20, True, f"pictures {counts}")
    return f"pictures {counts}"


@scenario
def idle_answer_is_busy_for_members_of_channels(lab):
    """Another program of its identity may be in the channel: a no would end the call for it."""
    lab.rendezvous()
    bob = answering(lab, "b", "bob")
    member = lab.peer(
        "a", "call", "bob", "--no-port-mapping", "--extension", '{"channel":"x"}', name="carol"
    )
    outcome(member, "busy", 4)
    alice = caller(lab, "--duration", "1")
    for program in (alice, bob):
        equal(program.wait(15), 0, f"exit code ({program.describe()})")


@scenario
def script_does_not_stay_in_a_channel(lab):
    """Who calls without a terminal is there for the one that it called, and leaves with it."""
    lab.rendezvous()
    bob = at_terminal(lab, "b", "bob", "answer", "--ask", "--calls", "1")
    carol = at_terminal(lab, "b", "carol", "answer", "--ask", "--calls", "1")
    alice = caller(lab)
    bob.wait_event("incomingCall")
    bob.press("y")
    connected(bob, 1)
    bob.press("icarol\n")
    carol.wait_event("incomingCall")
    carol.press("y")
    for program in (alice, bob, carol):
        connected(program, 2)
    bob.press("q")
    for program in (bob, alice):
        equal(program.wait(8), 0, f"exit code ({program.describe()})")
    # Nobody is left: it says so and ends, unless its person is quicker.
    carol.press("q")
    equal(carol.wait(8), 0, f"exit code ({carol.describe()})")
