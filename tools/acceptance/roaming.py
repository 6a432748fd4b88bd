"""Addresses change in mid-call, where each host lets in only what it asked for: sound goes on."""

import math
import time
import wave
from array import array

from lab import ADDRESS, sh
from scenarios import equal, outcome, ready, same_call, scenario

NEXT = {"a": "10.77.0.41", "b": "10.77.0.42"}


def filtered(lab, *hosts):
    """As a port-restricted translator filters: in comes what answers (RFC 4787 §5)."""
    for host in hosts:
        rules = (
            ["-A", "INPUT", "-i", "lo", "-j", "ACCEPT"],
            ["-A", "INPUT", "-m", "conntrack", "--ctstate", "ESTABLISHED", "-j", "ACCEPT"],
            ["-P", "INPUT", "DROP"],
        )
        for rule in rules:
            sh("ip", "netns", "exec", lab.ns(host), "iptables", "-w", *rule)


def moved(lab, host):
    """The old address goes, a new one comes."""
    sh("ip", "-n", lab.ns(host), "addr", "del", f"{ADDRESS[host]}/24", "dev", "eth0")
    sh("ip", "-n", lab.ns(host), "addr", "add", f"{NEXT[host]}/24", "dev", "eth0")


def hum(path, seconds):
    """A steady sound, in which every gap shows."""
    wave_form = array(
        "h", (int(6000 * math.sin(2 * math.pi * 300 * n / 48000)) for n in range(48000))
    )
    with wave.open(path, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(48000)
        file.writeframes(wave_form.tobytes() * seconds)


def longest_gap(path):
    """The longest silence in a recording of `hum` after its first sound, in ms."""
    with wave.open(path, "rb") as file:
        rate, samples = (
            file.getframerate(),
            array("h", file.readframes(file.getnframes()))[:: file.getnchannels()],
        )
    step = rate // 100
    loud = [
        max(map(abs, samples[at : at + step])) > 600 for at in range(0, len(samples) - step, step)
    ]
    loud = loud[loud.index(True) : len(loud) - loud[::-1].index(True)]
    longest = current = 0
    for is_loud in loud:
        current = 0 if is_loud else current + 1
        longest = max(longest, current)
    return longest * 10


def call_in_which(lab, movers, limit):
    """Both hear a hum; after three seconds the movers have other addresses."""
    filtered(lab, "a", "b")

    def change():
        for host in movers:
            moved(lab, host)

    places = {host: NEXT[host] if host in movers else ADDRESS[host] for host in "ab"}
    return talk_through(lab, change, places, limit)


def talk_through(lab, change, places, limit):
    """A hum both ways; `places` is where each side is found at the end."""
    lab.rendezvous()
    hum(lab.path("hum.wav"), 12)
    bob = ready(
        lab, "--accept", "--calls", "1", "--play", lab.path("hum.wav"), "--save", lab.path("b.wav")
    )
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--duration",
        "10",
        "--play",
        lab.path("hum.wav"),
        "--save",
        lab.path("a.wav"),
        name="alice",
    )
    alice.wait_event("connected")
    time.sleep(3)
    change()
    one, two = outcome(alice, "completed", 0, 20), outcome(bob, "completed", 0, 5)
    same_call(one, two)
    for summary, other in ((one, "b"), (two, "a")):
        equal(
            summary["path"]["remote"].rsplit(":", 1)[0],
            places[other],
            "where the other side is at the end",
        )
    for program in (alice, bob):
        assert any(line.get("name") == "pathChanged" for line in program.lines()), (
            f"  not told\n{program.describe()}"
        )
    gaps = {host: longest_gap(lab.path(f"{host}.wav")) for host in "ab"}
    assert max(gaps.values()) <= limit, f"  gaps in ms: {gaps}, at most {limit}"
    return f"gaps: alice {gaps['a']} ms, bob {gaps['b']} ms"


@scenario
def sound_goes_on_when_the_caller_moves(lab):
    return call_in_which(lab, "a", 500)


@scenario
def sound_goes_on_when_the_callee_moves(lab):
    return call_in_which(lab, "b", 500)


@scenario
def sound_goes_on_when_both_move(lab):
    return call_in_which(lab, "ab", 2000)


@scenario
def sound_goes_on_when_the_first_uplink_dies_without_a_sign(lab):
    switch, inner, outer = lab.ns("s"), "10.76.0.1", "10.76.0.254"
    sh(
        "ip",
        "-n",
        switch,
        "link",
        "add",
        "pa1",
        "type",
        "veth",
        "peer",
        "name",
        "eth1",
        "netns",
        lab.ns("a"),
    )
    for ns, device, address in (
        (switch, "pa1", outer),
        (switch, "br0", "10.77.0.254"),
        (lab.ns("a"), "eth1", inner),
    ):
        sh("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", device)
        sh("ip", "-n", ns, "link", "set", device, "up")
    sh("ip", "netns", "exec", switch, "sysctl", "-qw", "net.ipv4.ip_forward=1")
    sh("ip", "-n", lab.ns("a"), "route", "add", "default", "via", outer)
    for host in "br":
        sh("ip", "-n", lab.ns(host), "route", "add", "10.76.0.0/24", "via", "10.77.0.254")
    filtered(lab, "a", "b")
    # Its wire leaves the switch: nothing passes, and the link stays up.
    return talk_through(
        lab,
        lambda: sh("ip", "-n", switch, "link", "set", "pa", "nomaster"),
        {"a": inner, "b": ADDRESS["b"]},
        1500,
    )


@scenario
def sound_goes_on_when_ipv4_gives_way_to_ipv6(lab):
    def six(host):
        sh(
            "ip",
            "-n",
            lab.ns(host),
            "addr",
            "add",
            f"fd77::{'ab'.index(host) + 1}/64",
            "dev",
            "eth0",
            "nodad",
        )

    def change():
        sh("ip", "-n", lab.ns("a"), "addr", "del", f"{ADDRESS['a']}/24", "dev", "eth0")
        six("a")

    six("b")
    return talk_through(lab, change, {"a": "[fd77::1]", "b": "[fd77::2]"}, 500)


@scenario
def who_waits_is_called_at_its_new_address(lab):
    filtered(lab, "a", "b")
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    moved(lab, "b")
    time.sleep(1)
    alice = lab.peer("a", "call", "bob", "--duration", "2", name="alice")
    summary = outcome(alice, "completed", 0, 20)
    equal(summary["path"]["remote"].split(":")[0], NEXT["b"], "where bob was found")
    outcome(bob, "completed", 0)
    return f"connected after {summary['timeline']['connectedMs']} ms"
