"""Calls by a TURN server (coturn), where each side is behind a translator that chooses a new port for each peer."""

import os
import re
import shutil
import signal
import socket
import struct
import sys
import time
import zlib
from datetime import datetime, timezone

from channels import with_relay
from lab import ADDRESS, BIN, PORT, sh
from scenarios import equal, outcome, ready, same_call, scenario, speech

TURN_PORT, TLS_PORT, USER, PASSWORD = 3478, 5349, "relay-user", "relay-password"
INSIDE = {"a": "192.168.71", "b": "192.168.72"}
OUTSIDE = {"a": "10.77.0.11", "b": "10.77.0.12"}
TURN = [
    "--turn",
    f"turn:{ADDRESS['r']}:{TURN_PORT}",
    "--turn-user",
    USER,
    "--turn-password",
    PASSWORD,
]


def has_server():
    return shutil.which("turnserver") is not None


SKIPPED = "skipped: coturn is not installed (tools/setup --relay)"


SECRET = "north-wind-and-sun"
BY_PASSWORD = ["--user", f"{USER}:{PASSWORD}", "--lt-cred-mech"]
BY_SECRET = ["--use-auth-secret", "--static-auth-secret", SECRET]


def turn_server(lab, *users, streams=False):
    """coturn; with `streams` also over TCP, and over TLS with a certificate that `certificate` made."""
    users = users or BY_PASSWORD
    stream_options = ["--no-tls", "--no-dtls", "--no-tcp"]
    if streams:
        stream_options = ["--no-dtls", "--tls-listening-port", str(TLS_PORT), *certificate(lab)]
    program = lab.run(
        "r",
        "turnserver",
        "-n",
        "--listening-ip",
        ADDRESS["r"],
        "--relay-ip",
        ADDRESS["r"],
        "--listening-port",
        str(TURN_PORT),
        "--realm",
        "test",
        *users,
        *stream_options,
        "--no-cli",
        "--min-port",
        "50000",
        "--max-port",
        "50999",
        "--log-file",
        "stdout",
        "--simple-log",
        "--pidfile",
        lab.path("turn.pid"),
        "--userdb",
        lab.path("turn.db"),
        name="turnserver",
    )
    end = time.monotonic() + 5
    while time.monotonic() < end:
        listening = sh("ip", "netns", "exec", lab.ns("r"), "ss", "-lntu").stdout
        if f":{TURN_PORT} " in listening and (not streams or f":{TLS_PORT} " in listening):
            return program
        time.sleep(0.05)
    raise AssertionError(f"  coturn does not listen\n{program.describe()}")


def certificate(lab):
    """The options of coturn for a certificate of its own authority, for its address."""
    name = ["-subj", "/CN=relay"]
    sh(
        "openssl",
        "req",
        "-x509",
        "-newkey",
        "rsa:2048",
        "-nodes",
        "-days",
        "2",
        *name,
        "-keyout",
        lab.path("ca.key"),
        "-out",
        lab.path("ca.pem"),
    )
    sh(
        "openssl",
        "req",
        "-newkey",
        "rsa:2048",
        "-nodes",
        *name,
        "-keyout",
        lab.path("relay.key"),
        "-out",
        lab.path("relay.csr"),
    )
    with open(lab.path("names"), "w") as file:
        file.write(f"subjectAltName=IP:{ADDRESS['r']}\n")
    sh(
        "openssl",
        "x509",
        "-req",
        "-days",
        "2",
        "-in",
        lab.path("relay.csr"),
        "-CA",
        lab.path("ca.pem"),
        "-CAkey",
        lab.path("ca.key"),
        "-CAcreateserial",
        "-extfile",
        lab.path("names"),
        "-out",
        lab.path("relay.pem"),
    )
    return ["--cert", lab.path("relay.pem"), "--pkey", lab.path("relay.key")]


def by(lab, transport):
    """The options of a client for coturn over TCP or TLS."""
    user = ["--turn-user", USER, "--turn-password", PASSWORD]
    if transport == "tcp":
        return ["--turn", f"turn:{ADDRESS['r']}:{TURN_PORT}?transport=tcp", *user]
    return ["--turn", f"turns:{ADDRESS['r']}:{TLS_PORT}", "--turn-ca", lab.path("ca.pem"), *user]


