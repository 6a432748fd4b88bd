"""Many attackers on one thread: loopback addresses behind one socket, bare sessions, floods.

An address of 127.0.0.0/8 stands for a public one. Nothing is ever sent elsewhere.
"""

import os
import socket
import struct
import subprocess
import time

import earshot_frames as frames
import earshot_session as session
from earshot_session import Initiation
from earshot_wire import Identity, WireError

IP_PKTINFO = 8  # Linux; Python names it from 3.14 on
FLOOD = os.environ.get("EARSHOT_FLOOD", "")
NICE = 10


DOORS = 16  # UDP ports of each attacking address


def addresses(second, count):
    """`count` loopback addresses 127.second.x.1, each of a /24 of its own."""
    return [f"127.{second + n // 250}.{n % 250}.1" for n in range(count)]


class Crowd:
    """UDP sockets that send from any loopback address, and know where answers came to.

    A source is an address, or (address, door): one of the address's ports.
    """

    def __init__(self, server):
        if not server[0].startswith("127."):
            raise ValueError("attacks go to loopback only")
        self.server = server
        self.sockets = [self._open() for _ in range(DOORS)]

    @staticmethod
    def _open():
        udp = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        udp.setsockopt(socket.IPPROTO_IP, IP_PKTINFO, 1)
        udp.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4 << 20)
        udp.bind(("0.0.0.0", 0))
        udp.setblocking(False)
        return udp

    def send(self, packet, source):
        """Sends to the server from a source."""
        address, door = source if isinstance(source, tuple) else (source, 0)
        info = struct.pack("<i4s4s", 0, socket.inet_aton(address), bytes(4))
        try:
            self.sockets[door].sendmsg(
                [packet], [(socket.IPPROTO_IP, IP_PKTINFO, info)], 0, self.server
            )
        except OSError:
            pass  # as if it were lost

    def received(self, most=100):
        """[(packet, the source of ours that it came to)]: at most so many of each port."""
        found = []
        for door, udp in enumerate(self.sockets):
            for _ in range(most):
                try:
                    packet, control, _, _ = udp.recvmsg(2048, 64)
                except BlockingIOError:
                    break
                address = socket.inet_ntoa(control[0][2][4:8]) if control else ""
                found.append((packet, (address, door)))
        return found

    def close(self):
        for udp in self.sockets:
            udp.close()


class Member:
    """An attacker: an identity, an address, and what has come of its INIT."""

    made = 0

    def __init__(self, server_card, address, name=None, identity=None, card=None, when=None):
        Member.made += 1
        self.source = address, Member.made % DOORS
        self.identity = identity or Identity(name or "")
        self.name = name
        self.init = Initiation(self.identity, server_card, name, card=card, when=when)
        self.keys = self.said = None

    def frames(self, data):
        """A sealed packet of this member."""
        return self.keys.seal(data)


def enrol(crowd, members, rate, patience=3.0, first=None):
    """Registers members at so many INITs a second; those who got RESP are returned.

    A member sends its INIT again after half a second, with a cookie if it was given one. Its first
    packet is a PING, or `first(member)`.
    """
    waiting = {member.init.connection: member for member in members}
    todo = [
        (index / rate + again, member)
        for index, member in enumerate(members)
        for again in (0.0, 0.5, 1.5)
    ]
    todo.sort(key=lambda entry: entry[0])
    began, done, position = time.monotonic(), [], 0
    last = todo[-1][0] + patience if todo else 0.0
    while waiting and time.monotonic() - began < last:
        now = time.monotonic() - began
        while position < len(todo) and todo[position][0] <= now:
            member = todo[position][1]
            if member.keys is None:
                crowd.send(member.init.packet, member.source)
            position += 1
        for packet, _ in crowd.received():
            _read_answer(crowd, packet, waiting, done, first or _ping)
        time.sleep(0.001)
    return done


def _ping(member):
    return member.frames(frames.ping(os.urandom(8)))


def _read_answer(crowd, packet, waiting, done, first):
    kind = packet[0]
    member = waiting.get(packet[8:12] if kind == session.RESP else packet[4:8])
    if member is None:
        return
    try:
        if kind == session.COOKIE and len(packet) == 64:
            member.init.use_cookie(packet)
        elif kind == session.RESP and len(packet) == 200:
            member.keys, member.said = member.init.read_resp(packet)
            del waiting[member.init.connection]
            done.append(member)
            crowd.send(first(member), member.source)
    except WireError:
        pass


def lookup_frame(sequence, target=b"\1\6nobody"):
    """A LOOKUP as a MSG frame."""
    return frames.fragment(0x81, sequence, 0, 1, b"\1" + os.urandom(4) + target)


def write_packets(path, packets):
    """A file for flood: [(bytes, first byte to be made random or None)]."""
    with open(path, "wb") as file:
        for packet, random_from in packets:
            file.write(
                struct.pack("<HH", len(packet), 65535 if random_from is None else random_from)
                + packet
            )


class Flood:
    """The program flood in the background, for a limited time."""

    def __init__(self, server, path, rate, seconds, source, count=1, port=0):
        self.process = subprocess.Popen(
            [
                "nice",
                "-n",
                str(NICE),
                FLOOD,
                server[0],
                str(server[1]),
                str(rate),
                str(seconds),
                source,
                str(count),
                str(port),
                path,
            ],
            stdout=subprocess.PIPE,
            text=True,
        )

    def end(self):
        """Stops it: how many packets it sent a second."""
        self.process.terminate()
        out, _ = self.process.communicate()
        return int((out.split() or [0, 0])[1])

    def sent(self):
        """Waits for its end: how many packets it sent."""
        out, _ = self.process.communicate(timeout=70)
        return int((out.split() or [0])[0])


def in_background(function, *arguments):
    """Runs a function in a process of its own, nicely; `join` it or `terminate` it."""
    import multiprocessing

    def body():
        os.nice(NICE)
        function(*arguments)

    process = multiprocessing.get_context("fork").Process(target=body, daemon=True)
    process.start()
    return process
