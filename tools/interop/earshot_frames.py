"""Frames of DATA packets (docs/protocol/frames.md), as named tuples and as bytes."""

import struct
from typing import NamedTuple

import earshot_wire as wire
from earshot_wire import Reader, WireError

PADDING, PING, PONG, FEEDBACK, MSG, CREDIT, VIDEO, CHALLENGE, RESPONSE, SIGNAL, CLOSE = range(11)
AUDIO_REPORT, AUDIO_REQUEST, VIDEO_NACK = 0x0B, 0x0C, 0x0D
PROBE_REQUEST, PROBE_ANSWER, PROBE_PACKET, PROBE_REPORT = range(0x10, 0x14)
PROBES = range(PROBE_REQUEST, PROBE_REPORT + 1)
ECHO_REQUEST, ECHO = 0x14, 0x15
CHANNEL, CHANNEL_WHO, CHANNEL_PICTURE = range(0x20, 0x38), 0x32, 0x34
AUDIO = 0x80
LONGEST_FRAGMENT = 1100
UNIT = 0.00025  # s: what FEEDBACK counts time in
ASKS_SOON = (PING, MSG)
ELICITS = (PING, MSG, VIDEO, AUDIO)


class Token(NamedTuple):
    """PING or PATH_CHALLENGE."""

    kind: int
    token: bytes


class Seen(NamedTuple):
    """PONG or PATH_RESPONSE."""

    kind: int
    token: bytes
    address: tuple


class Fragment(NamedTuple):
    """MSG. `sent` is set where the count is 0: the message was abandoned."""

    kind: int
    stream: int
    sequence: int
    index: int
    count: int
    data: bytes


class Report(NamedTuple):
    """FEEDBACK: seconds before the largest number's arrival, None = not received."""

    kind: int
    epoch: int
    largest: int
    arrival: int
    delay: float
    ages: list


class Plain(NamedTuple):
    """Any other frame: its bytes after the type."""

    kind: int
    data: bytes


class Sound(NamedTuple):
    """AUDIO without its copies."""

    kind: int
    stream: int
    milliseconds: int
    marker: bool
    media_time: int
    data: bytes


def parse(data):
    """The frames of an opened packet. Raises WireError at the first that does not parse."""
    frames, error = parse_some(data)
    if error is not None:
        raise error
    return frames


def parse_some(data):
    """(the frames before the first that does not parse, why that does not, or None)."""
    reader, frames = Reader(data), []
    try:
        while reader.at < len(reader.data):
            kind = reader.integer(1)
            if kind != PADDING:
                frames.append(_read(kind, reader))
            elif any(reader.rest()):
                raise WireError("the padding is not zero")
    except WireError as error:
        return frames, error
    return frames, None


def _read(kind, reader):
    if kind >= AUDIO:
        return _read_audio(kind, reader)
    if kind in CHANNEL:
        return _read_channel(kind, reader)
    if kind in (PING, CHALLENGE):
        return Token(kind, reader.take(8))
    if kind in (PONG, RESPONSE):
        return Seen(kind, reader.take(8), wire.unpack_address(reader.take(19)))
    if kind == FEEDBACK:
        return _read_feedback(reader)
    if kind == MSG:
        return _read_fragment(reader)
    if kind == SIGNAL:
        return Plain(kind, reader.take(reader.integer(2)))
    if kind == CLOSE:
        return _read_close(reader)
    if kind == AUDIO_REQUEST:
        flags = reader.integer(1)
        _demand(1 <= flags >> 4 <= 8, "an AUDIO_REQUEST of 1 to 8")
        return Plain(kind, bytes([flags]) + reader.take(3 * (flags >> 4)))
    if kind == AUDIO_REPORT:
        data = reader.take(15)
        _demand(data[0] < 4, "an AUDIO_REPORT without unknown bits")
        return Plain(kind, data)
    if kind == VIDEO_NACK:
        head = reader.take(4)
        _demand(
            head[0] < 16 and head[3] <= 32 and (head[0] & 8 or not any(head[1:3])),
            "a VIDEO_NACK in range",
        )
        return Plain(kind, head + reader.take(4 * head[3]))
    if kind == VIDEO:
        return _read_video(reader)
    if kind in PROBES:
        return _read_probe(kind, reader)
    if kind == CREDIT:
        return Plain(kind, reader.take(4))
    if kind in (ECHO_REQUEST, ECHO):
        return _read_echo(kind, reader)
    raise WireError(f"a frame of type {kind}")


