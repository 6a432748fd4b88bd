"""The table `ports` of tools/connectivity: routers that open a port when they are asked, played by miniupnpd."""

import os
import re
import shutil
import signal
import sys
import time

from lab import sh
from tables import hum, silences
from town import INSIDE, Town

# miniupnpd opens no port behind an address that it knows for a private or reserved one.
SERVER = {4: "11.79.0.3", 6: "fd79::3"}
PUBLIC = {"a": ["11.79.0.11", "11.79.0.21"], "b": ["11.79.0.12", "11.79.0.22"]}
PAIRS = [
    ("symmetric", "symmetric"),
    ("symmetric", "port"),
    ("port", "symmetric"),
    ("symmetric", "open"),
    ("open", "symmetric"),
    ("port", "port"),
]
PROTOCOLS = {"NAT-PMP": ("yes", "no"), "UPnP-IGD": ("no", "yes")}
OPTION = "--no-port-mapping"
FOLDER = os.path.dirname(os.path.abspath(__file__))
# Routers that are no miniupnpd: the program, and where it listens.
PLAYED = {"hostile": ("hostile_router.py", ":1900 "), "patient": ("patient_router.py", ":5351 ")}


def missing():
    """Why this table cannot be made here; `None` if it can."""
    for program in ("miniupnpd", "iptables-legacy"):
        if shutil.which(program) is None:
            return f"{program} is not installed (tools/setup --router)"
    return None


class Ports(Town):
    """A town whose translators open ports: `routers` names the protocol of host a's and of host b's."""

    servers, public = SERVER, PUBLIC

    def __init__(self, a, b, routers):
        super().__init__(a, b)
        self.routers = routers
        self.played = {}

    def __enter__(self):
        super().__enter__()
        for host, protocol in self.routers.items():
            self.play(host, *PLAYED[protocol]) if protocol in PLAYED else self.start(
                host, *PROTOCOLS[protocol]
            )
        return self

    def start(self, host, natpmp, upnp):
        outer = self.outer(host)
        legacy = ["ip", "netns", "exec", outer, "iptables-legacy", "-w", "-t", "nat"]
        # The second chain is not used: what leaves without being asked for keeps its strict mapping.
        sh(*legacy, "-N", "MINIUPNPD"), sh(*legacy, "-N", "MINIUPNPD-POSTROUTING")
        sh(*legacy, "-A", "PREROUTING", "-i", "eth0", "-j", "MINIUPNPD")
        sh("ip", "netns", "exec", outer, "iptables-legacy", "-w", "-N", "MINIUPNPD")
        sh(
            "ip",
            "netns",
            "exec",
            outer,
            "iptables",
            "-w",
            "-I",
            "FORWARD",
            "-i",
            "eth0",
            "-m",
            "conntrack",
            "--ctstate",
            "DNAT",
            "-j",
            "ACCEPT",
        )
        with open(self.path(f"router-{host}.conf"), "w") as file:
            file.write(
                f"ext_ifname=eth0\nlistening_ip=in0\nenable_natpmp={natpmp}\nenable_upnp={upnp}\n"
                f"secure_mode=yes\nhttp_port=0\nuuid=00000000-0000-0000-0000-00000000000{1 + 'ab'.index(host)}\n"
                f"allow 1024-65535 {INSIDE[host]}.0/24 1024-65535\ndeny 0-65535 0.0.0.0/0 0-65535\n"
            )
        self.run(
            host + "n",
            "miniupnpd",
            "-d",
            "-f",
            self.path(f"router-{host}.conf"),
            "-P",
            self.path(f"router-{host}.pid"),
            name=f"router-{host}",
        )
        self.await_socket(outer, ":5351 " if natpmp == "yes" else ":1900 ")

    def play(self, host, program, place):
        words = [sys.executable, os.path.join(FOLDER, program), f"{INSIDE[host]}.1"]
        self.played[host] = self.run(host + "n", *words, name=f"router-{host}")
        self.await_socket(self.outer(host), place)

    def rules(self, host):
        """What miniupnpd has opened and not closed, as iptables tells it."""
        told = sh(
            "ip",
            "netns",
            "exec",
            self.outer(host),
            "iptables-legacy",
            "-w",
            "-t",
            "nat",
            "-S",
            "MINIUPNPD",
            check=False,
        ).stdout
        return [line for line in told.splitlines() if line.startswith("-A MINIUPNPD")]

    @staticmethod
    def await_socket(ns, text):
        end = time.monotonic() + 5
        while text not in sh("ip", "netns", "exec", ns, "ss", "-lnu").stdout:
            assert time.monotonic() < end, f"  nothing listens at {text}in {ns}"
            time.sleep(0.05)

    def open_ports(self):
        """What miniupnpd has opened and not closed."""
        return sum(len(self.rules(host)) for host in self.routers)


