"""Calls by a TURN server (coturn), where each side is behind a translator that chooses a new port for each peer."""
import os, shutil, signal, socket, struct, subprocess, sys, time, zlib
from lab import ADDRESS, PORT, sh
from scenarios import equal, outcome, ready, same_call, scenario, speech

TURN_PORT, USER, PASSWORD = 3478, "relay-user", "relay-password"
INSIDE = {"a": "192.168.71", "b": "192.168.72"}
OUTSIDE = {"a": "10.77.0.11", "b": "10.77.0.12"}
TURN = ["--turn", f"turn:{ADDRESS['r']}:{TURN_PORT}", "--turn-user", USER, "--turn-password", PASSWORD]


def has_server():
    return shutil.which("turnserver") is not None


SKIPPED = "skipped: coturn is not installed (tools/setup --relay)"


def turn_server(lab):
    program = lab.run("r", "turnserver", "-n", "--listening-ip", ADDRESS["r"], "--relay-ip", ADDRESS["r"],
                      "--listening-port", str(TURN_PORT), "--realm", "test", "--user", f"{USER}:{PASSWORD}",
                      "--lt-cred-mech", "--no-tls", "--no-dtls", "--no-tcp", "--no-cli", "--min-port", "50000",
                      "--max-port", "50999", "--log-file", "stdout", "--simple-log", "--pidfile", lab.path("turn.pid"),
                      "--userdb", lab.path("turn.db"), name="turnserver")
    end = time.monotonic() + 5
    while time.monotonic() < end:
        if f":{TURN_PORT} " in sh("ip", "netns", "exec", lab.ns("r"), "ss", "-lun").stdout:
            return program
        time.sleep(0.05)
    raise AssertionError(f"  coturn does not listen\n{program.describe()}")


def translated(lab, *hosts):
    """Puts hosts behind translators: a new port for each destination, and in comes what answers (RFC 4787 §4, §5)."""
    for host in hosts:
        nat, ns = lab.ns("n" + host), lab.ns(host)
        sh("ip", "netns", "add", nat)
        lab.namespaces.append(nat)
        sh("ip", "-n", ns, "link", "del", "eth0")
        sh("ip", "-n", lab.ns("s"), "link", "add", f"n{host}", "type", "veth", "peer", "name", "out0", "netns", nat)
        sh("ip", "-n", lab.ns("s"), "link", "set", f"n{host}", "master", "br0", "up")
        sh("ip", "-n", nat, "link", "add", "in0", "type", "veth", "peer", "name", "eth0", "netns", ns)
        for where, device, address in ((nat, "out0", OUTSIDE[host]), (nat, "in0", INSIDE[host] + ".1"),
                                       (ns, "eth0", INSIDE[host] + ".2")):
            sh("ip", "-n", where, "addr", "add", f"{address}/24", "dev", device)
            sh("ip", "-n", where, "link", "set", device, "up")
        sh("ip", "-n", nat, "link", "set", "lo", "up")
        sh("ip", "-n", ns, "route", "add", "default", "via", INSIDE[host] + ".1")
        sh("ip", "netns", "exec", nat, "sh", "-c", "echo 1 >/proc/sys/net/ipv4/ip_forward")
        sh("ip", "netns", "exec", nat, "iptables", "-w", "-t", "nat", "-A", "POSTROUTING", "-o", "out0",
           "-j", "MASQUERADE", "--random-fully")
        for rule in (["-A", "FORWARD", "-i", "out0", "-m", "conntrack", "!", "--ctstate", "ESTABLISHED,RELATED",
                      "-j", "DROP"], ["-A", "INPUT", "-i", "out0", "-j", "DROP"]):
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
        size, = struct.unpack_from("<H", data, at)
        frame, at = data[at + 2:at + 2 + size], at + 2 + size
        if frame[12:14] != b"\x08\x00" or frame[23] != 17:
            continue
        start = 14 + 4 * (frame[14] & 15)
        sender, receiver, length = struct.unpack_from("!HHH", frame, start)
        yield (socket.inet_ntoa(frame[26:30]), sender, socket.inet_ntoa(frame[30:34]), receiver,
               frame[start + 8:start + length])


