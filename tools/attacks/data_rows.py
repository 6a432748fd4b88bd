"""Forged DATA to a running call: the connection ID and address of an end, seen on the line."""

import collections
import socket
import time

from crowd import Flood, write_packets
from field import Row, junk, processor_share

RATE, SECONDS = 50_000, 8
COST, MOST_LOST, BUSY = 0.05, 0.001, 0.40  # MOS, share of packets, share of a core


def _line(source, target, seconds=0.5):
    """Port and connection ID of the call from one address to another; None where none passed."""
    seen = collections.Counter()
    with socket.socket(socket.AF_PACKET, socket.SOCK_DGRAM, socket.htons(0x0800)) as tap:
        tap.bind(("lo", 0))
        tap.settimeout(0.1)
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            try:
                packet = tap.recv(2048)
            except TimeoutError:
                continue
            begin = 4 * (packet[0] & 15)
            ends = socket.inet_ntoa(packet[12:16]), socket.inet_ntoa(packet[16:20])
            body = packet[begin + 8 :]
            if packet[9] == 17 and ends == (source, target) and 0x60 <= body[0] <= 0x7F:
                seen[int.from_bytes(packet[begin + 2 : begin + 4]), bytes(body[1:9])] += 1
    return seen.most_common(1)[0][0] if seen else None


def _call(field, attacked):
    """What the callee had of a call: MOS, share lost, share of a core, forged packets."""
    addresses = [field.source() for _ in range(2)]
    name = f"bob{len(field.programs.running)}"
    callee = field.programs.answering(name, "--accept", "--calls", "1", bind=addresses[0])
    duration = SECONDS + 3
    caller = field.programs.earshot(
        "call", name, "--duration", str(duration), identity=f"for-{name}", bind=addresses[1]
    )
    if not field.wait(lambda: caller.event("connected"), 10):
        raise RuntimeError("the call does not connect")
    line = _line(addresses[1], addresses[0])
    if not line:
        raise RuntimeError("nothing of the call was seen on the line: is this root?")
    port, connection = line
    began, used, sent = time.monotonic(), callee.processor_seconds(), 0
    if attacked:
        path = field.programs.path("forged")
        write_packets(path, [junk(connection)])
        flood = Flood((addresses[0], port), path, RATE, SECONDS, addresses[1])
    field.loop.run(SECONDS)
    busy = processor_share(callee, used, began)
    if attacked:
        sent = flood.sent()
    field.wait(lambda: callee.exit_code is not None, duration + 5)
    sound = callee.summary()["audio"]["received"]
    lost = sound["lost"] / max(1, sound["lost"] + sound["packets"])
    return sound["mos"], lost, busy, sent


def forged(field, quick):
    """Packets that do not open cost a call nothing to speak of."""
    calm = _call(field, False)
    mos, lost, busy, sent = _call(field, True)
    return [
        Row(
            "H2",
            f"{sent} forged DATA to the callee of a call in {SECONDS} s, its caller's address",
            f"MOS {calm[0]:.2f} calm, {mos:.2f} attacked; {lost:.2%} lost, {busy:.0%} of a core",
            f"≤ {COST} MOS less, < {MOST_LOST:.1%} lost, < {BUSY:.0%} of a core",
            mos >= calm[0] - COST
            and lost < MOST_LOST
            and busy < BUSY
            and sent > RATE * SECONDS / 2,
        )
    ]
