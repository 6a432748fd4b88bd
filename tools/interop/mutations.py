"""The same bytes, whole and mutated, for two parsers: ours here and the live rendezvous'.

usage: mutations.py [--cases N] [--calls N] [--seed N]      (tools/interop/run calls it)

Each case is the frames of a packet. Sixteen packets with frames that do not parse close a session
with code 2, a call by HANGUP of reason 8 (docs/protocol/frames.md); sixteen others do not. Both
parsers must agree. `--cases` are offered to a rendezvous, `--calls` to `earshot answer`, each in a
call of its own.
"""

import argparse
import random
import signal
import sys
import time

import earshot_frames as frames
from earshot_calling import Phone
from earshot_client import Client
from earshot_loop import Loop
from earshot_wire import Identity, WireError
from programs import Programs

PACKETS, PROTOCOL_VIOLATED = 16, 2
MORE = 24  # that come before a peer could say that it has had enough
FAILURE = 8  # the reason of HANGUP when a peer has had enough
NOT_FOR_A_SERVER = (
    *frames.CHANNEL,
    frames.AUDIO,
    frames.VIDEO,
    frames.SIGNAL,
    frames.AUDIO_REPORT,
    frames.AUDIO_REQUEST,
    frames.VIDEO_NACK,
)
ADDRESSES = 60  # each may register 20 a second


class Case:
    """Frames, and a registration of their own to send them in."""

    def __init__(self, what, data, refused):
        self.what, self.data = what, data
        self.is_valid = valid(data, refused)
        self.client = self.code = self.token = None
        self.is_alive = False


def valid(data, refused):
    """Whether ours can read it, without frames of the kinds that are refused."""
    try:
        return not any(frame.kind in refused for frame in frames.parse(data))
    except (WireError, UnicodeDecodeError):
        return False


def whole_frame(chance, peer_share):
    """(name, bytes) of a frame that is as docs/protocol wants it."""
    token = chance.randbytes(8)
    address = (f"10.{chance.randrange(256)}.0.1", chance.randrange(1, 65536))
    server = {
        "PING": lambda: frames.token(frames.PING, token),
        "PONG": lambda: frames.seen(frames.PONG, token, address),
        "FEEDBACK": lambda: frames.feedback({0: 1.0}, 0, 1, 1.0 + chance.random()),
        "MSG": lambda: frames.fragment(
            0x81,
            200,
            chance.randrange(2),
            2 + chance.randrange(3),
            chance.randbytes(chance.randrange(1, 200)),
        ),
        "CREDIT": lambda: frames.credit(32768 + chance.randrange(1000)),
        "PATH_CHALLENGE": lambda: frames.token(frames.CHALLENGE, token),
        "PATH_RESPONSE": lambda: frames.seen(frames.RESPONSE, token, address),
        "nothing": lambda: b"",
    }
    return chosen(chance, peer_frames(chance, token) if chance.random() < peer_share else server)


def peer_frames(chance, token):
    """Frames that only peers take, those of a channel that nobody takes here, and unknown ones."""
    return {
        "CHANNEL_WHO": lambda: bytes([frames.CHANNEL_WHO]) + chance.randbytes(4),
        "CHANNEL_PICTURE": lambda: bytes([frames.CHANNEL_PICTURE, 1 + chance.randrange(64)]),
        "SIGNAL": lambda: frames.signal(chance.randbytes(chance.randrange(1, 100))),
        "AUDIO_REPORT": lambda: (
            bytes([frames.AUDIO_REPORT, chance.randrange(4)]) + chance.randbytes(14)
        ),
        "AUDIO_REQUEST": lambda: (
            bytes([frames.AUDIO_REQUEST, 1 << 4 | 1 << 2]) + chance.randbytes(3)
        ),
        "VIDEO_NACK": lambda: bytes([frames.VIDEO_NACK, 8, 1, 0, 1, 0, 0, 0, 0]),
        "AUDIO": lambda: frames.audio(chance.randrange(65536), chance.randbytes(20)),
        "AUDIO with copies": lambda: (
            bytes([0x8A, 0, 0, 0x80 | 1, 5, 2, 9]) + chance.randbytes(14 + chance.randrange(20))
        ),
        "VIDEO": lambda: (
            bytes([frames.VIDEO, 0x10, 1, 0, 0, 1, 2, 3, 0, chance.randrange(3)])
            + chance.randbytes(1 + chance.randrange(40))
        ),
        "unknown": lambda: bytes([chance.choice([0x0E, 0x0F, 0x5A, 0x7F])]) + token,
    }


def chosen(chance, kinds):
    """One of them: its name and its bytes."""
    name = chance.choice(list(kinds))
    return name, kinds[name]()