def block_udp(lab, *hosts):
    for host in hosts:
        for chain in ("INPUT", "OUTPUT"):
            sh(
                "ip",
                "netns",
                "exec",
                lab.ns(host),
                "iptables",
                "-w",
                "-A",
                chain,
                "-p",
                "udp",
                "-j",
                "DROP",
            )


def translated(lab, *hosts):
    """Puts hosts behind translators: a new port for each destination, and in comes what answers (RFC 4787 §4, §5)."""
    for host in hosts:
        nat, ns = lab.ns("n" + host), lab.ns(host)
        sh("ip", "netns", "add", nat)
        lab.namespaces.append(nat)
        sh("ip", "-n", ns, "link", "del", "eth0")
        sh(
            "ip",
            "-n",
            lab.ns("s"),
            "link",
            "add",
            f"n{host}",
            "type",
            "veth",
            "peer",
            "name",
            "out0",
            "netns",
            nat,
        )
        sh("ip", "-n", lab.ns("s"), "link", "set", f"n{host}", "master", "br0", "up")
        sh(
            "ip",
            "-n",
            nat,
            "link",
            "add",
            "in0",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            ns,
        )
        for where, device, address in (
            (nat, "out0", OUTSIDE[host]),
            (nat, "in0", INSIDE[host] + ".1"),
            (ns, "eth0", INSIDE[host] + ".2"),
        ):
            sh("ip", "-n", where, "addr", "add", f"{address}/24", "dev", device)
            sh("ip", "-n", where, "link", "set", device, "up")
        sh("ip", "-n", nat, "link", "set", "lo", "up")
        sh("ip", "-n", ns, "route", "add", "default", "via", INSIDE[host] + ".1")
        sh("ip", "netns", "exec", nat, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        sh(
            "ip",
            "netns",
            "exec",
            nat,
            "iptables",
            "-w",
            "-t",
            "nat",
            "-A",
            "POSTROUTING",
            "-o",
            "out0",
            "-j",
            "MASQUERADE",
            "--random-fully",
        )
        for rule in (
            [
                "-A",
                "FORWARD",
                "-i",
                "out0",
                "-m",
                "conntrack",
                "!",
                "--ctstate",
                "ESTABLISHED,RELATED",
                "-j",
                "DROP",
            ],
            ["-A", "INPUT", "-i", "out0", "-j", "DROP"],
        ):
            sh("ip", "netns", "exec", nat, "iptables", "-w", *rule)


CAPTURE = """
import socket, struct, sys
raw = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
raw.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1 << 24)
raw.bind(("eth0", 0))
print("listening", flush=True)
with open(sys.argv[1], "wb", buffering=0) as file:
    while True:
        frame = raw.recv(65535)
        file.write(struct.pack("<H", len(frame)) + frame)
"""


def capture(lab, host, path):
    program = lab.run(host, sys.executable, "-c", CAPTURE, path, name="capture")
    end = time.monotonic() + 5
    while os.path.getsize(program.out.name) == 0:
        assert time.monotonic() < end, f"  no capture\n{program.describe()}"
        time.sleep(0.02)
    return program


def datagrams(path):
    """(source, source port, destination, destination port, payload) of each UDP datagram in a capture."""
    data, at = open(path, "rb").read(), 0
    while at + 2 <= len(data):
        (size,) = struct.unpack_from("<H", data, at)
        frame, at = data[at + 2 : at + 2 + size], at + 2 + size
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        start = 14 + 4 * (frame[14] & 15)
        sender, receiver, length = struct.unpack_from("!HHH", frame, start)
        yield (
            socket.inet_ntoa(frame[26:30]),
            sender,
            socket.inet_ntoa(frame[30:34]),
            receiver,
            frame[start + 8 : start + length],
        )


def is_channel_data(payload):
    return (
        len(payload) > 4
        and 0x40 <= payload[0] <= 0x4F
        and len(payload) == 4 + int.from_bytes(payload[2:4], "big")
    )


def unreadable(packets, words):
    """Sealed packets hold none of the words, and do not shrink: behind flags and connection ID they look random."""
    for word in words:
        assert not any(word.encode() in packet for packet in packets), (
            f"  '{word}' can be read at the relay"
        )
    body = b"".join(packet[16:] for packet in packets)
    ratio = len(zlib.compress(body, 9)) / len(body)
    assert ratio > 0.99, f"  what goes by the relay shrinks to {ratio:.3f}"
    return ratio


def seconds_to_connect(summary):
    return (summary["timeline"]["connectedMs"] - summary["timeline"]["acceptedMs"]) / 1000


@scenario
def symmetric_translators_connect_by_a_relay(lab):
    if not has_server():
        return SKIPPED
    translated(lab, "a", "b")
    lab.rendezvous()
    turn_server(lab)
    capture(lab, "r", lab.path("relay.bin"))
    speech(lab.path("in.wav"), 6)
    bob = ready(lab, "--accept", "--calls", "1", *TURN)
    alice = lab.peer("a", "call", "bob", "--play", lab.path("in.wav"), *TURN, name="alice")
    one, two = outcome(alice, "completed", 0, 25), outcome(bob, "completed", 0, 5)
    same_call(one, two)
    for summary in (one, two):
        equal(summary["path"]["kind"], "relayed", "path")
        equal(summary["audio"]["received"]["lost"], 0, "lost packets")
    took = seconds_to_connect(one)
    assert took <= 1, f"  connected {took} s after accept"
    seen = list(datagrams(lab.path("relay.bin")))
    wrapped = [
        packet[4]
        for packet in seen
        if TURN_PORT in (packet[1], packet[3]) and is_channel_data(packet[4])
    ]
    assert len(wrapped) >= 500, f"  {len(wrapped)} packets of channel data"
    # What a peer sends to the relayed address is what goes without a header: each is found in channel data.
    inside = {packet[4:]: len(packet) for packet in wrapped}
    bare = [
        packet[4]
        for packet in seen
        if TURN_PORT not in (packet[1], packet[3]) and PORT not in (packet[1], packet[3])
    ]
    costs = {inside[packet] - len(packet) for packet in bare if packet in inside}
    # 28 bytes above the codec go with a direct packet (its own test): 32 in all.
    assert costs and max(costs) <= 4, f"  bytes more than direct: {costs}"
    ratio = unreadable([packet[4:] for packet in wrapped], ("alice", "bob"))
    return f"connected {took:.2f} s after accept, {max(costs)} B a packet more, {len(wrapped)} packets shrink to {ratio:.3f}"


def numbers_of(lab, address):
    """What a program tells at --metrics, by name."""
    text = sh("ip", "netns", "exec", lab.ns("r"), "curl", "-s", f"http://{address}/metrics").stdout
    rows = (line.split() for line in text.splitlines() if line and not line.startswith("#"))
    return {row[0]: row[1] for row in rows if len(row) == 2}


@scenario
def symmetric_translators_connect_by_the_relay_of_the_rendezvous(lab):
    """No TURN, no option at the clients: earshot-relay forwards the pair's packets as they are."""
    translated(lab, "a", "b")
    with_relay(lab, "--metrics", f"{ADDRESS['r']}:9101")
    capture(lab, "r", lab.path("relay.bin"))
    speech(lab.path("in.wav"), 6)
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--play", lab.path("in.wav"), name="alice")
    one, two = outcome(alice, "completed", 0, 25), outcome(bob, "completed", 0, 5)
    same_call(one, two)
    for summary in (one, two):
        equal(summary["path"]["kind"], "relayed", "path")
        equal(summary["audio"]["received"]["lost"], 0, "lost packets")
    took = seconds_to_connect(one)
    assert took <= 1, f"  connected {took} s after accept"
    # Each packet leaves the relay as it came, byte for byte, to the other translator.
    seen = [p for p in datagrams(lab.path("relay.bin")) if len(p[4]) and 0x60 <= p[4][0] <= 0x7F]
    came = {p[4]: p[0] for p in seen if p[2] == ADDRESS["r"] and p[3] == 7500}
    went = {p[4]: p[2] for p in seen if p[0] == ADDRESS["r"] and p[1] == 7500}
    outside = {OUTSIDE["a"], OUTSIDE["b"]}
    passed = [packet for packet in went if packet in came]
    assert len(passed) >= 500, f"  {len(passed)} packets by the relay"
    strange = len([packet for packet in went if packet not in came and went[packet] in outside])
    # The capture may miss one that came.
    assert strange * 100 <= len(passed), (
        f"  {strange} of {len(passed)} packets left otherwise than they came"
    )
    for packet in passed:
        equal({came[packet], went[packet]}, outside, "ends of a packet")
    ratio = unreadable(passed, ("alice", "bob"))
    # A program that ends with its call may leave its binding to the relay, which forgets it after 30 s.
    end = time.monotonic() + 40
    while (found := numbers_of(lab, f"{ADDRESS['r']}:9101"))["earshot_relay_pairs"] != "0":
        assert time.monotonic() < end, f"  the pair is still bound: {found}"
        time.sleep(0.1)
    for name in ("forged", "replayed", "refused"):
        equal(found[f"earshot_relay_pair_binds_{name}_total"], "0", name)
    return f"connected {took:.2f} s after accept, {len(passed)} packets unchanged, shrink to {ratio:.3f}"


def secret_file(lab, name="secret", mode=0o600):
    path = lab.path(name)
    with open(path, "w") as file:
        file.write(SECRET + "\n")
    os.chmod(path, mode)
    return path


@scenario
def clients_get_their_relay_from_the_rendezvous(lab):
    if not has_server():
        return SKIPPED
    translated(lab, "a", "b")
    # Nothing answers at the first server: the second is used.
    lab.rendezvous(
        options=[
            "--turn",
            f"turn:{ADDRESS['r']}:3479",
            "--turn",
            f"turn:{ADDRESS['r']}:{TURN_PORT}",
            "--turn-secret",
            secret_file(lab),
        ]
    )
    turn_server(lab, *BY_SECRET)
    capture(lab, "r", lab.path("relay.bin"))
    bob = ready(lab, "--accept", "--calls", "1")
    bob.wait_event("relayAvailable")
    alice = lab.peer("a", "call", "bob", "--duration", "6", name="alice")
    one, two = outcome(alice, "completed", 0, 25), outcome(bob, "completed", 0, 5)
    for summary in (one, two):
        equal(summary["path"]["kind"], "relayed", "path")
    control = b"".join(
        packet[4]
        for packet in datagrams(lab.path("relay.bin"))
        if TURN_PORT in (packet[1], packet[3]) and not is_channel_data(packet[4])
    )
    users = set(re.findall(rb"[0-9]{10}:[A-Za-z0-9_-]{11}", control))
    equal(len(users), 2, "users at the relay")
    assert b"alice" not in control and b"bob" not in control, "  names can be read at the relay"
    return f"connected {seconds_to_connect(one):.2f} s after accept, no option at the clients"


KNOCK = """
import os, socket, sys
host, port = sys.argv[1].rsplit(":", 1)
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for _ in range(1000):
    out.sendto(os.urandom(200), (host, int(port)))
"""


@scenario
def a_relayed_address_is_no_way_in(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous(
        options=["--turn", f"turn:{ADDRESS['r']}:{TURN_PORT}", "--turn-secret", secret_file(lab)]
    )
    turn_server(lab, *BY_SECRET)
    bob = ready(lab, "--accept", "--calls", "1")
    relayed = bob.wait_event("relayAvailable")["address"]
    capture(lab, "b", lab.path("bob.bin"))
    equal(
        lab.run("a", sys.executable, "-c", KNOCK, relayed, name="stranger").wait(10), 0, "exit code"
    )
    alice = lab.peer("a", "call", "bob", "--duration", "2", name="alice")
    outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
    arrived = [
        packet
        for packet in datagrams(lab.path("bob.bin"))
        if packet[1] == TURN_PORT and len(packet[4]) == 204
    ]
    assert len(arrived) < 10, f"  {len(arrived)} of a stranger's 1000 datagrams came by the relay"
    return f"{len(arrived)} of a stranger's 1000 datagrams came through"


THIEF = """
import hashlib, hmac, os, socket, struct, sys, time
place, user, password, replayed, *victims = sys.argv[1:]
host, port = place.rsplit(":", 1)
COOKIE = 0x2112A442
out = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
out.connect((host, int(port)))
realm = nonce = b""

def attribute(kind, value):
    return struct.pack("!HH", kind, len(value)) + value + bytes(-len(value) % 4)

def peer(text):
    address, port = text.rsplit(":", 1)
    number = struct.unpack("!I", socket.inet_aton(address))[0] ^ COOKIE
    return attribute(0x12, struct.pack("!BBHI", 0, 1, int(port) ^ COOKIE >> 16, number))

def message(kind, body, signs=True):
    if signs and nonce:
        body += attribute(6, user.encode()) + attribute(0x14, realm) + attribute(0x15, nonce)
        head = struct.pack("!HHI", kind, len(body) + 24, COOKIE) + b"thief-thief-"
        key = hashlib.md5(user.encode() + b":" + realm + b":" + password.encode()).digest()
        body += attribute(8, hmac.new(key, head + body, hashlib.sha1).digest())
    return struct.pack("!HHI", kind, len(body), COOKIE) + b"thief-thief-" + body

def ask(kind, body):
    global realm, nonce
    for _ in range(2):
        out.send(message(kind, body))
        answer = out.recv(2000)
        at, found = 20, {}
        while at < len(answer):
            name, size = struct.unpack_from("!HH", answer, at)
            found[name] = answer[at + 4 : at + 4 + size]
            at += 4 + (size + 3 & ~3)
        realm, nonce = found.get(0x14, realm), found.get(0x15, nonce)
        if answer[0] == 1 and answer[1] & 0x10 == 0:
            return
    sys.exit(f"refused: {answer[:40]}")

ask(3, attribute(0x19, bytes([17, 0, 0, 0])))
for victim in victims:
    ask(8, peer(victim))
print("let in", flush=True)
packets = [bytes.fromhex(line) for line in open(replayed)] + [os.urandom(200) for _ in range(300)]
for packet in packets:
    for victim in victims:
        out.send(message(0x16, peer(victim) + attribute(0x13, packet), signs=False))
    time.sleep(0.002)
out.settimeout(1)
heard = 0
try:
    while True:
        heard += out.recv(2000)[:2] == b"\\x00\\x17"
except TimeoutError:
    print("heard", heard, flush=True)
"""


@scenario
def who_steals_the_credentials_of_a_relay_gets_no_call(lab):
    if not has_server():
        return SKIPPED
    translated(lab, "a", "b")
    lab.rendezvous()
    turn_server(lab)
    capture(lab, "r", lab.path("relay.bin"))
    bob = ready(lab, "--accept", "--calls", "1", *TURN)
    alice = lab.peer("a", "call", "bob", "--duration", "12", *TURN, name="alice")
    alice.wait_event("connected")
    places = [program.wait_event("relayAvailable")["address"] for program in (alice, bob)]
    time.sleep(2)
    with open(lab.path("replayed"), "w") as file:
        for packet in list(datagrams(lab.path("relay.bin")))[-400:]:
            if is_channel_data(packet[4]):
                file.write(packet[4][4:].hex() + "\n")
    began = datetime.now(timezone.utc).isoformat()
    thief = lab.run(
        "r",
        sys.executable,
        "-c",
        THIEF,
        f"{ADDRESS['r']}:{TURN_PORT}",
        USER,
        PASSWORD,
        lab.path("replayed"),
        *places,
        name="thief",
    )
    equal(thief.wait(15), 0, f"exit code of the thief ({thief.describe()})")
    said = open(thief.out.name).read().split("\n")
    # The relay lets the thief in, and what it sends arrives: it stands where the peer's relay does.
    equal(said[0], "let in", "the thief at the relay")
    equal(said[1], "heard 0", "what the thief was answered")
    one, two = outcome(alice, "completed", 0, 25), outcome(bob, "completed", 0, 5)
    for summary in (one, two):
        equal(summary["audio"]["received"]["lost"], 0, "lost packets")
        equal(summary["path"]["kind"], "relayed", "path")
    for program in (alice, bob):
        moves = [line for line in program.lines() if line.get("name") == "pathChanged"]
        assert all(line["ts"] < began for line in moves), f"  {moves} after {began}"
    with open(lab.path("replayed")) as file:
        return f"{len(file.readlines())} replayed packets and 300 of its own: {said[1]}"


@scenario
def a_secret_that_others_may_read_is_refused(lab):
    for options, code in (
        (["--turn-secret", secret_file(lab, "open", 0o644)], 8),
        (["--turn-secret", lab.path("none")], 8),
        ([], 2),
    ):
        program = lab.run(
            "r",
            f"{BIN}/earshot-rendezvous",
            "--data",
            lab.path("data"),
            "--turn",
            "turn:h",
            *options,
        )
        equal(program.wait(5), code, f"exit code of {options}")


@scenario
def where_udp_is_blocked_all_goes_by_the_relay_over_tcp_and_tls(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab, streams=True)
    notes = []
    for blocked, transport in (("a", "tcp"), ("b", "tls"), ("ab", "tcp"), ("ab", "tls")):
        for host in "ab":
            sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", "-F")
        block_udp(lab, *blocked)
        options = {host: by(lab, transport) if host in blocked else [] for host in "ab"}
        began = time.monotonic()
        bob = ready(lab, "--accept", "--calls", "1", *options["b"])
        registered = time.monotonic() - began
        alice = lab.peer("a", "call", "bob", "--duration", "4", *options["a"], name="alice")
        one, two = outcome(alice, "completed", 0, 25), outcome(bob, "completed", 0, 5)
        for summary in (one, two):
            equal(summary["path"]["kind"], "relayed", f"path, {transport}, {blocked} blocked")
            equal(
                summary["audio"]["received"]["lost"],
                0,
                f"lost packets, {transport}, {blocked} blocked",
            )
        notes.append(
            f"{'+'.join(blocked)} {transport}: registered {registered:.2f} s, "
            f"connected {seconds_to_connect(one):.2f} s after accept"
        )
    return "; ".join(notes)


@scenario
def a_server_over_tls_must_have_its_certificate(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab, streams=True)
    good = by(lab, "tls")
    system = good[:2] + good[4:]
    alice = lab.peer("a", "answer", "--accept", *system, name="alice")
    error = alice.wait_event("relayUnavailable")
    assert "certificate" in error["message"] and "--turn-ca" in error["advice"], f"  {error}"
    alice.kill()
    for path, word in ((lab.path("none"), "No such file"), (lab.path("names"), "no certificate")):
        alice = lab.peer("a", "call", "nobody", *good[:3], path, *good[4:], name="alice")
        equal(alice.wait(5), 8, f"exit code with {path} as authorities")
        said = open(alice.err.name).read()
        assert word in said and path in said and "--turn-ca" in said, f"  {said}"
    alice = lab.peer("a", "answer", "--accept", *good, name="alice")
    alice.wait_event("relayAvailable")
    return "refused without its authority"


@scenario
def a_broken_connection_to_the_relay_is_made_anew(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    server = turn_server(lab, streams=True)
    block_udp(lab, "a")
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "25", *by(lab, "tcp"), name="alice")
    alice.wait_event("pathReady", 20)
    time.sleep(3)
    server.kill()
    killed = time.monotonic()
    time.sleep(1)
    turn_server(lab, streams=True)
    alice.wait_line(
        lambda line: line.get("name") == "relayAvailable" and alice_count(alice) >= 2, 20
    )
    took = time.monotonic() - killed
    one, two = outcome(alice, "completed", 0, 40), outcome(bob, "completed", 0, 10)
    for summary in (one, two):
        equal(summary["path"]["kind"], "relayed", "path at the end")
    equal(two["path"]["remote"].split(":")[0], ADDRESS["r"], "where bob sends")
    return f"a relay again {took:.1f} s after the server was killed, {one['path']['changes']} changes of path"


def alice_count(program):
    return sum(line.get("name") == "relayAvailable" for line in program.lines())


@scenario
def one_relay_is_enough(lab):
    if not has_server():
        return SKIPPED
    notes = []
    for relayed in ("a", "b"):
        if not notes:
            translated(lab, "a", "b")
            lab.rendezvous()
            turn_server(lab)
        bob = ready(lab, "--accept", "--calls", "1", *(TURN if relayed == "b" else []))
        alice = lab.peer(
            "a",
            "call",
            "bob",
            "--duration",
            "3",
            *(TURN if relayed == "a" else []),
            name="alice",
        )
        one, two = outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
        equal((one["path"]["kind"], two["path"]["kind"]), ("relayed", "relayed"), "paths")
        notes.append(f"{relayed}'s relay: {seconds_to_connect(one):.2f} s")
    return ", ".join(notes)


@scenario
def two_firewalls_that_let_only_the_servers_through_connect_by_both_relays(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab)
    for host in "ab":
        for port in (TURN_PORT, PORT):
            sh(
                "ip",
                "netns",
                "exec",
                lab.ns(host),
                "iptables",
                "-w",
                "-A",
                "OUTPUT",
                "-p",
                "udp",
                "-d",
                ADDRESS["r"],
                "--dport",
                str(port),
                "-j",
                "ACCEPT",
            )
        sh(
            "ip",
            "netns",
            "exec",
            lab.ns(host),
            "iptables",
            "-w",
            "-A",
            "OUTPUT",
            "-o",
            "eth0",
            "-j",
            "DROP",
        )
    bob = ready(lab, "--accept", "--calls", "1", *TURN)
    alice = lab.peer("a", "call", "bob", "--duration", "3", *TURN, name="alice")
    one, two = outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
    for summary in (one, two):
        equal(summary["path"]["kind"], "relayed", "path")
        for end in ("local", "remote"):
            equal(summary["path"][end].split(":")[0], ADDRESS["r"], f"{end} end of the path")
    return f"connected {seconds_to_connect(one):.2f} s after accept"


@scenario
def without_a_relay_symmetric_translators_find_no_path(lab):
    translated(lab, "a", "b")
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "3", name="alice")
    outcome(alice, "unreachable", 3, 30)
    bob.wait(30)


@scenario
def a_direct_path_is_preferred_to_the_relay(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab)
    bob = ready(lab, "--accept", "--calls", "1", *TURN)
    alice = lab.peer("a", "call", "bob", "--duration", "4", *TURN, name="alice")
    one, two = outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
    for summary in (one, two):
        equal(
            (summary["path"]["kind"], summary["path"]["changes"]),
            ("direct", 0),
            "path and its changes",
        )
    alice_events = {line.get("name") for line in alice.lines()}
    assert "relayAvailable" in alice_events, (
        f"  no relay was there to be preferred\n{alice.describe()}"
    )


@scenario
def a_call_leaves_the_relay_when_a_direct_path_answers(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab)
    for host, other in (("a", "b"), ("b", "a")):
        sh(
            "ip",
            "netns",
            "exec",
            lab.ns(host),
            "iptables",
            "-w",
            "-A",
            "INPUT",
            "-s",
            ADDRESS[other],
            "-j",
            "DROP",
        )
    ready(lab, "--accept", "--calls", "1", *TURN)
    alice = lab.peer("a", "call", "bob", "--duration", "30", *TURN, name="alice")
    found = alice.wait_event("pathReady")
    equal(found["kind"], "relayed", "first path")
    time.sleep(5)
    for host in "ab":
        sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", "-F", "INPUT")
    opened = time.monotonic()
    alice.wait_line(
        lambda line: line.get("name") == "pathChanged" and line.get("kind") == "direct", 20
    )
    took = time.monotonic() - opened
    one = outcome(alice, "completed", 0, 40)
    equal(one["path"]["kind"], "direct", "path at the end")
    equal(
        one["audio"]["received"]["residualLost"]
        if "residualLost" in one["audio"]["received"]
        else 0,
        0,
        "lost",
    )
    return f"direct {took:.1f} s after it was open"


@scenario
def a_wrong_password_at_the_relay_is_said_and_calls_go_on(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab)
    bob = ready(lab, "--accept", "--calls", "1")
    wrong = TURN[:-1] + ["wrong"]
    alice = lab.peer("a", "call", "bob", "--duration", "20", *wrong, name="alice")
    error = alice.wait_event("relayUnavailable")
    alice.wait_event("connected")
    alice.signal(signal.SIGINT)
    equal(error["code"], "relayUnavailable", "code")
    assert "--turn-password" in error["advice"] and "credentials" in error["message"], f"  {error}"
    equal(outcome(alice, "completed", 0, 20)["path"]["kind"], "direct", "path")
    assert "--turn-password" in alice.stderr(), f"  not said\n{alice.describe()}"
    outcome(bob, "completed", 0)
