"""A caller behind a line that carries all of IP: host x reaches the others through TUN devices of `LineCommand` on host a, so
that calls and TCP wait in one queue."""

import itertools
import os
import shutil
import signal
import time

from lab import ADDRESS, BIN, Lab, sh

NEAR, FAR, NETWORK = "10.78.0.1", "10.78.0.254", "10.78.0.0/24"
PORT_OF_TRANSFERS = 5201
#: Prints a round trip in ms each 100 ms: ICMP echo requests of 84 bytes, which the kernel of the other side answers.
PING = """
import socket, struct, sys, threading, time
s = socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_ICMP)
s.settimeout(3)
def total(b):
    n = sum(struct.unpack(f"!{len(b) // 2}H", b))
    n = (n >> 16) + (n & 0xFFFF)
    return ~(n + (n >> 16)) & 0xFFFF
def send():
    for i in range(int(float(sys.argv[2]) * 10)):
        body = struct.pack("!d", time.monotonic()) + bytes(48)
        head = lambda c: struct.pack("!BBHHH", 8, 0, c, 77, i)
        s.sendto(head(total(head(0) + body)) + body, (sys.argv[1], 0))
        time.sleep(0.1)
threading.Thread(target=send, daemon=True).start()
end = time.monotonic() + float(sys.argv[2]) + 2
while time.monotonic() < end:
    try:
        packet = s.recv(200)
    except TimeoutError:
        break
    if packet[20] == 0 and packet[24:26] == b"\\x00\\x4d":
        print((time.monotonic() - struct.unpack("!d", packet[28:36])[0]) * 1000, flush=True)
"""


class RoutedLab(Lab):
    """Several may stand at one time."""

    numbers = itertools.count()

    def __init__(self):
        super().__init__()
        self.prefix += f"t{next(RoutedLab.numbers)}"

    def __enter__(self):
        super().__enter__()
        try:
            sh("ip", "netns", "add", self.ns("x"))
            sh("ip", "-n", self.ns("x"), "link", "set", "lo", "up")
            self.set("a", "net/ipv4/ip_forward", 1)
            for host in "br":
                sh("ip", "-n", self.ns(host), "route", "add", NETWORK, "via", ADDRESS["a"])
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *exception):
        super().__exit__(*exception)
        sh("ip", "netns", "del", self.ns("x"), check=False)

    def set(self, host, key, value):
        sh("ip", "netns", "exec", self.ns(host), "sh", "-c", f"echo {value} > /proc/sys/{key}")

    def line(self, words, seed=1):
        """The emulator between its devices; its course begins at SIGUSR1, its journal is `line.log`."""
        program = self.run(
            "a",
            *(f"{BIN}/LineCommand", "--devices", "near0=far0", "--at-signal"),
            *("--log", self.path("line.log"), "--seed", str(seed), *words),
            name="line",
        )
        program.wait_line(lambda line: line.get("type") == "listening", 5)
        far, near = self.ns("a"), self.ns("x")
        sh("ip", "-n", far, "link", "set", "near0", "netns", near)
        for ns, device, address in [(far, "far0", FAR), (near, "near0", NEAR)]:
            self.set("a" if ns == far else "x", f"net/ipv6/conf/{device}/disable_ipv6", 1)
            sh("ip", "-n", ns, "addr", "add", f"{address}/24", "dev", device)
            sh("ip", "-n", ns, "link", "set", device, "mtu", "1500", "up")
        sh("ip", "-n", near, "route", "add", "default", "via", FAR)
        return program

    def begin(self, line):
        """The course begins; gives the wall clock of that moment."""
        line.signal(signal.SIGUSR1)
        return time.time()

    def end_line(self, line):
        """Ends it; gives how late it has ever been, in milliseconds."""
        line.signal(signal.SIGINT)
        line.wait(5)
        counts = next((found for found in line.lines() if found.get("type") == "counts"), None)
        assert counts, f"the line said nothing at its end: {line.describe()}"
        return counts["lateMaxMicroseconds"] / 1000

    def transfer(self, way, algorithm):
        """A TCP transfer over the line, "up" or "down", until `stop`."""
        server = self.run("b", "iperf3", "-s", "-1", name=f"server{len(self.programs)}")
        end = time.monotonic() + 5
        while not self.listens("b"):
            assert time.monotonic() < end, f"iperf3 does not listen\n{server.describe()}"
            time.sleep(0.05)
        client = self.run(
            "x",
            *("iperf3", "-c", ADDRESS["b"], "-t", "3600", "-C", algorithm, "-i", "0"),
            *(["-R"] if way == "down" else []),
            name=f"client{len(self.programs)}",
        )
        return Transfer(client, server, way)

    def listens(self, host):
        found = sh("ip", "netns", "exec", self.ns(host), "cat", "/proc/net/tcp", "/proc/net/tcp6")
        return f":{PORT_OF_TRANSFERS:04X} 0000" in found.stdout

    def ping(self, seconds):
        """Round trips from x to b in ms, each 100 ms for so long."""
        done = sh(
            *("ip", "netns", "exec", self.ns("x"), "python3", "-c", PING),
            *(ADDRESS["b"], str(seconds)),
        )
        return [float(line) for line in done.stdout.split()]


class Transfer:
    def __init__(self, client, server, way):
        self.client, self.server, self.way = client, server, way

    def stop(self):
        """Whoever receives goes away: what has not been sent yet is never sent."""
        assert self.client.process.poll() is None, f"it ended by itself\n{self.client.describe()}"
        receiver, sender = self.client, self.server
        if self.way == "up":
            receiver, sender = sender, receiver
        receiver.kill()
        # The other end hears of it by the line.
        time.sleep(0.1)
        return sender


def ensure_routable():
    """A sentence where this host cannot do it; otherwise nothing."""
    if os.geteuid() != 0 or sh("unshare", "-n", "true", check=False).returncode != 0:
        return "network namespaces are not permitted here (root)"
    if not os.path.exists("/dev/net/tun"):
        return "there is no /dev/net/tun"
    if not shutil.which("iperf3"):
        return "iperf3 is not installed (tools/setup --measure)"
    missing = [
        name
        for name in ("earshot", "earshot-rendezvous", "LineCommand")
        if not os.path.exists(f"{BIN}/{name}")
    ]
    return (
        f"{', '.join(missing)} not in {BIN}: build first, or set EARSHOT_BIN" if missing else None
    )


def algorithms():
    """Of TCP, as the kernel names them."""
    with open("/proc/sys/net/ipv4/tcp_available_congestion_control") as file:
        return file.read().split()
