"""Attacks by what came after the audit: words in a call, false candidates, echoes."""

import os
import socket
import struct
import time

import earshot_frames as frames
from call_rows import _answers, _stranger
from earshot_client import Client
from field import Row

CONTROL, WORDS = 2, 0x88  # call control, and an application's stream without order
MEDIA_STATE, VIDEO_ROTATION, LOW_VIDEO, MUSIC = 3, 7, 8, 9
KINDS = ("messages", "gaps", "halves", "states", "turns", "offers", "music")
FACTOR = 3  # bytes to an unproven address, as a multiple of what asked for them (RFC 9000 §8.1)


def _packets(call, kind):
    """Packets of as many short messages as fit, without end: (frames, messages so far)."""
    sequence = 0 if kind in ("messages", "gaps", "halves") else call.link.sequences[CONTROL]
    count = 0
    while True:
        data = b""
        while len(data) < (800 if kind == "halves" else 1090):
            if kind == "messages":
                stream, body = WORDS + count % 20, b"x"
                data += frames.fragment(stream, sequence + count // 20, 0, 1, body)
            elif kind == "gaps":  # each third message alone
                data += frames.fragment(WORDS + count % 20, count // 20 * 3, 0, 1, b"x")
            elif kind == "halves":  # messages of which the end never comes
                data += frames.fragment(WORDS + count % 20, count // 20, 0, 2, bytes(250))
            else:
                data += frames.fragment(CONTROL, sequence + count, 0, 1, _said(kind, count))
            count += 1
        yield data, count


def _said(kind, count):
    """A message of call control: something that differs from what was said before."""
    if kind == "turns":
        return struct.pack("<BBI", VIDEO_ROTATION, count % 4, count & 0xFFFFFF)
    if kind == "offers":
        return struct.pack("<BHHBI", LOW_VIDEO, 160 + count % 64, 120, 15, 100000)
    if kind == "music":
        return bytes([MUSIC, count % 2])
    return bytes([MEDIA_STATE, count * 37 % 256])


def words(field, quick):
    """N1: a peer in a call writes, or changes its state, without end."""
    rows, path = [], field.programs.path("events")
    bob = _answers(field, "--accept", "--events", path)
    for kind in KINDS:
        phone = _stranger(field, kind)
        call = phone.call(field.found(phone.client, "bob"))
        if not field.wait(lambda c=call: c.state == "connected", 8):
            raise RuntimeError(f"no call for {kind}: {call.state}, reason {call.reason}")
        field.loop.run(1)
        before, began = os.path.getsize(path), time.monotonic()
        source, sent, said, seconds = _packets(call, kind), 0, 0, 2 if quick else 5
        while (now := time.monotonic() - began) < seconds:
            while sent < now * 200:
                data, said = next(source)
                call.link.send_frames(data, time.monotonic())
                sent += 1
            field.loop.run(0.01)
        # The last packets and the end come at once: the end must not get lost among them.
        for _ in range(40):
            call.link.send_frames(next(source)[0], time.monotonic())
        call.hang_up()
        field.loop.run(2)
        written, memory = os.path.getsize(path) - before, bob.memory_mib()
        code, _ = field.call("bob", "--duration", "1", identity=f"after-{kind}")
        rows.append(
            Row(
                "N1",
                f"{said} {kind} of a peer in a call within {seconds} s, then a hang-up",
                f"{written / 1024:.0f} KiB of events, {memory:.0f} MiB of memory, "
                + ("the next call is answered" if code == 0 else "the next call: no answer"),
                "≤ 200 KiB, ≤ 100 MiB, answered",
                written <= 200 * 1024 and memory <= 100 and code == 0,
            )
        )
    return rows


def _victims(count):
    """Sockets of somebody who has nothing to do with it."""
    sockets = [socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(count)]
    for made in sockets:
        made.bind(("127.250.7.7", 0))
        made.setblocking(False)
    return sockets


def _received(sockets):
    """How many packets and bytes have come."""
    packets = count = 0
    for one in sockets:
        try:
            while True:
                count += len(one.recv(2048))
                packets += 1
        except BlockingIOError:
            pass
    return packets, count


def false_candidates(field, quick):
    """N2: calls with a third party's addresses, to a callee that accepts everybody."""
    _answers(field, "--accept", "--echo")
    phone = _stranger(field, "mallory")
    card = field.found(phone.client, "bob")
    victims = _victims(8)
    # As a caller that never checks anything itself.
    phone.candidates = lambda: [(1, victim.getsockname()) for victim in victims]
    spent = [0]
    transmit = phone.client.transmit

    def counted(packet, address=None):
        spent[0] += len(packet)
        transmit(packet, address)

    phone.client.transmit = counted
    phone.client.link.transmit = counted
    packets = count = calls = accepted = 0
    began = time.monotonic()
    while time.monotonic() - began < (8 if quick else 30):
        call = phone.call(card)
        call.checks.tick = lambda now: None
        field.wait(lambda c=call: c.state in ("accepted", "ended"), 1.5)
        accepted += call.link is not None
        field.loop.run(0.5)
        if call.link and call.state != "ended":
            call.hang_up()
        elif call.state == "ringing":
            call.cancel()
        field.loop.run(0.5)
        calls += 1
        more, bytes_more = _received(victims)
        packets, count = packets + more, count + bytes_more
    for victim in victims:
        victim.close()
    seconds = time.monotonic() - began
    return [
        Row(
            "N2",
            f"{calls} calls ({accepted} accepted) in {seconds:.0f} s, candidates of a third party",
            f"{packets} packets, {count} bytes to it for {spent[0]} sent: {count / spent[0]:.2f}",
            f"≤ {FACTOR}",
            accepted > 0 and packets > 0 and count <= FACTOR * spent[0],
        )
    ]


def _echo_request(size, source=0, presence=bytes(8)):
    return (
        bytes([frames.ECHO_REQUEST])
        + os.urandom(8)
        + presence
        + bytes([source])
        + struct.pack("<H", size)
    )


def echoes(field, quick):
    """N3: echoes of a rendezvous, asked for with as little as possible."""
    client = Client(field.loop, field.server, bind=(field.source(), 0))
    client.register()
    sent, came = [0], [0]
    transmit, receive = client.transmit, client.receive

    def counted(packet, address=None):
        sent[0] += len(packet)
        transmit(packet, address)

    def noted(packet, source, now):
        came[0] += len(packet)
        receive(packet, source, now)

    client.transmit = client.link.transmit = counted
    client.receive = noted
    field.loop.run(0.5)
    sent[0] = came[0] = 0
    requests = [
        _echo_request(1200),
        b"".join(_echo_request(1200) for _ in range(50)),
        b"".join(_echo_request(64) for _ in range(50)),
        _echo_request(64, source=1).ljust(1100, b"\0"),
        b"".join(_echo_request(64, source=1) for _ in range(50)),
        _echo_request(1100).ljust(1100, b"\0"),
        _echo_request(64, presence=os.urandom(8)).ljust(1100, b"\0"),
    ]
    for _ in range(4 if quick else 20):
        for request in requests:
            client.link.send_frames(request, time.monotonic())
            field.loop.run(0.02)
    field.loop.run(1)
    return [
        Row(
            "N3",
            "echoes of a rendezvous, asked for in packets of all sizes",
            f"{came[0]} bytes for {sent[0]}: {came[0] / sent[0]:.2f}",
            "≤ 1, and some",
            0 < came[0] <= sent[0],
        )
    ]
