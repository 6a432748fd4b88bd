"""Noise_IKpsk2_25519_ChaChaPoly_SHA256, Noise revision 34."""

import hashlib
import hmac

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PublicKey
from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
from earshot_wire import StaticKey, WireError

PROTOCOL = hashlib.sha256(b"Noise_IKpsk2_25519_ChaChaPoly_SHA256").digest()


def agree(key, public):
    """The X25519 secret of a key pair and a public key."""
    try:
        return key.private.exchange(X25519PublicKey.from_public_bytes(public))
    except ValueError as error:
        raise WireError("an all-zero X25519 result") from error


def hkdf(key, material, count):
    """The HKDF of Noise: `count` keys of 32 bytes."""
    secret = hmac.digest(key, material, "sha256")
    keys, last = [], b""
    for index in range(1, count + 1):
        last = hmac.digest(secret, last + bytes([index]), "sha256")
        keys.append(last)
    return keys


class Handshake:
    """One side of a handshake. The initiator needs `remote`, the responder's static key."""

    def __init__(self, prologue, static, remote=None, psk=bytes(32), ephemeral=None):
        self.static, self.remote, self.psk = static, remote, psk
        self.ephemeral = ephemeral or StaticKey()
        self.chain = self.hash = PROTOCOL
        self.key, self.number = None, 0
        self._mix_hash(prologue)
        self._mix_hash(remote or static.public)

    def _mix_hash(self, data):
        self.hash = hashlib.sha256(self.hash + data).digest()

    def _mix_key(self, material):
        self.chain, self.key = hkdf(self.chain, material, 2)
        self.number = 0

    def _mix_psk(self):
        self.chain, part, self.key = hkdf(self.chain, self.psk, 3)
        self._mix_hash(part)
        self.number = 0

    def _nonce(self):
        self.number += 1
        return bytes(4) + (self.number - 1).to_bytes(8, "little")

    def _seal(self, text):
        sealed = ChaCha20Poly1305(self.key).encrypt(self._nonce(), text, self.hash)
        self._mix_hash(sealed)
        return sealed

    def _open(self, sealed):
        try:
            text = ChaCha20Poly1305(self.key).decrypt(self._nonce(), sealed, self.hash)
        except InvalidTag as error:
            raise WireError("a Noise message that does not open") from error
        self._mix_hash(sealed)
        return text

    def _public(self, key):
        self._mix_hash(key)
        self._mix_key(key)

    def write_first(self, payload):
        """Message 1: e, es, s, ss."""
        self._public(self.ephemeral.public)
        self._mix_key(agree(self.ephemeral, self.remote))
        static = self._seal(self.static.public)
        self._mix_key(agree(self.static, self.remote))
        return self.ephemeral.public + static + self._seal(payload)

    def read_first(self, message):
        """The payload of message 1; `remote` is known afterwards."""
        self.remote_ephemeral = message[:32]
        self._public(self.remote_ephemeral)
        self._mix_key(agree(self.static, self.remote_ephemeral))
        self.remote = self._open(message[32:80])
        self._mix_key(agree(self.static, self.remote))
        return self._open(message[80:])

    def write_second(self, payload):
        """Message 2: e, ee, se, psk."""
        self._public(self.ephemeral.public)
        self._mix_key(agree(self.ephemeral, self.remote_ephemeral))
        self._mix_key(agree(self.ephemeral, self.remote))
        self._mix_psk()
        return self.ephemeral.public + self._seal(payload)

    def read_second(self, message):
        """The payload of message 2. A message that does not open changes nothing."""
        before = self.chain, self.hash, self.key, self.number
        try:
            self._public(message[:32])
            self._mix_key(agree(self.ephemeral, message[:32]))
            self._mix_key(agree(self.static, message[:32]))
            self._mix_psk()
            return self._open(message[32:])
        except WireError:
            self.chain, self.hash, self.key, self.number = before
            raise

    def split(self):
        """The keys from initiator to responder and back."""
        return hkdf(self.chain, b"", 2)
