"""Addresses, TLVs, identities and contact cards (docs/protocol/README.md).

This file and the other earshot_*.py are a client of its own, written from docs/protocol alone.
"""

import base64
import hashlib
import os
import socket
import struct
import time

from cryptography.exceptions import InvalidSignature
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

(CARD, NAME, TOKEN, CANDIDATES, EXTENSION, MEDIA, REASON_TEXT, PRESENCE, ABILITIES) = range(1, 10)
SENDER_NAMES = 1  # an ability: FORWARDED may have the sender's name
TAKES_RELAYS = 2  # an ability: RELAYS may come
PROTOCOL = os.path.join(os.path.dirname(os.path.abspath(__file__)), "../../docs/protocol")


def says(page, words):
    """Whether a page of docs/protocol has these words."""
    try:
        with open(os.path.join(PROTOCOL, page), encoding="utf-8") as file:
            return words in file.read()
    except FileNotFoundError:
        return False


# Whether programs of one identity stand beside each other (presence IDs in the wire): as the
# protocol of this tree has it, or as EARSHOT_PRESENCES=0 or 1 says for other programs.
PRESENCES = (
    os.environ.get("EARSHOT_PRESENCES", str(int(says("rendezvous.md", "to presence 8")))) == "1"
)
PROGRAM_LENGTH = 8 if PRESENCES else 0
EVERY = bytes(PROGRAM_LENGTH)
GUEST, ANSWERING, CALLING = range(3)
CARD_MAGIC = b"ECC1"
CARD_LABEL = b"EST1 contact card\0"
Z_BASE_32 = "ybndrfg8ejkmcpqxot1uwisza345h769"
DAY = 86400


class WireError(ValueError):
    """Bytes that docs/protocol does not allow."""


class Reader:
    """Reads fields from the front of bytes; raises WireError where they end too early."""

    def __init__(self, data):
        self.data, self.at = bytes(data), 0

    def take(self, count):
        if count > len(self.data) - self.at:
            raise WireError(f"{count} bytes wanted, {len(self.data) - self.at} left")
        self.at += count
        return self.data[self.at - count : self.at]

    def integer(self, count):
        return int.from_bytes(self.take(count), "little")

    @property
    def left(self):
        return len(self.data) - self.at

    def rest(self):
        return self.take(len(self.data) - self.at)

    def end(self):
        if self.at != len(self.data):
            raise WireError(f"{len(self.data) - self.at} bytes left over")


def blake(size, message, key=b""):
    """BLAKE2b with a result of `size` bytes."""
    return hashlib.blake2b(message, digest_size=size, key=key).digest()


def kdf(key, context, index, size=32):
    """libsodium's crypto_kdf_derive_from_key."""
    return hashlib.blake2b(
        b"",
        digest_size=size,
        key=key,
        salt=index.to_bytes(8, "little") + bytes(8),
        person=context + bytes(8),
    ).digest()


