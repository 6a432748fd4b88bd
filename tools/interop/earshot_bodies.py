"""Bodies of call signalling (docs/protocol/calling.md §2)."""

import os
import struct

import earshot_wire as wire
from earshot_noise import Handshake
from earshot_session import CALL, connection_id, open_x, prologue, seal_x
from earshot_wire import Reader, WireError, blake, kdf

INVITE, RINGING, ACCEPT, REJECT, CANCEL, TIMEOUT, HANGUP, RECEIPT, UNSUPPORTED = range(1, 10)
NONE, DECLINED, BUSY, NOT_ALLOWED, NO_ANSWER, USER_HUNG_UP, USER_CANCELLED, NO_PATH = range(8)
FROM_CALLER, FROM_CALLEE = 0, 1
ACCEPTED, REJECTED = 1, 2
OPUS = bytes([1, 0, 0])  # codec Opus, stream 0, no flags
CONFIRM, PATH_HANGUP, MEDIA_STATE, MEDIA_WANTED = range(1, 5)


def head(kind, call):
    """What every body begins with."""
    return bytes([1, kind]) + call


def mac(key, direction, body):
    """The MAC at the end of a body."""
    return blake(16, bytes([direction]) + body, key)


def with_mac(key, direction, body):
    """A body and its MAC."""
    return body + mac(key, direction, body)


def check_mac(key, direction, body):
    """The body before its MAC; raises WireError where the MAC is wrong."""
    if len(body) < 34 or mac(key, direction, body[:-16]) != body[-16:]:
        raise WireError("a body with a wrong MAC")
    return body[:-16]


def words(user_data):
    """User data as a TLV."""
    return wire.pack_tlvs(((wire.EXTENSION, user_data),))


def sealed_words(key, associated, user_data):
    """User data of CANCEL: nonce, length, sealed TLV."""
    nonce = os.urandom(24)
    sealed = seal_x(key, nonce, words(user_data), associated)
    return nonce + struct.pack("<H", len(sealed)) + sealed


class CallSecrets:
    """What follows from ck: keys of the ring."""

    def __init__(self, ck):
        self.ck, self.mac_key = ck, kdf(ck, b"EST1ring", 1)
        self.details = kdf(ck, b"EST1ring", 6)

    def path_keys(self, program, connection):
        """(AEAD key, header key) to the callee and back; `connection`: the callee's ring ID."""
        if wire.PRESENCES:
            secret = blake(32, program + connection, kdf(self.ck, b"EST1ring", 2))
            keys = [kdf(secret, b"EST1path", i) for i in range(1, 5)]
        else:
            keys = [kdf(self.ck, b"EST1ring", i) for i in range(2, 6)]
        return keys[:2], keys[2:]


class Invitation:
    """An INVITE of ours, from `identity` to the owner of `card`."""

    def __init__(
        self,
        identity,
        card,
        clock_ms,
        candidates=(),
        ring_timeout_ms=15000,
        extension=None,
        media=OPUS,
        own_card=None,
    ):
        self.call, self.connection, self.ring = os.urandom(16), connection_id(), connection_id()
        self.r_a, self.ck = os.urandom(32), os.urandom(32)
        self.secrets = CallSecrets(self.ck)
        self.handshake = Handshake(
            prologue(CALL, self.connection, card.id, identity.id), identity.static, card.static
        )
        payload = b"".join(
            (
                self.call,
                struct.pack("<Q", clock_ms),
                blake(32, b"EST1 sas" + self.r_a),
                self.ck,
                self.ring,
                struct.pack("<I", ring_timeout_ms),
                wire.pack_tlvs(
                    (
                        (wire.CARD, (own_card or identity.card).bytes),
                        (wire.CANDIDATES, wire.pack_candidates(candidates) or None),
                        (wire.EXTENSION, extension),
                        (wire.MEDIA, media),
                    )
                ),
            )
        )
        self.body = head(INVITE, self.call) + self.connection + self.handshake.write_first(payload)

    def read_answer(self, body):
        """The payload of ACCEPT or REJECT."""
        return Answer(self.handshake.read_second(body[18:]), self.call)