def make(chance, peer_share, refused):
    """A case: one to three frames, most of them mutated."""
    parts = [whole_frame(chance, peer_share) for _ in range(chance.randrange(1, 4))]
    data = bytearray(b"".join(part for _, part in parts))
    how = chance.choice(["whole", "whole", "flipped", "cut", "longer", "padded", "stained"])
    if how == "flipped" and data:
        at = chance.randrange(len(data))
        data[at] ^= 1 << chance.randrange(8)
    elif how == "cut" and len(data) > 1:
        del data[chance.randrange(1, len(data)) :]
    elif how == "longer":
        data += chance.randbytes(chance.randrange(1, 12))
    elif how == "padded":
        data += bytes(chance.randrange(1, 20))
    elif how == "stained":
        data += bytes(chance.randrange(1, 20)) + chance.randbytes(1)
    return Case("+".join(name for name, _ in parts) + f", {how}", bytes(data or b"\0"), refused)


def is_plain(case):
    """Whether the verdict is about reading alone, and not about what the frames would do."""
    found, _ = frames.parse_some(case.data)
    if any(frame.kind in (frames.CLOSE, frames.PROBE_REQUEST) for frame in found):
        return False
    if not case.is_valid:
        return True
    if sum(frame.kind == frames.MSG for frame in found) > 1:
        return False
    for frame in found:
        if frame.kind == frames.FEEDBACK and (frame.largest != 0 or frame.epoch):
            return False
        if frame.kind == frames.MSG and not (
            frame.stream == 0x81 and frame.count > 1 and frame.sequence < 256
        ):
            return False
    return True


def make_plain(chance, count, peer_share, refused):
    """So many cases whose verdict is about reading alone."""
    cases = []
    while len(cases) < count:
        case = make(chance, peer_share, refused)
        if is_plain(case):
            cases.append(case)
    return cases


def offer(loop, server, card, cases):
    """Offers each case to the rendezvous in a session of its own."""
    for number, case in enumerate(cases):
        source = f"127.90.{number % ADDRESSES}.1"
        case.client = Client(
            loop, server, identity=Identity(""), bind=(source, 0), server_card=card
        )
        loop.run(0.012)
    loop.run(5, lambda: all(case.client.online for case in cases))
    for case in cases:
        if case.client.online:
            case.client.link.report_at = None
            for _ in range(PACKETS):
                case.client.link.send_frames(case.data, time.monotonic())
        loop.run(0.003)
    loop.run(0.3)
    for case in cases:
        case.token = case.client.online and case.client.link.ping(time.monotonic())
    loop.run(
        1.0,
        lambda: all(
            case.client.link and (case.client.link.closed or case.token in case.client.link.pongs)
            for case in cases
        ),
    )
    for case in cases:
        link = case.client.link
        case.code = link.closed[1] if link and link.closed else None
        case.is_alive = bool(link and case.token in link.pongs)
        loop.close(case.client, case.client.socket)


def call_with(loop, server, card, case, source, peer):
    """Offers a case to a peer in a call. It sees all of the packets at once, and some more than it
    takes to have had enough."""
    client = Client(loop, server, identity=Identity(""), bind=(source, 0), server_card=card)
    client.register()
    _, callee = client.lookup("bob")
    call = Phone(client).call(callee)
    loop.run(8, lambda: call.state in ("connected", "ended"))
    if call.state == "connected":
        loop.run(2, lambda: not call.link.queue)  # CONFIRM: without it the call is not one yet
        peer.process.send_signal(signal.SIGSTOP)
        for _ in range(PACKETS + MORE):
            call.link.send_frames(case.data, time.monotonic())
        peer.process.send_signal(signal.SIGCONT)
        loop.run(0.1)
        case.token = call.link.ping(time.monotonic())
        loop.run(1.0, lambda: call.state == "ended" or case.token in call.link.pongs)
        case.is_alive = case.token in call.link.pongs
        if call.link.closed or call.state == "ended":
            case.code = PROTOCOL_VIOLATED if call.reason == FAILURE else 0
        else:
            call.hang_up()
            loop.run(0.3)
    client.close()


def judge(case):
    """What is wrong with the rendezvous' verdict, or None."""
    if case.code is None and not case.is_alive:
        return "no answer at all"
    if case.is_valid != (case.code != PROTOCOL_VIOLATED):
        return f"ours: {'valid' if case.is_valid else 'invalid'}; close code {case.code}"
    return None


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=300)
    parser.add_argument("--calls", type=int, default=40)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(2**32))
    options = parser.parse_args()
    chance, loop = random.Random(options.seed), Loop()
    cases = make_plain(chance, options.cases, 1 / 8, NOT_FOR_A_SERVER)
    called = make_plain(chance, options.calls, 2 / 3, ())
    failed = 0
    with Programs(loop=loop) as programs:
        asking = Client(loop, programs.server)
        loop.run(5, lambda: asking.card)
        for begin in range(0, len(cases), 200):
            offer(loop, programs.server, asking.card, cases[begin : begin + 200])
        peer = programs.answering("bob")
        for number, case in enumerate(called):
            source = f"127.91.{number % 250}.1"
            call_with(loop, programs.server, asking.card, case, source, peer)
    cases += called
    for case in cases:
        wrong = judge(case)
        if wrong:
            failed += 1
            print(f"FAIL  seed {options.seed}, {case.what}: {wrong}: {case.data.hex()}")
    invalid = sum(not case.is_valid for case in cases)
    print(f"{len(cases)} packets, {invalid} of them invalid: {failed} verdicts differ")
    print(f"{len(cases) - failed} passed, {failed} failed")
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