def z_base_32(data):
    """An ID as text: 5 bits a letter, high bits first, the last letter filled with zero bits."""
    number, bits = int.from_bytes(data, "big"), len(data) * 8
    letters = -(-bits // 5)
    number <<= letters * 5 - bits
    return "".join(Z_BASE_32[(number >> 5 * i) & 31] for i in reversed(range(letters)))


def identity_of_text(text):
    """The 32 bytes of an ID's 52 letters."""
    number = 0
    for letter in text:
        number = number << 5 | Z_BASE_32.index(letter)
    return (number >> 4).to_bytes(32, "big")


def pack_address(address):
    """(host, port) as the 19 bytes of an address."""
    host, port = address
    if ":" in host:
        return b"\6" + socket.inet_pton(socket.AF_INET6, host) + struct.pack("<H", port)
    return b"\4" + socket.inet_aton(host) + bytes(12) + struct.pack("<H", port)


def unpack_address(data):
    """The (host, port) of 19 bytes."""
    family, port = data[0], int.from_bytes(data[17:19], "little")
    if family == 4 and not any(data[5:17]):
        return socket.inet_ntoa(data[1:5]), port
    if family == 6:
        return socket.inet_ntop(socket.AF_INET6, data[1:17]), port
    raise WireError(f"no address: {data.hex()}")


def pack_tlvs(fields):
    """[(type, value)] as TLVs, without padding. A value of None is left out."""
    return b"".join(
        struct.pack("<BH", kind, len(value)) + value for kind, value in fields if value is not None
    )


def unpack_tlvs(data):
    """{type: value} of TLVs and their padding."""
    reader, fields = Reader(data), {}
    while reader.at < len(reader.data):
        kind = reader.integer(1)
        if kind == 0:
            if any(reader.rest()):
                raise WireError("the padding is not zero")
            break
        value = reader.take(reader.integer(2))
        if kind in fields:
            raise WireError(f"TLV {kind} twice")
        fields[kind] = value
    return fields


def pack_candidates(candidates):
    """[(kind, address)] as the value of TLV 4."""
    return b"".join(bytes([kind]) + pack_address(address) for kind, address in candidates)


def unpack_candidates(value):
    """[(kind, address)] of the value of TLV 4."""
    if not 20 <= len(value) <= 160 or len(value) % 20:
        raise WireError(f"candidates of {len(value)} bytes")
    return [(value[i], unpack_address(value[i + 1 : i + 20])) for i in range(0, len(value), 20)]


def program_id():
    """A presence ID; nothing where the wire has none."""
    return os.urandom(PROGRAM_LENGTH)


class StaticKey:
    """An X25519 key pair."""

    def __init__(self, seed=None):
        self.private = X25519PrivateKey.from_private_bytes(seed or os.urandom(32))
        self.public = self.private.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)


class Card:
    """A contact card as its fields; `bytes` is the encoding."""

    def __init__(self, data):
        reader = Reader(data)
        if not 194 <= len(data) <= 330 or reader.take(6) != CARD_MAGIC + b"\1\0":
            raise WireError("no contact card")
        self.bytes = bytes(data)
        self.id, self.static = reader.take(32), reader.take(32)
        self.not_before, self.not_after, self.serial = (reader.integer(8) for _ in range(3))
        self.rendezvous, self.host = reader.take(32), reader.take(reader.integer(1))
        self.port = reader.integer(2)
        self.name = reader.take(reader.integer(1)).decode("ascii")
        self.signature = reader.take(64)
        reader.end()

    def check(self, identity=None, now=None):
        """Raises WireError unless the card is to be believed, for this ID if one is given."""
        now = time.time() if now is None else now
        if identity is not None and identity != self.id:
            raise WireError("a card of another identity")
        if not self.not_before - 600 <= now <= self.not_after + 600:
            raise WireError("a card of another time")
        try:
            Ed25519PublicKey.from_public_bytes(self.id).verify(
                self.signature, CARD_LABEL + self.bytes[:-64]
            )
        except InvalidSignature as error:
            raise WireError("a card with a bad signature") from error


class Identity:
    """An Ed25519 identity with its device static key."""

    def __init__(self, name="", static=None):
        self.key = Ed25519PrivateKey.generate()
        self.id = self.key.public_key().public_bytes(Encoding.Raw, PublicFormat.Raw)
        self.name, self.static = name, static or StaticKey()
        self.card = self.make_card()

    def make_card(self, static=None, serial=None, not_before=None, days=14, name=None, home=None):
        """A signed card; what is not given is this identity's own, from now on.

        `home` is (ID, host as bytes, port) of its rendezvous.
        """
        now = int(time.time())
        begin = now if not_before is None else not_before
        title = (self.name if name is None else name).encode()
        home_id, host, port = home or (bytes(32), b"", 0)
        body = b"".join(
            (
                CARD_MAGIC,
                b"\1\0",
                self.id,
                (static or self.static).public,
                struct.pack("<QQQ", begin, begin + days * DAY, now if serial is None else serial),
                home_id,
                bytes([len(host)]),
                host,
                struct.pack("<H", port),
                bytes([len(title)]),
                title,
            )
        )
        return Card(body + self.key.sign(CARD_LABEL + body))


def card_text(card):
    """A card as text."""
    return "earshot:" + base64.urlsafe_b64encode(card.bytes).rstrip(b"=").decode()
