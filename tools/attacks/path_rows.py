"""H6: a forger between a client and its rendezvous, nearer than the server."""

import os

from earshot_session import CARD, CARD_REQUEST, COOKIE, INIT, VERSION, seal_x
from earshot_wire import Identity, blake, z_base_32
from field import Row

SERVER_DELAY = 0.15  # s: how much later the true answers come
REPETITIONS = (0.0, 0.3, 0.9, 2.1)


class Forger:
    """A relay in front of the rendezvous that answers first."""

    def __init__(self, loop, server, answer, delay=SERVER_DELAY, drop=()):
        """`answer(packet)` is what it forges; first bytes in `drop` are never passed on."""
        self.loop, self.server, self.answer, self.delay, self.drop = (
            loop,
            server,
            answer,
            delay,
            drop,
        )
        self.socket = loop.open(self, ("127.0.0.1", 0))
        self.client, self.late, self.times = None, [], []

    @property
    def address(self):
        return self.socket.getsockname()

    def receive(self, packet, source, now):
        if source == self.server:
            if packet[0] not in self.drop:
                self.late.append((now + self.delay, packet))
            return
        self.client = source
        if packet[0] == INIT:
            self.times.append(now)
        for forged in self.answer(packet):
            self.socket.sendto(forged, source)
        self.socket.sendto(packet, self.server)

    def tick(self, now):
        while self.late and self.late[0][0] <= now:
            self.socket.sendto(self.late.pop(0)[1], self.client)


def version(packet):
    """VERSION to each INIT: only version 2 is spoken here."""
    if packet[0] == INIT:
        yield bytes([VERSION, 1, 1, 0]) + packet[4:8] + b"\2\2" + bytes(6)


def card_of(identity):
    """CARD of another identity to each CARD_REQUEST."""

    def answer(packet):
        if packet[0] == CARD_REQUEST:
            body = identity.card.bytes
            yield (bytes([CARD, 1, 0, 0]) + packet[4:12] + len(body).to_bytes(2, "little") + body)

    return answer


def _client(field, forger, identity, pin):
    program = field.programs.earshot(
        "answer", "--accept", identity=identity, name=identity, server=forger.address, pin=pin
    )
    came = field.wait(lambda: program.event("registered") or program.exit_code is not None, 9)
    return program, bool(came and program.event("registered"))


def _words(program, registered):
    if registered:
        return "registered"
    return f"exit {program.exit_code}" if program.exit_code is not None else "not registered"


def forged_version(field, quick):
    """VERSION ends nothing."""
    forger = Forger(field.loop, field.server, version)
    program, registered = _client(field, forger, "victim", True)
    return [
        Row(
            "H6",
            "forged VERSION to each INIT",
            _words(program, registered),
            "registered",
            registered,
        )
    ]


def forged_card(field, quick):
    """A card of another identity: with the server's ID given, and without."""
    rows, other = [], Identity("")
    forger = Forger(field.loop, field.server, card_of(other))
    program, registered = _client(field, forger, "victim", True)
    rows.append(
        Row(
            "H6",
            "forged CARD, the server's ID is given",
            _words(program, registered),
            "registered",
            registered,
        )
    )
    program.end()
    forger = Forger(field.loop, field.server, card_of(other))
    program, registered = _client(field, forger, "novice", False)
    program.end()
    try:
        with open(field.programs.path("novice.known-peers")) as file:
            pinned = z_base_32(other.id) in file.read()
    except FileNotFoundError:
        pinned = False
    forger.answer = lambda packet: ()
    program, later = _client(field, forger, "novice", False)
    rows.append(
        Row(
            "H6",
            "forged CARD to a client that has seen no server yet",
            f"{'the forger is pinned' if pinned else 'no pin of the forger'}; later, "
            f"with nobody there: {_words(program, later)}",
            "no pin, registered later",
            not pinned and later,
        )
    )
    return rows


class CookieForger(Forger):
    """COOKIEs without end, and no RESP: 1000/s for 3 s after the first INIT."""

    def __init__(self, loop, server, static):
        super().__init__(loop, server, self.remember, drop=(0xC2, 0xC3))
        self.key = blake(32, b"EST1cook" + static)
        self.init, self.began, self.sent = None, None, 0

    def remember(self, packet):
        if packet[0] == INIT:
            self.init = packet
        return ()

    def tick(self, now):
        super().tick(now)
        if self.init is None:
            return
        self.began = self.began or now
        while self.sent < min(now - self.began, 3.0) * 1000:
            nonce = os.urandom(24)
            sealed = seal_x(self.key, nonce, os.urandom(16), self.init[1168:1184])
            self.socket.sendto(
                bytes([COOKIE, 1, 1, 1]) + self.init[4:8] + nonce + sealed, self.client
            )
            self.sent += 1


def forged_cookies(field, quick):
    """Each forged COOKIE draws no INIT of its own."""
    forger = CookieForger(field.loop, field.server, field.card().static)
    program = field.programs.earshot(
        "answer", "--accept", identity="victim", name="victim", server=forger.address, pin=True
    )
    field.wait(lambda: forger.times, 5)
    field.loop.run(3.2)
    forger.drop = ()
    sent = len(forger.times)
    registered = field.wait(lambda: program.event("registered"), 9)
    most = sum(t <= 3.2 for t in REPETITIONS)
    return [
        Row(
            "H6",
            f"{forger.sent} forged COOKIEs in 3 s",
            f"{sent} INITs in 3 s, then {'registered' if registered else 'no registration'}",
            f"≤ {most} INITs, registered",
            sent <= most and bool(registered),
        )
    ]
