"""Two hosts, each behind a translator or not, and a server: namespaces on one switch."""

import os
import subprocess

from lab import BIN, Lab, sh

PORT = 7400
SERVER = {4: "10.79.0.3", 6: "fd79::3"}
PUBLIC = {"a": ["10.79.0.11", "10.79.0.21"], "b": ["10.79.0.12", "10.79.0.22"]}
PUBLIC6 = {"a": ["fd79::11", "fd79::21"], "b": ["fd79::12", "fd79::22"]}
INSIDE = {"a": "192.168.11", "b": "192.168.12"}
TRANSLATORS = ["none", "full", "address", "port", "open", "symmetric", "udpblock"]

# An empty request of this kind deletes all connections that the kernel tracks in a namespace.
FORGET = (
    "import socket,struct; s=socket.socket(16,3,12); "
    "s.send(struct.pack('=IHHIIBBH',20,(1<<8)|2,5,1,0,0,0,0)); s.recv(4096)"
)


class Town(Lab):
    """`kinds`: what stands before host a and host b, of TRANSLATORS (RFC 4787)."""

    servers, public = SERVER, PUBLIC

    def __init__(self, a="none", b="none", families=(4,)):
        super().__init__()
        self.kinds = {"a": a, "b": b}
        self.families = (
            {"a": families, "b": families, "r": families}
            if isinstance(families, tuple)
            else families
        )
        self.at = {"a": 0, "b": 0}

    def __enter__(self):
        switch = self.ns("s")
        sh("ip", "netns", "add", switch)
        sh("ip", "-n", switch, "link", "add", "br0", "type", "bridge")
        sh("ip", "-n", switch, "link", "set", "br0", "up")
        for host in "abr":
            self.add(host)
        for host in "ab":
            if self.kinds[host] != "none":
                self.translate(host)
        self.address(self.ns("r"), "eth0", self.servers, self.families["r"])
        for host in "ab":
            if self.kinds[host] == "none":
                self.address(
                    self.ns(host),
                    "eth0",
                    {4: self.public[host][0], 6: PUBLIC6[host][0]},
                    self.families[host],
                )
        return self

    def __exit__(self, *words):
        for host in "ab":
            sh("ip", "netns", "del", self.ns(host + "n"), check=False)
        super().__exit__(*words)

    def add(self, host):
        """A namespace; its wire to the switch ends in it, or in its translator."""
        sh("ip", "netns", "add", self.ns(host))
        sh("ip", "-n", self.ns(host), "link", "set", "lo", "up")
        outer = self.ns(host)
        if host != "r" and self.kinds[host] != "none":
            outer = self.ns(host + "n")
            sh("ip", "netns", "add", outer)
            sh("ip", "-n", outer, "link", "set", "lo", "up")
        self.wire(host, outer, "eth0")

    def wire(self, name, ns, device):
        switch = self.ns("s")
        sh(
            "ip",
            "-n",
            switch,
            "link",
            "add",
            f"p{name}",
            "type",
            "veth",
            "peer",
            "name",
            device,
            "netns",
            ns,
        )
        sh("ip", "-n", switch, "link", "set", f"p{name}", "master", "br0", "up")
        sh("ip", "-n", ns, "link", "set", device, "up")

    @staticmethod
    def address(ns, device, addresses, families):
        if 4 in families:
            sh("ip", "-n", ns, "addr", "add", f"{addresses[4]}/24", "dev", device)
        if 6 in families:
            sh("ip", "-n", ns, "addr", "add", f"{addresses[6]}/64", "dev", device, "nodad")

    def translate(self, host):
        kind, ns, inside = self.kinds[host], self.ns(host + "n"), INSIDE[host]
        sh(
            "ip",
            "-n",
            ns,
            "link",
            "add",
            "in0",
            "type",
            "veth",
            "peer",
            "name",
            "eth0",
            "netns",
            self.ns(host),
        )
        sh("ip", "-n", ns, "addr", "add", f"{inside}.1/24", "dev", "in0")
        sh("ip", "-n", ns, "link", "set", "in0", "up")
        sh("ip", "-n", ns, "addr", "add", f"{self.public[host][0]}/24", "dev", "eth0")
        sh("ip", "-n", self.ns(host), "addr", "add", f"{inside}.2/24", "dev", "eth0")
        sh("ip", "-n", self.ns(host), "link", "set", "eth0", "up")
        sh("ip", "-n", self.ns(host), "route", "add", "default", "via", f"{inside}.1")
        sh("ip", "netns", "exec", ns, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        for rule in RULES[kind](f"{inside}.2"):
            sh("ip", "netns", "exec", ns, "iptables", "-w", *rule.split())

    def move(self, host):
        """Another public address, and nothing of the old mappings is left."""
        old, new = self.public[host][self.at[host]], self.public[host][1 - self.at[host]]
        self.at[host] = 1 - self.at[host]
        ns = self.outer(host)
        sh("ip", "-n", ns, "addr", "add", f"{new}/24", "dev", "eth0")
        sh("ip", "-n", ns, "addr", "del", f"{old}/24", "dev", "eth0")
        sh(
            "ip", "-n", ns, "addr", "add", f"{new}/24", "dev", "eth0", check=False
        )  # goes with the first
        if self.kinds[host] != "none":
            sh("ip", "netns", "exec", ns, "python3", "-c", FORGET)

    def outer(self, host):
        """The namespace with the host's public address."""
        return self.ns(host if host == "r" or self.kinds[host] == "none" else host + "n")

    def cut(self, ways, is_cut):
        """`ways`: "a" = what host a sends, "b" = what host b sends, "ab" = both; dropped where it arrives, so that
        no host is told of it."""
        for host in ways:
            for other in sorted(set("abr") - {host}):
                for address in self.public[host]:
                    sh(
                        "ip",
                        "netns",
                        "exec",
                        self.outer(other),
                        "iptables",
                        "-w",
                        "-t",
                        "raw",
                        "-A" if is_cut else "-D",
                        "PREROUTING",
                        "-s",
                        address,
                        "-j",
                        "DROP",
                    )

    # Programs

    def server(self, *options):
        family = 4 if 4 in self.families["r"] else 6
        listen = f"0.0.0.0:{PORT}" if self.families["r"] == (4,) else f"[::]:{PORT}"
        program = self.run(
            "r",
            f"{BIN}/earshot-rendezvous",
            "--listen",
            listen,
            "--data",
            self.path("data"),
            "--json",
            *options,
            name=f"rendezvous{len(self.programs)}",
        )
        program.wait_line(lambda line: line.get("type") == "listening", 5)
        self.service = f"{self.servers[4]}:{PORT}" if family == 4 else f"[{self.servers[6]}]:{PORT}"
        return program

    def peer(self, host, command, *words, name=None, service=None):
        label = name or host
        options = [
            "--rendezvous",
            service or self.service,
            "--json",
            "--identity",
            self.path(f"identity-{label}"),
        ]
        options += ["--name", name] if name else []
        return self.run(
            host,
            f"{BIN}/earshot",
            command,
            *words,
            *options,
            name=f"{command}-{host}{len(self.programs)}",
        )


RETURN = [
    "-A FORWARD -i eth0 -m conntrack --ctstate ESTABLISHED,RELATED -j ACCEPT",
    "-A FORWARD -i eth0 -j DROP",
    "-A INPUT -i eth0 -j DROP",
]
PORTS_KEPT = "-t nat -A POSTROUTING -o eth0 -j MASQUERADE"
# What has passed fewer routers than this does not arrive, as if they were in between; before anything is tracked.
ROUTERS = ["-t raw -A PREROUTING -i eth0 -m ttl --ttl-lt 59 -j DROP"]
RULES = {
    "full": lambda host: [
        PORTS_KEPT,
        f"-t nat -A PREROUTING -i eth0 -p udp -m addrtype --dst-type LOCAL -j DNAT --to-destination {host}",
    ],
    "address": lambda host: [
        PORTS_KEPT,
        f"-t nat -A PREROUTING -i eth0 -p udp -m addrtype --dst-type LOCAL -j DNAT --to-destination {host}",
        "-A FORWARD -i in0 -o eth0 -p udp -m recent --name asked --rdest --set -j ACCEPT",
        "-A FORWARD -i eth0 -p udp -m recent --name asked --rsource --rcheck --seconds 120 -j ACCEPT",
        "-A FORWARD -i eth0 -p udp -j DROP",
    ],
    "port": lambda host: [PORTS_KEPT, *RETURN],
    # As "port", but the box has no firewall of its own: Docker, libvirt, a plain masquerading Linux host. What comes
    # for a mapping that is not there yet makes an entry for the box itself, and the mapping gets another port.
    "open": lambda host: [PORTS_KEPT, *RETURN[:2], *ROUTERS],
    "symmetric": lambda host: [
        "-t nat -A POSTROUTING -o eth0 -p udp -j MASQUERADE --random",
        PORTS_KEPT,
        *RETURN,
    ],
    "udpblock": lambda host: [PORTS_KEPT, "-A FORWARD -p udp -j DROP", *RETURN],
}


def missing():
    """Why this machine cannot run it; `None` if it can."""
    if os.geteuid() != 0:
        return "not root"
    for words in (["iptables", "--version"], ["ip", "-V"]):
        try:
            subprocess.run(words, capture_output=True, check=True)
        except (OSError, subprocess.CalledProcessError):
            return f"no {words[0]} here"
    return None