def is_channel_data(payload):
    return len(payload) > 4 and 0x40 <= payload[0] <= 0x4F and len(payload) == 4 + int.from_bytes(payload[2:4], "big")


def unreadable(packets, words):
    """Sealed packets hold none of the words, and do not shrink: behind flags and connection ID they look random."""
    for word in words:
        assert not any(word.encode() in packet for packet in packets), f"  '{word}' can be read at the relay"
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
    wrapped = [packet[4] for packet in seen if TURN_PORT in (packet[1], packet[3]) and is_channel_data(packet[4])]
    assert len(wrapped) >= 500, f"  {len(wrapped)} packets of channel data"
    # What a peer sends to the relayed address is what goes without a header: each is found in channel data.
    inside = {packet[4:]: len(packet) for packet in wrapped}
    bare = [packet[4] for packet in seen if TURN_PORT not in (packet[1], packet[3]) and PORT not in (packet[1], packet[3])]
    costs = {inside[packet] - len(packet) for packet in bare if packet in inside}
    assert costs and max(costs) <= 32, f"  bytes more than direct: {costs}"
    ratio = unreadable([packet[4:] for packet in wrapped], ("alice", "bob"))
    return f"connected {took:.2f} s after accept, {max(costs)} B a packet more, {len(wrapped)} packets shrink to {ratio:.3f}"


@scenario
def one_relay_is_enough(lab):
    if not has_server():
        return SKIPPED
    notes = []
    for with_relay in ("a", "b"):
        if not notes:
            translated(lab, "a", "b")
            lab.rendezvous()
            turn_server(lab)
        bob = ready(lab, "--accept", "--calls", "1", *(TURN if with_relay == "b" else []))
        alice = lab.peer("a", "call", "bob", "--duration", "3", *(TURN if with_relay == "a" else []), name="alice")
        one, two = outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
        equal((one["path"]["kind"], two["path"]["kind"]), ("relayed", "relayed"), "paths")
        notes.append(f"{with_relay}'s relay: {seconds_to_connect(one):.2f} s")
    return ", ".join(notes)


@scenario
def two_firewalls_that_let_only_the_servers_through_connect_by_both_relays(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab)
    for host in "ab":
        for port in (TURN_PORT, PORT):
            sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", "-A", "OUTPUT", "-p", "udp", "-d", ADDRESS["r"],
               "--dport", str(port), "-j", "ACCEPT")
        sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", "-A", "OUTPUT", "-o", "eth0", "-j", "DROP")
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
        equal((summary["path"]["kind"], summary["path"]["changes"]), ("direct", 0), "path and its changes")
    alice_events = {line.get("name") for line in alice.lines()}
    assert "relayAvailable" in alice_events, f"  no relay was there to be preferred\n{alice.describe()}"


@scenario
def a_call_leaves_the_relay_when_a_direct_path_answers(lab):
    if not has_server():
        return SKIPPED
    lab.rendezvous()
    turn_server(lab)
    for host, other in (("a", "b"), ("b", "a")):
        sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", "-A", "INPUT", "-s", ADDRESS[other], "-j", "DROP")
    bob = ready(lab, "--accept", "--calls", "1", *TURN)
    alice = lab.peer("a", "call", "bob", "--duration", "30", *TURN, name="alice")
    found = alice.wait_event("pathReady")
    equal(found["kind"], "relayed", "first path")
    time.sleep(5)
    for host in "ab":
        sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", "-F", "INPUT")
    opened = time.monotonic()
    alice.wait_line(lambda line: line.get("name") == "pathChanged" and line.get("kind") == "direct", 20)
    took = time.monotonic() - opened
    one = outcome(alice, "completed", 0, 40)
    equal(one["path"]["kind"], "direct", "path at the end")
    equal(one["audio"]["received"]["residualLost"] if "residualLost" in one["audio"]["received"] else 0, 0, "lost")
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
