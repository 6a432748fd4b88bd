"""IKpsk2 handshakes between the program NoiseInterop and two independent libraries.

usage: handshakes.py PROGRAM [--handshakes N]      (tools/interop/run calls it)
"""

import argparse
import random
import subprocess
import sys
import warnings

from dissononce.cipher.chachapoly import ChaChaPolyCipher
from dissononce.dh.x25519.private import PrivateKey
from dissononce.dh.x25519.public import PublicKey
from dissononce.dh.x25519.x25519 import X25519DH
from dissononce.hash.sha256 import SHA256Hash
from dissononce.processing.handshakepatterns.interactive.IK import IKHandshakePattern
from dissononce.processing.impl.cipherstate import CipherState
from dissononce.processing.impl.handshakestate import HandshakeState
from dissononce.processing.impl.symmetricstate import SymmetricState
from dissononce.processing.modifiers.psk import PSKPatternModifier
from noise.connection import Keypair, NoiseConnection

warnings.filterwarnings("ignore")


class Ours:
    """One side, run by our program."""

    def __init__(self, program):
        self.process = subprocess.Popen(
            [program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    def ask(self, *fields):
        line = " ".join(f if isinstance(f, str) else f.hex() or "-" for f in fields)
        print(line, file=self.process.stdin, flush=True)
        status, _, answer = self.process.stdout.readline().strip().partition(" ")
        if status != "ok":
            raise ValueError(f"our side answers {status!r} to {fields[0]}")
        return b"" if answer == "-" else bytes.fromhex(answer)

    def start(self, role, prologue, static, ephemeral, psk, remote=None):
        self.ask("start", role, prologue, static, ephemeral, psk, *([remote] if remote else []))

    def write(self, payload):
        return self.ask("write", payload)

    def read(self, message):
        return self.ask("read", message)

    def split(self):
        return self.ask("split")

    def seal(self, text):
        return self.ask("seal", text)

    def open(self, sealed):
        return self.ask("open", sealed)


class NoiseProtocol:
    """One side, run by the library noiseprotocol."""

    def start(self, role, prologue, static, ephemeral, psk, remote=None):
        self.side = NoiseConnection.from_name(b"Noise_IKpsk2_25519_ChaChaPoly_SHA256")
        self.side.set_psks(psks=[psk])
        self.side.set_prologue(prologue)
        self.side.set_keypair_from_private_bytes(Keypair.STATIC, static)
        if remote:
            self.side.set_keypair_from_public_bytes(Keypair.REMOTE_STATIC, remote)
        if role == "initiator":
            self.side.set_as_initiator()
        else:
            self.side.set_as_responder()
        self.side.start_handshake()

    def write(self, payload):
        return bytes(self.side.write_message(payload))

    def read(self, message):
        return bytes(self.side.read_message(message))

    def split(self):
        return self.side.get_handshake_hash()

    def seal(self, text):
        return bytes(self.side.encrypt(text))

    def open(self, sealed):
        return bytes(self.side.decrypt(sealed))


class Dissononce:
    """One side, run by the library dissononce."""

    def start(self, role, prologue, static, ephemeral, psk, remote=None):
        self.initiates = role == "initiator"
        dh = X25519DH()
        self.side = HandshakeState(
            SymmetricState(CipherState(ChaChaPolyCipher()), SHA256Hash()), dh
        )
        self.side.initialize(
            PSKPatternModifier(2).modify(IKHandshakePattern()),
            self.initiates,
            prologue,
            s=dh.generate_keypair(PrivateKey(static)),
            rs=PublicKey(remote) if remote else None,
            psks=(psk,),
        )
        self.ciphers = None

    def write(self, payload):
        buffer = bytearray()
        self.ciphers = self.side.write_message(payload, buffer) or self.ciphers
        return bytes(buffer)

    def read(self, message):
        buffer = bytearray()
        self.ciphers = self.side.read_message(message, buffer) or self.ciphers
        return bytes(buffer)

    def split(self):
        return bytes(self.side.symmetricstate.get_handshake_hash())

    def seal(self, text):
        return bytes(self.ciphers[0 if self.initiates else 1].encrypt_with_ad(b"", text))

    def open(self, sealed):
        return bytes(self.ciphers[1 if self.initiates else 0].decrypt_with_ad(b"", sealed))


def public(private):
    return X25519DH().generate_keypair(PrivateKey(private)).public.data


def run(initiator, responder, chance):
    """One handshake and what follows it; raises on any difference."""
    static = [chance.randbytes(32), chance.randbytes(32)]
    ephemeral = [chance.randbytes(32), chance.randbytes(32)]
    prologue, psk = chance.randbytes(chance.randrange(200)), chance.randbytes(32)
    initiator.start("initiator", prologue, static[0], ephemeral[0], psk, public(static[1]))
    responder.start("responder", prologue, static[1], ephemeral[1], psk)
    for sender, receiver in ((initiator, responder), (responder, initiator)):
        payload = chance.randbytes(chance.randrange(1100))
        if receiver.read(sender.write(payload)) != payload:
            raise ValueError("the payload arrives changed")
    if initiator.split() != responder.split():
        raise ValueError("the handshake hashes differ")
    for _ in range(4):
        for sender, receiver in ((initiator, responder), (responder, initiator)):
            text = chance.randbytes(chance.randrange(1200))
            if receiver.open(sender.seal(text)) != text:
                raise ValueError("a transport message arrives changed")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--handshakes", type=int, default=200)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    chance = random.Random(options.seed)
    ours = Ours(options.program)
    passed = failed = 0
    for theirs in (NoiseProtocol(), Dissononce()):
        for initiator, responder in ((ours, theirs), (theirs, ours)):
            good = 0
            for _ in range(options.handshakes):
                try:
                    run(initiator, responder, chance)
                    good += 1
                except Exception as error:
                    failed += 1
                    print(f"seed {options.seed}: {type(error).__name__}: {error}")
            names = [type(side).__name__ for side in (initiator, responder)]
            print(f"{names[0]} initiates, {names[1]} responds: {good} handshakes agree")
            passed += good
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


main()