class ReceivedInvite:
    """An INVITE to `identity` from the ID that the rendezvous proved."""

    def __init__(self, identity, sender, body):
        self.call, self.connection, self.sender = body[2:18], body[18:22], sender
        self.handshake = Handshake(
            prologue(CALL, self.connection, identity.id, sender), identity.static
        )
        reader = Reader(self.handshake.read_first(body[22:]))
        if reader.take(16) != self.call:
            raise WireError("an INVITE with two call IDs")
        self.created_ms, self.commit = reader.integer(8), reader.take(32)
        self.secrets = CallSecrets(reader.take(32))
        self.ring, self.ring_timeout_ms = reader.take(4), reader.integer(4)
        fields = wire.unpack_tlvs(reader.rest())
        self.card = wire.Card(fields[wire.CARD])
        self.card.check(sender)
        if self.card.static != self.handshake.remote:
            raise WireError("an INVITE with a card of another static key")
        self.candidates = _candidates(fields)
        self.extension, self.media = fields.get(wire.EXTENSION), fields.get(wire.MEDIA, b"")

    def ringing(self, ring, candidates, program):
        """RINGING of a program of ours, prepared if there are candidates."""
        body = head(RINGING, self.call) + bytes([1 if candidates else 0])
        nonce = os.urandom(24)
        details = (
            ring
            + program
            + wire.pack_tlvs(((wire.CANDIDATES, wire.pack_candidates(candidates) or None),))
        )
        sealed = seal_x(self.secrets.details, nonce, details, body)
        body += nonce + struct.pack("<H", len(sealed)) + sealed
        return with_mac(self.secrets.mac_key, FROM_CALLEE, body)

    def answer(
        self,
        identity,
        verdict,
        reason=NONE,
        connection=bytes(4),
        r_b=None,
        candidates=(),
        text=None,
        program=b"",
    ):
        """ACCEPT or REJECT; the handshake is done afterwards."""
        payload = b"".join(
            (
                self.call,
                bytes([verdict, reason]),
                connection,
                program,
                r_b or os.urandom(16),
                wire.pack_tlvs(
                    (
                        (wire.CARD, identity.card.bytes),
                        (wire.CANDIDATES, wire.pack_candidates(candidates) or None),
                        (wire.MEDIA, OPUS if verdict == ACCEPTED else None),
                        (wire.REASON_TEXT, text),
                    )
                ),
            )
        )
        kind = ACCEPT if verdict == ACCEPTED else REJECT
        return head(kind, self.call) + self.handshake.write_second(payload)


class Answer:
    """The payload of message 2."""

    def __init__(self, payload, call):
        reader = Reader(payload)
        if reader.take(16) != call:
            raise WireError("an answer to another call")
        self.verdict, self.reason = reader.integer(1), reader.integer(1)
        self.connection, self.program = reader.take(4), reader.take(wire.PROGRAM_LENGTH)
        self.r_b = reader.take(16)
        fields = wire.unpack_tlvs(reader.rest())
        self.card = wire.Card(fields[wire.CARD]) if wire.CARD in fields else None
        self.candidates = _candidates(fields)
        self.text = fields.get(wire.REASON_TEXT, b"").decode("utf-8")


def read_ringing(secrets, body):
    """(ring connection ID, program, candidates, prepared) of RINGING."""
    before = check_mac(secrets.mac_key, FROM_CALLEE, body)
    reader = Reader(before)
    start = reader.take(19)
    nonce, length = reader.take(24), reader.integer(2)
    details = Reader(open_x(secrets.details, nonce, reader.take(length), start))
    reader.end()
    connection, program = details.take(4), details.take(wire.PROGRAM_LENGTH)
    candidates = _candidates(wire.unpack_tlvs(details.rest()))
    return connection, program, candidates, bool(start[18] & 1)


def _candidates(fields):
    value = fields.get(wire.CANDIDATES)
    return [] if value is None else wire.unpack_candidates(value)


def short_code(session, r_a, r_b, caller, callee):
    """The 6 letters that both users may compare."""
    digest = blake(32, r_a + r_b + caller + callee, session.exporter(b"sas"))
    return wire.z_base_32(digest)[:6]
