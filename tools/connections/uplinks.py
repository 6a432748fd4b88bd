"""Two hosts with two uplinks each, every uplink by a router of its own, and a server: namespaces on one switch."""

import itertools
import os

from lab import BIN, Lab, Program, sh
from town import FORGET, PORT, RULES, SERVER

NAME = "rendezvous.test"
HOSTS = {"a": 1, "b": 2}
DEVICES = {0: "eth0", 1: "eth1"}
METRICS = {0: 100, 1: 200}


def own(host, uplink, version=4, number=2):
    """The address of a host in the network of one of its uplinks; that of the router has number 1."""
    base = 80 + HOSTS[host]
    return f"10.{base}.{uplink}.{number}" if version == 4 else f"fd{base}:{uplink}::{number}"


def outside(host, uplink, turn=0):
    """Where a router stands on the switch; `turn` counts its changes of address."""
    return f"10.79.0.{10 + HOSTS[host] + 10 * uplink + 100 * turn}"


class Uplinks(Lab):
    """`kind`: of all routers; "none" routes, else as `town.RULES` (RFC 4787). `families`: what each host has at
    first."""

    numbers = itertools.count()

    def __init__(self, kind="none", families=None):
        super().__init__()
        self.prefix += f"u{next(Uplinks.numbers)}"
        self.kind = kind
        self.families = families or {"a": (4,), "b": (4,)}
        self.turn = {"a": 0, "b": 0}
        #: What `ip netns exec` puts in the place of /etc.
        self.etc = []

    def __exit__(self, *words):
        super().__exit__(*words)
        for folder in self.etc:
            sh("rm", "-rf", folder)

    def __enter__(self):
        self.make("s")
        self.within("s", "link", "add", "br0", "type", "bridge")
        self.within("s", "link", "set", "br0", "up")
        self.make("r")
        self.plug("r")
        self.within("r", "addr", "add", f"{SERVER[4]}/24", "dev", "eth0")
        self.within("r", "addr", "add", f"{SERVER[6]}/64", "dev", "eth0", "nodad")
        for host in HOSTS:
            self.make(host)
            self.name_server(host)
            for uplink in DEVICES:
                self.route(host, uplink)
        for host in HOSTS:
            for uplink in DEVICES:
                for other in ["r"] + [f"{peer}{each}" for peer in HOSTS for each in DEVICES]:
                    if self.kind == "none" and other != f"{host}{uplink}":
                        self.know(other, host, uplink)
        return self

    def make(self, name):
        sh("ip", "netns", "add", self.ns(name))
        self.namespaces.append(self.ns(name))
        self.within(name, "link", "set", "lo", "up")

    def name_server(self, host):
        """Its programs know the server by a name with an address of each family."""
        folder = f"/etc/netns/{self.ns(host)}"
        os.makedirs(folder)
        self.etc.append(folder)
        for name, text in (
            ("hosts", "".join(f"{address} {NAME}\n" for address in SERVER.values())),
            ("resolv.conf", "nameserver 127.0.0.1\n"),
        ):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)

    def within(self, name, *words, check=True):
        return sh("ip", "-n", self.ns(name), *words, check=check)

    def plug(self, name):
        """Its wire to the switch."""
        self.within(
            "s",
            "link",
            "add",
            f"p{name}",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            self.ns(name),
        )
        self.within("s", "link", "set", f"p{name}", "master", "br0", "up")
        self.within(name, "link", "set", "eth0", "up")

    def route(self, host, uplink):
        """A router, and the host's device behind it, which is down."""
        name = f"{host}{uplink}"
        self.make(name)
        self.plug(name)
        self.within(name, "addr", "add", f"{outside(host, uplink)}/24", "dev", "eth0")
        self.within(
            name, "addr", "add", f"fd79::{10 * uplink + HOSTS[host]}:1/64", "dev", "eth0", "nodad"
        )
        self.within(
            name,
            "link",
            "add",
            "in0",
            "type",
            "veth",
            "peer",
            "name",
            DEVICES[uplink],
            "netns",
            self.ns(host),
        )
        self.within(name, "addr", "add", f"{own(host, uplink, 4, 1)}/24", "dev", "in0")
        self.within(name, "addr", "add", f"{own(host, uplink, 6, 1)}/64", "dev", "in0", "nodad")
        self.within(name, "link", "set", "in0", "up")
        for setting in ("net.ipv4.ip_forward=1", "net.ipv6.conf.all.forwarding=1"):
            self.execute(name, "sysctl", "-qw", setting)
        if self.kind != "none":
            for rule in RULES[self.kind](own(host, uplink)):
                self.filter(name, *rule.split())

    def know(self, name, host, uplink):
        """Where the network of an uplink is."""
        network = own(host, uplink, 4, 0), own(host, uplink, 6, 0)
        self.within(name, "route", "add", f"{network[0]}/24", "via", outside(host, uplink))
        self.within(
            name,
            "-6",
            "route",
            "add",
            f"{network[1]}/64",
            "via",
            f"fd79::{10 * uplink + HOSTS[host]}:1",
        )

    def execute(self, name, *words):
        return sh("ip", "netns", "exec", self.ns(name), *words)

    def filter(self, name, *words):
        self.execute(name, "iptables", "-w", *words)

    # What happens to a host

    def up(self, host, uplink, metric=None):
        self.within(host, "link", "set", DEVICES[uplink], "up")
        for version in self.families[host]:
            self.give(host, uplink, version, metric=metric)

    def down(self, host, uplink):
        self.within(host, "link", "set", DEVICES[uplink], "down")

    def give(self, host, uplink, version=4, number=2, metric=None):
        """An address, and the default route."""
        length = 24 if version == 4 else 64
        words = ["nodad"] if version == 6 else []
        self.within(
            host,
            "addr",
            "add",
            f"{own(host, uplink, version, number)}/{length}",
            "dev",
            DEVICES[uplink],
            *words,
        )
        self.prefer(host, uplink, version, metric or METRICS[uplink])

    def take(self, host, uplink, version=4, number=2):
        length = 24 if version == 4 else 64
        self.within(
            host,
            "addr",
            "del",
            f"{own(host, uplink, version, number)}/{length}",
            "dev",
            DEVICES[uplink],
        )
        self.within(
            host, f"-{version}", "route", "del", "default", "dev", DEVICES[uplink], check=False
        )

    def prefer(self, host, uplink, version=4, metric=50):
        self.within(
            host,
            f"-{version}",
            "route",
            "append",
            "default",
            "via",
            own(host, uplink, version, 1),
            "dev",
            DEVICES[uplink],
            "metric",
            str(metric),
            check=False,
        )

    def silence(self, host, uplink):
        """The router loses everything, and says nothing."""
        for device in ("eth0", "in0"):
            self.filter(
                f"{host}{uplink}", "-t", "raw", "-A", "PREROUTING", "-i", device, "-j", "DROP"
            )

    def rebind(self, host, port=False, address=False):
        """The router of the first uplink forgets all mappings; new ones have other ports, or another address."""
        name = f"{host}0"
        if port:
            self.filter(
                name,
                "-t",
                "nat",
                "-I",
                "POSTROUTING",
                "-o",
                "eth0",
                "-p",
                "udp",
                "-j",
                "MASQUERADE",
                "--to-ports",
                "20000-20999",
            )
        if address:
            old, self.turn[host] = outside(host, 0, self.turn[host]), self.turn[host] + 1
            self.within(name, "addr", "del", f"{old}/24", "dev", "eth0")
            self.within(
                name, "addr", "add", f"{outside(host, 0, self.turn[host])}/24", "dev", "eth0"
            )
        self.execute(name, "python3", "-c", FORGET)

    # Programs

    def server(self):
        program = self.run(
            "r",
            f"{BIN}/earshot-rendezvous",
            "--listen",
            f"[::]:{PORT}",
            "--data",
            self.path("data"),
            "--json",
            name="rendezvous",
        )
        program.wait_line(lambda line: line.get("type") == "listening", 5)
        return program

    def peer(self, host, command, *words, name) -> Program:
        return self.run(
            host,
            f"{BIN}/earshot",
            command,
            *words,
            "--rendezvous",
            f"{NAME}:{PORT}",
            "--json",
            "--identity",
            self.path(f"identity-{name}"),
            "--name",
            name,
            name=f"{command}-{host}{len(self.programs)}",
        )