def call(town, options=(), seconds=3):
    """The caller's cell, and what is wrong with it: sound both ways, and every port given back."""
    town.server()
    sound = town.path("hum.wav")
    hum(sound, seconds + 5)
    words = ["--play", sound, *options, "--save"]
    bob = town.peer(
        "b", "answer", "--accept", "--calls", "1", *words, town.path("b.wav"), name="bob"
    )
    bob.wait_line(lambda line: line.get("name") == "registered", 12)
    alice = town.peer(
        "a", "call", "bob", "--duration", str(seconds), *words, town.path("a.wav"), name="alice"
    )
    for program in (alice, bob):
        program.wait(seconds + 25)
    summary = alice.summary()
    if summary["outcome"] != "completed":
        return "no path", None
    heard = {host: silences(town.path(f"{host}.wav")) for host in "ab"}
    line, left = summary["timeline"], town.open_ports()
    wrong = [
        f"silent at {host}: {gap}" for host, gap in heard.items() if gap[0] < 2 or gap[2] > 200
    ]
    wrong += [f"{left} ports are still open"] if left else []
    cell = f"{line['connectedMs'] - line['acceptedMs']} ms, {summary['path']['kind']}"
    return cell, "; ".join(wrong) or None


def cell(a, b, routers, options=()):
    try:
        with Ports(a, b, routers) as town:
            return call(town, options)
    except AssertionError as error:
        return "failed", str(error)


def ports(pairs=PAIRS, protocols=tuple(PROTOCOLS)):
    """Each pair without a port, and with one at the caller's router, at the callee's and at both."""
    rows, wrong = [], []
    columns = [("none", {})] + [
        (f"{protocol}, {name}", {host: protocol for host in hosts})
        for protocol in protocols
        for name, hosts in (("caller's", "a"), ("callee's", "b"), ("both", "ab"))
    ]
    for a, b in pairs:
        row = [f"{a} × {b}"]
        for title, routers in columns:
            # Without any: the same routers, and programs that are told not to ask.
            text, problem = cell(
                a, b, routers or {host: protocols[0] for host in "ab"}, () if routers else (OPTION,)
            )
            if routers and text == "no path":
                problem = text
            row.append(text)
            if problem:
                wrong.append(f"{a} × {b}, {title}: {problem}")
        rows.append(row)
    extra = [
        ("a router that never ends its answers", hostile),
        ("stopped by SIGTERM", given_back),
        ("stopped while a port is being opened", interrupted),
        ("another own address", moved),
        ("a VPN that comes up", tunnelled),
        ("doctor", doctor),
    ]
    for title, measure in extra:
        text, problem = guarded(measure)
        rows.append([title, text] + ["–"] * (len(columns) - 1))
        if problem:
            wrong.append(f"{title}: {problem}")
    return (
        ["caller × callee", *("no port" if title == "none" else title for title, _ in columns)],
        rows,
        wrong,
    )


def guarded(measure):
    try:
        return measure()
    except AssertionError as error:
        return "failed", str(error)


def hostile():
    """It floods the search and sends without end by TCP: the call is as though it were not there."""
    text, problem = cell("port", "port", {"a": "hostile", "b": "hostile"})
    took = re.match(r"(\d+) ms", text)
    if not problem and (took is None or int(took.group(1)) > 500):
        problem = text
    return text, problem


def given_back():
    """A program that waits for calls closes its port when it is told to stop."""
    with Ports("symmetric", "symmetric", {"b": "NAT-PMP"}) as town:
        town.server()
        bob = town.peer("b", "answer", "--accept", name="bob")
        mapped = bob.wait_event("portMapped")
        opened = town.open_ports()
        began = time.monotonic()
        bob.signal(signal.SIGTERM)
        bob.wait(5)
        took, left = int(1000 * (time.monotonic() - began)), town.open_ports()
    text = f"{opened} open at {mapped['address'].split(':')[0]}, {left} after {took} ms"
    return text, None if (opened, left) == (1, 0) and took < 2000 else text