def _read_channel(kind, reader):
    """What goes between a member of a channel and its relay (relay.md §3)."""
    if kind < 0x28:
        head, sealed = reader.take(4), reader.rest()
        _demand(head[0] <= 64 and 10 <= len(sealed) <= 600, "a CHANNEL_AUDIO in range")
        return Plain(kind, head + sealed)
    if kind < 0x30:
        head, count = reader.take(2), reader.integer(2)
        _demand(head[0] > 0 and 10 <= count <= 600, "a CHANNEL_COPY in range")
        return Plain(kind, head + reader.take(count))
    if kind == 0x30:
        data = reader.take(5)
        _demand(1 <= data[0] <= 64, "a CHANNEL_SOURCE in range")
        return Plain(kind, data)
    if kind in (0x32, 0x35):
        return Plain(kind, reader.take(4))
    if kind == 0x36:
        data = reader.take(5)
        _demand(data[0] <= 2, "a CHANNEL_LOW in range")
        return Plain(kind, data)
    if kind == 0x37:
        data = reader.take(3)
        _demand(1 <= data[0] <= 64, "a CHANNEL_UNSENT in range")
        return Plain(kind, data)
    if kind == 0x34:
        data = reader.take(1)
        _demand(1 <= data[0] <= 64, "a CHANNEL_PICTURE in range")
        return Plain(kind, data)
    uid, count = reader.take(4), reader.integer(2)
    _demand(1 <= count <= (200 if kind == 0x31 else 330), "a CHANNEL_KEY or _CARD in range")
    return Plain(kind, uid + reader.take(count))


def _demand(condition, what):
    if not condition:
        raise WireError(f"not {what}")


def _read_close(reader):
    code, text = reader.take(1), reader.take(reader.integer(1))
    _demand(len(text) <= 128, "a CLOSE of 128 bytes of text at most")
    try:
        text.decode()
    except UnicodeDecodeError:
        raise WireError("not a CLOSE with a text in UTF-8") from None
    return Plain(CLOSE, code + text)


def _read_video(reader):
    head, data = reader.take(9), reader.rest()
    flags, references, index, last = head[0], head[3], head[7], head[8]
    if flags & 0x80 or flags & 0x60 == 0x60:  # reserved: skipped
        return Plain(VIDEO, head + data)
    _demand(
        (references == 0 and not flags & 0x0C) if flags & 0x10 else references & 15,
        "a VIDEO whose references fit its kind",
    )
    if flags & 0x40:
        _demand(index < 32 and last < 224 and len(data) > 2, "a parity in range")
        length = int.from_bytes(data[:2], "little")
        data = data[2:]
        _demand(1 <= length <= len(data), "a parity as long as the last fragment")
    _demand((flags & 0x40 or index <= last) and 1 <= len(data) <= 1150, "a fragment in range")
    return Plain(VIDEO, head + data)


def _read_probe(kind, reader):
    """docs/protocol/probe.md §1."""
    data = reader.take({PROBE_REQUEST: 35, PROBE_ANSWER: 19, PROBE_PACKET: 22}.get(kind, 26))
    _demand(any(data[:4]), "a probe of a run")
    if kind == PROBE_REQUEST:
        _demand(
            data[8] < 4 and 72 <= int.from_bytes(data[13:15], "little") <= 1200,
            "a PROBE_REQUEST in range",
        )
    elif kind == PROBE_ANSWER:
        _demand(data[8] <= 5, "a PROBE_ANSWER with a status")
    elif kind == PROBE_PACKET:
        _demand(data[12] < 2, "a PROBE_PACKET without unknown bits")
        data += reader.rest()
    else:
        count = int.from_bytes(data[24:], "little")
        _demand(count <= 480, "a PROBE_REPORT of 480 at most")
        data += reader.take(2 * count)
    return Plain(kind, data)


def _read_echo(kind, reader):
    """docs/protocol/frames.md §12."""
    if kind == ECHO:
        data = reader.take(9)
        _demand(data[8] <= 5, "an ECHO with a status")
        return Plain(kind, data)
    data = reader.take(19)
    _demand(
        data[8:16] != b"\xff" * 8 and data[16] <= 2, "an ECHO_REQUEST for somebody, from somewhere"
    )
    _demand(64 <= int.from_bytes(data[17:], "little") <= 1200, "an echo of 64 to 1200 bytes")
    return Plain(kind, data)


