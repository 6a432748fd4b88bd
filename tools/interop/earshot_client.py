"""A client of a rendezvous: registration, look-up, forwarding (docs/protocol/rendezvous.md)."""

import os
import struct
import time

import earshot_session as session
import earshot_wire as wire
from earshot_link import SERVER_GRANT, Link
from earshot_loop import Loop
from earshot_wire import Reader, WireError

LOOKUP, LOOKUP_RESULT, FORWARD, FORWARDED, FORWARD_RESULT, RELAYS = range(1, 7)
REQUESTS = 0x81  # the stream of requests and answers, unordered
ONLINE, OFFLINE, UNKNOWN, TOO_MANY = range(4)
NAME_ON_CARD = 10  # status of RESP: the card claims a name that is not this ID's
CARD_TIMES, CARD_FAILS = (0, 0.3, 0.9, 2.1, 4.5), 8.0
INIT_TIMES, INIT_ANEW, INIT_FAILS = (0, 0.3, 0.9, 2.1), 4.5, 10.0
FIRST_PING = 0.3


class Client:
    """A peer: one socket, one identity, one registration. Calls: earshot_calls.Caller.

    Server is (host, port); `server_id` pins it; `server_card` saves asking for the card.
    """

    def __init__(
        self,
        loop,
        server,
        identity=None,
        name=None,
        bind=("127.0.0.1", 0),
        server_id=None,
        server_card=None,
        program=None,
    ):
        self.loop, self.server, self.name = loop or Loop(), server, name
        self.identity = identity or wire.Identity(name or "")
        self.server_id, self.card = server_id, server_card
        self.program = wire.program_id() if program is None else program
        self.socket = self.loop.open(self, bind)
        self.nonce = os.urandom(8)
        self.link = self.said = self.init = None
        self.failure, self.reset = None, False
        self.inits_sent = 0
        self.results, self.forwards = {}, {}
        self.sender_names = {}  # by ID: what the rendezvous says that a sender is called
        self.statuses = []
        self.relays = None  # (life in s, [(URI, user, password)]) once the rendezvous names some
        self.seen_messages = {}
        self.on_body = lambda sender, program, body: None
        self.on_packet = lambda packet, source, now: None
        self.clock_offset = 0.0
        self.began_at = self.attempt_at = None
        self.sent = 0

    @property
    def online(self):
        """True once something of the server has opened under the new keys."""
        return self.link is not None and self.link.heard_at is not None and not self.link.closed

    @property
    def address(self):
        return self.socket.getsockname()[:2]

    def close(self):
        """Leaves the rendezvous and closes the socket."""
        if self.link is not None and not self.link.closed:
            self.link.finish(0, time.monotonic())
            self.loop.run(0.2, lambda: not self.link.closings)
        self.loop.close(self, self.socket)

    def move(self):
        """Goes on from another port, as behind a translator that forgot the mapping."""
        host = self.address[0]
        self.loop.close(self, self.socket)
        self.socket = self.loop.open(self, (host, 0))
        self.next_ping = 0.0

    def register(self, seconds=10.0):
        """Registers; says whether it came to be."""
        self.loop.run(seconds, lambda: self.online or self.failure)
        return self.online

    def transmit(self, packet, address=None):
        """Sends a packet, to the server if no address is given."""
        try:
            self.socket.sendto(packet, address or self.server)
        except OSError:
            pass  # no buffer, nobody there: as if it were lost on the way

    def receive(self, packet, source, now):
        """A packet came."""
        try:
            if packet and source == self.server and packet[0] >= session.INIT:
                self._read_handshake(packet, now)
            elif self.link is not None and self.link.owns(packet):
                self.link.receive(packet, source, now)
            else:
                self.on_packet(packet, source, now)
        except WireError:
            pass  # what is not for us changes nothing

    def _read_handshake(self, packet, now):
        if packet[0] == session.CARD and self.card is None:
            card = session.read_card(packet, self.nonce)
            card.check(self.server_id)
            self.card = card
        elif packet[0] == session.COOKIE and self.init is not None and len(packet) == 64:
            self.init.use_cookie(packet)
        elif packet[0] == session.RESP and self.link is None and self.init is not None:
            keys, self.said = self.init.read_resp(packet)
            self.statuses.append(self.said.status)
            if self.said.status == NAME_ON_CARD and self.statuses.count(NAME_ON_CARD) == 1:
                # Again, and at once, with a card without a name; the name is asked for as before.
                self.identity.card = self.identity.make_card(name="")
                self.init = None
                return
            self.link = Link(keys, self.transmit, SERVER_GRANT)
            self.link.on_message = self._read_message
            self.clock_offset = self.said.clock_ms - now * 1000
            self.next_ping = now
        elif packet[0] == session.RESET and self.said is not None:
            self.reset = len(packet) == 40 and packet[8:24] == self.said.reset_token

    def tick(self, now):
        """Sends what time makes due."""
        if self.failure:
            return
        self.began_at = self.began_at or now
        if self.link is not None:
            self._keep(now)
        elif self.card is None:
            self._ask_card(now)
        else:
            self._initiate(now)

    def _ask_card(self, now):
        if self.sent < len(CARD_TIMES) and now - self.began_at >= CARD_TIMES[self.sent]:
            self.transmit(session.card_request(self.nonce))
            self.sent += 1
        if now - self.began_at >= CARD_FAILS:
            self.failure = "no card"

    def _initiate(self, now):
        if self.init is None or now - self.attempt_at >= INIT_ANEW:
            self.first_at = now if self.init is None else self.first_at
            self.init = session.Initiation(
                self.identity,
                self.card,
                self.name,
                program=self.program,
                abilities=wire.SENDER_NAMES | wire.TAKES_RELAYS,
            )
            self.attempt_at, self.sent = now, 0
        if self.sent < len(INIT_TIMES) and now - self.attempt_at >= INIT_TIMES[self.sent]:
            self.transmit(self.init.packet)
            self.sent += 1
            self.inits_sent += 1
        if now - self.first_at >= INIT_FAILS:
            self.failure = "no RESP"

    def _keep(self, now):
        if now >= self.next_ping and not self.link.closed:
            self.link.ping(now)
            self.next_ping = now + (self.said.period if self.online else FIRST_PING)
        self.link.tick(now)

    def _request(self, body):
        self.link.send(REQUESTS, body, time.monotonic())

    def ask(self, target):
        """Sends LOOKUP for a name or an ID of 32 bytes; `results` has (status, card) later."""
        request = os.urandom(4)
        if isinstance(target, bytes):
            key = b"\2" + target
        else:
            key = bytes([1, len(target)]) + target.encode()
        self._request(bytes([LOOKUP]) + request + key)
        return request

    def lookup(self, target, seconds=5.0):
        """(status, card or None) of a name or an ID; None without an answer."""
        request = self.ask(target)
        self.loop.run(seconds, lambda: request in self.results)
        return self.results.pop(request, None)

    def ping(self, seconds=2.0):
        """The round trip to the server in seconds, or None."""
        value = self.link.ping(time.monotonic())
        self.loop.run(seconds, lambda: value in self.link.pongs)
        answer = self.link.pongs.get(value)
        return answer and answer[0]

    def forward(self, to, body, program=wire.EVERY, life=8):
        """Sends FORWARD to one program or to every one; `forwards` has the status later."""
        message = os.urandom(16)
        self._request(forward_body(message, to, body, program, life))
        return message

    @property
    def seen_as(self):
        """Our address as the server sees it."""
        answers = [address for _, address in self.link.pongs.values()]
        return answers[-1] if answers else self.said.seen_as

    def clock_ms(self):
        """The rendezvous' clock, in ms."""
        return round(time.monotonic() * 1000 + self.clock_offset)

    def _read_message(self, stream, body):
        if stream != REQUESTS:
            return
        reader = Reader(body)
        kind = reader.integer(1)
        if kind == LOOKUP_RESULT:
            request, status = reader.take(4), reader.integer(1)
            data = reader.take(reader.integer(2))
            self.results[request] = status, data and wire.Card(data) or None
        elif kind == FORWARD_RESULT:
            message = reader.take(16)
            self.forwards[message] = reader.integer(1)
        elif kind == RELAYS:
            life, count = reader.integer(4), reader.integer(1)
            if not 1 <= count <= 4:
                raise WireError("RELAYS of none or too many")
            self.relays = (
                life,
                [
                    tuple(reader.take(reader.integer(1)).decode("ascii") for _ in range(3))
                    for _ in range(count)
                ],
            )
        elif kind == FORWARDED:
            message, sender = reader.take(16), reader.take(32)
            program = reader.take(wire.PROGRAM_LENGTH)
            reader.take(2)
            content = reader.take(reader.integer(2))
            name = reader.take(reader.integer(1)).decode() if reader.left else None
            self.sender_names[sender] = name
            if message not in self.seen_messages:
                self.seen_messages[message] = True
                self.on_body(sender, program, content)


def forward_body(message, to, body, program=wire.EVERY, life=8):
    """FORWARD to one program of an ID or to every one; `life` in s."""
    return bytes([FORWARD]) + message + to + program + struct.pack("<HH", life, len(body)) + body
