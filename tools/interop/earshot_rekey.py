"""Rekeys of a session between peers (docs/protocol/session.md §7)."""

from earshot_noise import Handshake
from earshot_session import REKEY, Session, connection_id, prologue
from earshot_wire import WireError

STREAM = 0
FIRST, SECOND = 1, 2


class Rekey:
    """The rekeys of one link. `static` is ours, `peer_static` theirs, `initiated` the first."""

    def __init__(self, link, static, identity, peer_static, peer, initiated):
        self.link, self.static, self.identity = link, static, identity
        self.peer_static, self.peer, self.initiated = peer_static, peer, initiated
        self.pending = None

    def start(self, now):
        """Sends REKEY_1."""
        connection = connection_id()
        handshake = Handshake(
            prologue(REKEY, connection, self.peer, self.identity),
            self.static,
            self.peer_static,
            self._psk(),
        )
        self.pending = handshake, connection
        self.link.send(STREAM, bytes([FIRST]) + connection + handshake.write_first(b""), now)

    def read(self, body, now):
        """REKEY_1 or REKEY_2 of the peer."""
        if body[0] == FIRST and len(body) == 101:
            self._answer(body, now)
        elif body[0] == SECOND and len(body) == 57 and self.pending is not None:
            handshake, connection = self.pending
            if handshake.read_second(body[5:]) != body[1:5]:
                raise WireError("a REKEY_2 with two connection IDs")
            self.pending = None
            self.link.use(Session(handshake, True, connection, body[1:5]), now)
            self.link.ping(now)

    def _answer(self, body, now):
        if self.pending is not None and self.initiated:
            return  # both began at once: ours stands
        self.pending = None
        handshake = Handshake(
            prologue(REKEY, body[1:5], self.identity, self.peer), self.static, psk=self._psk()
        )
        if handshake.read_first(body[5:]) or handshake.remote != self.peer_static:
            raise WireError("a REKEY_1 of another static key")
        connection = connection_id()
        answer = handshake.write_second(connection)
        self.link.send(STREAM, bytes([SECOND]) + connection + answer, now)
        self.link.next = Session(handshake, False, connection, body[1:5])

    def _psk(self):
        return self.link.session.exporter(b"rekey-psk")