def interrupted():
    """A signal comes after a port was asked for and before the router has opened it: it is given back."""
    said, slow = [], []
    for command in ("doctor", "answer"):
        with Ports("symmetric", "symmetric", {"b": "patient"}) as town:
            town.server()
            words = ["--accept"] if command == "answer" else []
            program = town.run(
                "b",
                f"{os.environ['EARSHOT_BIN']}/earshot",
                command,
                *words,
                "--rendezvous",
                town.service,
                "--identity",
                town.path("identity-b"),
                "--json",
                name="bob",
            )
            router = town.played["b"]
            router.wait_line(lambda line: line.get("seconds", 0) > 0, 10)
            began = time.monotonic()
            program.signal(signal.SIGINT)
            program.wait(3)
            took = int(1000 * (time.monotonic() - began))
            said.append(f"{command} {took} ms")
            if took > 1500:
                slow.append(f"{command} goes on for {took} ms after SIGINT, at most 1500")
            router.wait_line(lambda line: line.get("seconds") == 0, 1)
    return ", ".join(said), "; ".join(slow) or None


def tunnelled():
    """A VPN takes the way to the internet by policy routing, as wg-quick does: the port is given back."""
    with Ports("symmetric", "symmetric", {"b": "NAT-PMP"}) as town:
        town.server()
        bob = town.peer("b", "answer", "--accept", name="bob")
        bob.wait_event("portMapped")
        ns, opened = town.ns("b"), town.open_ports()
        for words in (
            ["link", "add", "wg0", "type", "veth", "peer", "name", "wg1"],
            ["addr", "add", "10.8.0.2/24", "dev", "wg0"],
            ["link", "set", "wg1", "up"],
            ["link", "set", "wg0", "up"],
            ["route", "add", "11.79.0.0/24", "via", f"{INSIDE['b']}.1"],
            ["route", "add", "default", "dev", "wg0", "table", "51820"],
            ["rule", "add", "not", "fwmark", "51820", "table", "51820"],
            ["rule", "add", "table", "main", "suppress_prefixlength", "0"],
        ):
            sh("ip", "-n", ns, *words)
        end = time.monotonic() + 5
        while town.open_ports() and time.monotonic() < end:
            time.sleep(0.05)
        left = town.open_ports()
    text = f"{opened} open, {left} with the VPN"
    return text, None if (opened, left) == (1, 0) else text


def moved():
    """A program that waits gets another address: it asks anew, and is reached."""
    with Ports("symmetric", "symmetric", {"b": "NAT-PMP"}) as town:
        town.server()
        bob = town.peer("b", "answer", "--accept", "--calls", "1", name="bob")
        bob.wait_event("portMapped")
        inside, ns = INSIDE["b"], town.ns("b")
        sh("ip", "-n", ns, "addr", "del", f"{inside}.2/24", "dev", "eth0")
        sh("ip", "-n", ns, "addr", "add", f"{inside}.9/24", "dev", "eth0")
        sh("ip", "-n", ns, "route", "replace", "default", "via", f"{inside}.1")
        bob.wait_line(
            lambda _: sum(line.get("name") == "portMapped" for line in bob.lines()) > 1, 10
        )
        bob.wait_line(
            lambda _: sum(line.get("name") == "registered" for line in bob.lines()) > 0, 10
        )
        time.sleep(1.5)  # For whatever is given back.
        told = [line["address"] for line in bob.lines() if line.get("name") == "portMapped"]
        kept = [rule for rule in town.rules("b") if f"--dport {told[-1].rsplit(':')[-1]} " in rule]
        assert len(kept) == 1, f"  {told[-1]} is not open: {town.rules('b')}"
        alice = town.peer("a", "call", "bob", "--duration", "2", name="alice")
        alice.wait(30)
        outcome = alice.summary()["outcome"]
    return f"mapped anew, {outcome}", None if outcome == "completed" else outcome


def doctor():
    """What earshot doctor says of both protocols."""
    said = []
    for protocol in PROTOCOLS:
        with Ports("symmetric", "symmetric", {"b": protocol}) as town:
            town.server()
            program = town.run(
                "b",
                f"{os.environ['EARSHOT_BIN']}/earshot",
                "doctor",
                "--rendezvous",
                town.service,
                "--identity",
                town.path("identity-doctor"),
                "--json",
                name="doctor",
            )
            program.wait(30)
            told = next(program.lines())
            found, blamed = (
                told["portMapping"],
                [
                    finding
                    for finding in told["findings"]
                    if finding["subject"] in ("translator", "filtering")
                    and finding["verdict"] in ("weak", "bad")
                ],
            )
            assert not blamed, f"  an open port mends it: {blamed}"
            said.append(f"{found.get('protocol')} {found.get('external')}")
            if said[-1] != f"{protocol} {PUBLIC['b'][0]}" or town.open_ports():
                return said[-1], f"{found}, {town.open_ports()} open"
    return ", ".join(said), None
