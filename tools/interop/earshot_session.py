"""Sessions: INIT, RESP, cookies, cards on request, sealed packets (docs/protocol/session.md)."""

import os
import struct
import time

import earshot_wire as wire
from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers import Cipher, algorithms
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from earshot_noise import Handshake
from earshot_wire import Reader, WireError, blake, kdf
from nacl import bindings
from nacl.exceptions import CryptoError

INIT, RESP, COOKIE, RESET, VERSION, CARD_REQUEST, CARD = range(0xC1, 0xC8)
REGISTER, CALL, REKEY, DIRECT = 1, 2, 3, 4
LENGTHS = {RESP: 200, COOKIE: 64, RESET: 40, VERSION: 16}
INIT_LENGTH, PAYLOAD_LENGTH, REQUEST_LENGTH = 1200, 1064, 512
SMALLEST, LARGEST = 25, 1200
KEPT_NUMBERS = 8192


def tai64n(now=None):
    """The present time as TAI64N, big-endian."""
    now = time.time_ns() if now is None else now
    return struct.pack(">QI", 2**62 + 37 + now // 10**9, now % 10**9)


def connection_id():
    """A random connection ID; zero is none."""
    return os.urandom(4).replace(b"\0\0\0\0", b"\0\0\0\1")


def prologue(purpose, connection, responder, initiator):
    """What both sides of a handshake must agree on."""
    return b"EST1" + bytes([1, 1, purpose]) + connection + responder + initiator


def mac1_key(static):
    """The key of MAC1 in packets to whoever has this static key."""
    return blake(32, b"EST1mac1" + static)


def seal_x(key, nonce, text, data):
    """XChaCha20-Poly1305."""
    return bindings.crypto_aead_xchacha20poly1305_ietf_encrypt(text, data, nonce, key)


def open_x(key, nonce, sealed, data):
    """The text of XChaCha20-Poly1305; raises WireError if it does not open."""
    try:
        return bindings.crypto_aead_xchacha20poly1305_ietf_decrypt(sealed, data, nonce, key)
    except CryptoError as error:
        raise WireError("sealed bytes that do not open") from error


def card_request(nonce):
    """CARD_REQUEST with a nonce of 8 bytes."""
    return (bytes([CARD_REQUEST, 1, 0, 0]) + nonce).ljust(REQUEST_LENGTH, b"\0")


def read_card(packet, nonce):
    """The card in a CARD that answers the request with this nonce."""
    reader = Reader(packet)
    if reader.take(4) != bytes([CARD, 1, 0, 0]) or reader.take(8) != nonce:
        raise WireError("no answer to this CARD_REQUEST")
    card = wire.Card(reader.take(reader.integer(2)))
    reader.end()
    return card


class Initiation:
    """One INIT: its bytes, and what its RESP makes of it."""

    def __init__(
        self,
        identity,
        responder,
        name=None,
        token=None,
        card=None,
        when=None,
        program=b"",
        abilities=0,
    ):
        """`responder` is the card of the server; `name` is asked for if given."""
        self.responder = responder
        self.identity = identity
        self.connection = connection_id()
        self.handshake = Handshake(
            prologue(REGISTER, self.connection, responder.id, bytes(32)),
            identity.static,
            responder.static,
        )
        payload = (when or tai64n()) + wire.pack_tlvs(
            (
                (wire.CARD, (card or identity.card).bytes),
                (wire.NAME, name and name.encode()),
                (wire.TOKEN, token),
                (wire.PRESENCE, program and program + bytes([wire.ANSWERING]) or None),
                (wire.ABILITIES, abilities and bytes([abilities]) or None),
            )
        )
        body = (
            bytes([INIT, 1, 1, REGISTER])
            + self.connection
            + self.handshake.write_first(payload.ljust(PAYLOAD_LENGTH, b"\0"))
        )
        self.mac1 = blake(16, body, mac1_key(responder.static))
        self.without_cookie = body + self.mac1
        self.packet = self.without_cookie + bytes(16)

    def use_cookie(self, packet):
        """Puts MAC2 into the INIT, from a COOKIE that answers it."""
        if packet[:8] != bytes([COOKIE, 1, 1, REGISTER]) + self.connection:
            raise WireError("a COOKIE for another INIT")
        key = blake(32, b"EST1cook" + self.responder.static)
        cookie = open_x(key, packet[8:32], packet[32:64], self.mac1)
        self.packet = self.without_cookie + blake(16, self.without_cookie, cookie)

    def read_resp(self, packet):
        """(session, what the responder said) of a RESP."""
        if packet[:4] != bytes([RESP, 1, 1, REGISTER]) or packet[8:12] != self.connection:
            raise WireError("a RESP for another INIT")
        if packet[168:184] != blake(16, packet[:168], mac1_key(self.identity.static.public)):
            raise WireError("a RESP with a wrong MAC1")
        said = Response(self.handshake.read_second(packet[12:168]))
        if said.initiator != self.connection:
            raise WireError("a RESP that names another connection ID")
        return Session(self.handshake, True, self.connection, said.responder), said


class Response:
    """The payload of RESP."""

    def __init__(self, payload):
        reader = Reader(payload)
        self.responder, self.initiator = reader.take(4), reader.take(4)
        self.clock_ms, self.boot = reader.integer(8), reader.integer(8)
        self.seen_as = wire.unpack_address(reader.take(19))
        self.life, self.period = reader.integer(4), reader.integer(2)
        self.reset_token, self.status = reader.take(16), reader.integer(1)


class SealedWay:
    """Keys of packets in one direction."""

    def __init__(self, aead, header):
        self.keys = aead, header
        self.aead, self.header = ChaCha20Poly1305(aead), header

    def mask(self, sample):
        # The 16 bytes are the block counter, then the nonce, both as they are in the sample.
        cipher = Cipher(algorithms.ChaCha20(self.header, sample), mode=None)
        return cipher.encryptor().update(bytes(5))


class PacketKeys:
    """DATA packets both ways: two SealedWay, two connection IDs, a number and a replay window."""

    def __init__(self, out, into, own, peer):
        self.out, self.into, self.own, self.peer = out, into, own, peer
        self.number = 0
        self.seen, self.highest = set(), -1

    def seal(self, frames):
        """A DATA packet with these frames."""
        if not frames or len(frames) + SMALLEST - 1 > LARGEST:
            raise WireError(f"frames of {len(frames)} bytes")
        header = b"\x60" + self.peer + struct.pack("<I", self.number)
        nonce = bytes(4) + struct.pack("<Q", self.number)
        self.number += 1
        sealed = self.out.aead.encrypt(nonce, frames, header)
        mask = self.out.mask(sealed[:16])
        hidden = bytes(a ^ b for a, b in zip(header[5:], mask[1:]))
        return bytes([0x60 ^ mask[0] & 0x1F]) + self.peer + hidden + sealed

    def open(self, packet):
        """(number, frames) of a DATA packet to us; raises WireError if it is none."""
        if not SMALLEST <= len(packet) <= LARGEST or packet[1:5] != self.own:
            raise WireError("no packet of this session")
        mask = self.into.mask(packet[9:25])
        header = (
            bytes([packet[0] ^ mask[0] & 0x1F])
            + packet[1:5]
            + bytes(a ^ b for a, b in zip(packet[5:9], mask[1:]))
        )
        number = int.from_bytes(header[5:], "little")
        if header[0] != 0x60 or number in self.seen or number <= self.highest - KEPT_NUMBERS:
            raise WireError("a packet with wrong bits or of a number seen before")
        try:
            frames = self.into.aead.decrypt(
                bytes(4) + struct.pack("<Q", number), packet[9:], header
            )
        except InvalidTag as error:
            raise WireError("a packet that does not open") from error
        self._mark(number)
        return number, frames

    def _mark(self, number):
        self.seen.add(number)
        if number > self.highest:
            self.highest = number
            if len(self.seen) > 2 * KEPT_NUMBERS:
                self.seen = {n for n in self.seen if n > number - KEPT_NUMBERS}


class Session(PacketKeys):
    """The packets under a finished handshake, and its exporter."""

    def __init__(self, handshake, initiates, own, peer):
        keys = handshake.split()
        ways = [SealedWay(kdf(k, b"EST1keys", 1), kdf(k, b"EST1keys", 2)) for k in keys]
        self.chains = [kdf(k, b"EST1keys", 3) for k in keys]
        self.hash = handshake.hash
        self.split_keys, self.noise_chain = keys, handshake.chain
        super().__init__(*(ways if initiates else ways[::-1]), own, peer)

    def exporter(self, label):
        """A secret of both sides with a purpose of its own."""
        return blake(32, b"EST1 exp" + label + self.chains[1] + self.hash, key=self.chains[0])