def _read_fragment(reader):
    stream, sequence = reader.integer(1), reader.integer(4)
    index, count, length = reader.integer(1), reader.integer(1), reader.integer(2)
    data = reader.take(length)
    if count > 64 or length > LONGEST_FRAGMENT or (count and index >= count):
        raise WireError("a MSG with an index, count or length out of range")
    if count == 0:
        _demand(index == 0 and length in (0, 4), "an abandoned MSG with what was sent")
    else:
        _demand(length > 0 or count == 1, "a fragment with bytes")
    return Fragment(MSG, stream, sequence, index, count, data)


def _read_feedback(reader):
    flags, largest, arrival = reader.integer(1), reader.integer(4), reader.integer(4)
    delay, count, ages, age = reader.integer(2), reader.integer(1), [0.0], 0.0
    if count == 0 or flags & 0xF8 or count - 1 > largest:
        raise WireError("a FEEDBACK of nothing, or with unknown bits")
    for _ in range(count - 1):
        entry = reader.integer(1)
        if entry == 0:
            ages.append(None)
            continue
        step = entry - 1 if entry < 0x80 else (entry & 0x7F) * 256 + reader.integer(1) - 16384
        age += step * UNIT
        ages.append(age)
    if flags & 4:
        reader.take(-(-count // 8))
    return Report(FEEDBACK, flags & 3, largest, arrival, delay * UNIT, ages)


def _read_audio(kind, reader):
    media_time, data = reader.integer(2), reader.rest()
    if kind & 1:  # reserved: skipped
        return Plain(AUDIO, data)
    if kind & 2:
        data = _without_copies(data)
    else:
        _demand(1 <= len(data) <= 1275, "an AUDIO with an Opus packet")
    return Sound(
        AUDIO, kind >> 5 & 3, (10, 20, 40, 60)[kind >> 3 & 3], bool(kind & 4), media_time, data
    )


def _without_copies(data):
    reader, total, count, more = Reader(data), 0, 0, True
    while more:
        head = reader.integer(1)
        more, count = head & 0x80, count + 1
        distance = head & 0x1F or reader.integer(1)
        if head >> 5 & 3 == 3:
            reader.integer(1)
        length = reader.integer(1)
        length += 4 * reader.integer(1) if length >= 252 else 0
        _demand(distance > 0 and 1 <= length <= 1275 and count <= 12, "copies in range")
        total += length
    reader.take(total)
    return reader.rest()


def ping(token):
    """PING, long enough for a RESET to be worth its answer (session.md §8)."""
    return (bytes([PING]) + token).ljust(16, b"\0")


def token(kind, value):
    """PING without padding, or PATH_CHALLENGE."""
    return bytes([kind]) + value


def seen(kind, value, address):
    """PONG or PATH_RESPONSE."""
    return bytes([kind]) + value + wire.pack_address(address)


def fragment(stream, sequence, index, count, data):
    """MSG."""
    return struct.pack("<BBIBBH", MSG, stream, sequence, index, count, len(data)) + data


def credit(total):
    """CREDIT."""
    return struct.pack("<BI", CREDIT, total & 0xFFFFFFFF)


def signal(body):
    """SIGNAL."""
    return struct.pack("<BH", SIGNAL, len(body)) + body


def close(code, text=b""):
    """CLOSE."""
    return bytes([CLOSE, code, len(text)]) + text


def audio(media_time, opus, marker=False):
    """AUDIO of 20 ms on stream 0, without copies."""
    return struct.pack("<BH", AUDIO | 1 << 3 | marker << 2, media_time & 0xFFFF) + opus


def feedback(arrivals, largest, count, now, epoch=0):
    """FEEDBACK about `count` numbers down from the largest; arrivals: {number: seconds}."""
    last = arrivals[largest]
    entries = bytearray()
    for number in range(largest - 1, largest - count, -1):
        came = arrivals.get(number)
        if came is None:
            entries.append(0)
            continue
        step = round((last - came) / UNIT)
        last -= step * UNIT
        if 0 <= step < 0x7F:
            entries.append(step + 1)
        else:
            value = min(max(step + 16384, 0), 0x7FFF)
            entries += bytes([0x80 | value >> 8, value & 0xFF])
    delay = min(round((now - arrivals[largest]) / UNIT), 0xFFFF)
    return struct.pack(
        "<BBIIHB",
        FEEDBACK,
        epoch % 4,
        largest,
        round(arrivals[largest] / UNIT) & 0xFFFFFFFF,
        delay,
        count,
    ) + bytes(entries)
