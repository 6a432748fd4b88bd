"""Attacks on a relay of channels: what one address can take from other channels (R1, R2)."""

import hashlib
import os
import struct
import subprocess
import time

import earshot_session as session
from crowd import in_background
from earshot_client import INIT_ANEW, INIT_FAILS, INIT_TIMES, REQUESTS, Client
from earshot_loop import Loop
from earshot_wire import Reader, unpack_address
from field import Row
from programs import BIN, free_port

JOIN, RELAY = b"\x01", b"\x08"  # kinds of a member's request
CHANNEL, NOTICE = b"\x09", b"\x0a"  # messages of a member, and of the rendezvous to it
WELCOME, GRANT = 1, 8  # kinds of a notice
HOST, AUDIENCE = 1, 2
WANTS, PICTURE, SOUND = 0x35, 0x06, range(0x20, 0x28)
STORES = 256  # hosts whose pictures a relay keeps
SHOWN = 20  # pictures of an honest host
PACE = 14  # registrations a second of one address
LATE = 0.02  # s: half of an honest channel's frames must be heard within it


def _channel(name):
    return hashlib.blake2b(b"EST1 channel" + bytes(32) + name.encode(), digest_size=32).digest()


class Member(Client):
    """A client that joins a channel and asks for a seat at its relay."""

    def __init__(self, loop, server, card, channel, role, address):
        super().__init__(loop, server, bind=(address, 0), server_card=card)
        self.channel, self.role, self.stay, self.number = channel, role, os.urandom(8), 0
        self.notices = {}

    def _read_message(self, stream, body):
        if stream == REQUESTS and body[:1] == NOTICE:
            self.notices[body[33]] = body[34:]
        else:
            super()._read_message(stream, body)

    def ask(self, content):
        self.number += 1
        number = struct.pack("<I", self.number)
        self._request(CHANNEL + _channel(self.channel) + self.stay + number + content)

    def join(self):
        name = self.channel.encode()
        self.ask(JOIN + bytes([self.role]) + bytes(21) + bytes([len(name)]) + name + bytes(2))

    def grant(self):
        """(address of the relay, the grant's text)."""
        reader = Reader(self.notices[GRANT])
        reader.take(32)
        return unpack_address(reader.take(19)), reader.take(reader.integer(2))


class Seat(Client):
    """A session with a relay, opened by a grant."""

    def __init__(self, loop, member, card):
        relay, self.token = member.grant()
        super().__init__(
            loop, relay, member.identity, bind=(member.address[0], 0), server_card=card
        )
        self.role, self.first_at = member.role, None

    def _initiate(self, now):
        if self.init is None or now - self.attempt_at >= INIT_ANEW:
            self.first_at = self.first_at or now
            self.init = session.Initiation(
                self.identity, self.card, None, token=self.token, program=self.program
            )
            self.attempt_at, self.sent = now, 0
        if self.sent < len(INIT_TIMES) and now - self.attempt_at >= INIT_TIMES[self.sent]:
            self.transmit(self.init.packet)
            self.sent += 1
        if now - self.first_at >= INIT_FAILS:
            self.failure = "no RESP"


def _card(loop, server, address):
    client = Client(loop, server, bind=(address, 0))
    loop.run(5, lambda: client.card is not None)
    loop.close(client, client.socket)
    return client.card


def _until(loop, members, is_done, ask):
    """Asks each member that lacks something, up to five times."""
    for _ in range(5):
        for member in members:
            if not is_done(member):
                ask(member)
                loop.run(0.02)
        if loop.run(1.5, lambda: all(is_done(member) for member in members)):
            break
    return [member for member in members if is_done(member)]


def _seats(loop, server, wanted, address):
    """Seats for [(channel, role)] from one address."""
    card, members = _card(loop, server, address), []
    for channel, role in wanted:
        members.append(Member(loop, server, card, channel, role, address))
        loop.run(1 / PACE)
    loop.run(12, lambda: all(member.online or member.failure for member in members))
    members = [member for member in members if member.online]
    members = _until(loop, members, lambda m: WELCOME in m.notices, Member.join)
    members = _until(loop, members, lambda m: GRANT in m.notices, lambda m: m.ask(RELAY))
    if not members:
        return []
    relay, seats = _card(loop, members[0].grant()[0], address), []
    for member in members:
        seats.append(Seat(loop, member, relay))
        loop.run(1 / PACE)
    loop.run(12, lambda: all(seat.online or seat.failure for seat in seats))
    return [seat for seat in seats if seat.online]


class _Stage:
    """A relay beside the field's rendezvous, whose operator has named it."""

    def __init__(self, field):
        programs = field.programs
        data, port, field_port = programs.path("relay"), free_port(), field.server[1]
        identity = subprocess.run(
            [f"{BIN}/earshot-relay", "--print-id", "--data", data],
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        with open(programs.path("relays"), "w", encoding="ascii") as file:
            file.write(identity)
        programs.rendezvous.end()
        programs.start_rendezvous("--relay-key", programs.path("relays"), port=field_port)
        host, server_port = programs.server
        self.relay = programs.start(
            "relay",
            [
                f"{BIN}/earshot-relay",
                "--rendezvous",
                f"{host}:{server_port}#{programs.server_id}",
                "--data",
                data,
                "--listen",
                f"{host}:{port}",
                "--json",
            ],
        )
        field.loop.run(1.5)


def pictures(field, quick):
    """R1: sixty seats of one address in two channels, and fragments as fast as they come."""
    stage, seconds = _Stage(field), 4
    ready, go = field.programs.path("ready"), field.programs.path("go")
    flood = field.background(
        in_background(_flood, field.server, ready, go, seconds, field.programs.path("sent"))
    )
    if not field.wait(lambda: os.path.exists(ready), 60):
        raise RuntimeError("the attackers have no seats")
    honest = _seats(field.loop, field.server, [("honest", HOST)] * 2, field.source())
    if len(honest) < 2:
        raise RuntimeError("no honest channel")
    calm = _heard(field.loop, honest, 2)
    open(go, "w").close()
    field.loop.run(0.5)
    attacked = _heard(field.loop, honest, seconds - 1)
    flood.join(20)
    with open(field.programs.path("sent"), encoding="ascii") as file:
        rate = float(file.read())
    share, late = min(share for share, _ in attacked), max(late for _, late in attacked)
    before = min(share for share, _ in calm)
    return [
        Row(
            "R1",
            f"60 seats of one address in 2 channels, {rate:.0f} fragments/s of pictures",
            f"another channel hears {100 * share:.0f} % in its worst second ({100 * before:.0f} % "
            f"before), half of it within {1000 * late:.0f} ms; the relay "
            f"{'runs' if stage.relay.exit_code is None else 'ended'}",
            f"≥ 98 %, ≤ {1000 * LATE:.0f} ms, runs",
            before >= 0.98 and share >= 0.98 and late <= LATE and stage.relay.exit_code is None,
        )
    ]


def stores(field, quick):
    """R2: as many hosts of one address as a relay keeps pictures of show one each."""
    stage = _Stage(field)
    before = _forwarded(field, "before")
    rooms = [(f"room{n // 16}", HOST) for n in range(STORES)]
    seats = _seats(field.loop, field.server, rooms, "127.78.1.1")
    for seat in seats:
        _show(seat, 1)
        field.loop.run(0.005)
    field.loop.run(0.5)
    after = _forwarded(field, "after")
    return [
        Row(
            "R2",
            f"{len(seats)} hosts of one address in 16 channels show a picture each",
            f"{after} of {SHOWN} pictures of another channel are forwarded ({before} before), "
            f"{stage.relay.memory_mib():.0f} MiB",
            f"{SHOWN}, ≤ 100 MiB",
            before == after == SHOWN and len(seats) >= 200 and stage.relay.memory_mib() <= 100,
        )
    ]


def _show(seat, picture):
    """Sends a picture of one fragment."""
    head = struct.pack("<BBHB", PICTURE, 0x10, picture, 0)
    body = head + bytes(5) + b"x" * 100
    seat.link.send_frames(body, time.monotonic())


def _forwarded(field, channel):
    """How many pictures of a host another one is sent, in a channel of their own."""
    seats = _seats(field.loop, field.server, [(channel, HOST)] * 2, field.source())
    if len(seats) < 2:
        raise RuntimeError("no honest channel")
    (speaker, watcher), seen = seats, []
    watcher.link.on_frame = lambda frame, _: seen.append(frame.kind == PICTURE)
    for seat in seats:
        seat.link.send_frames(bytes([WANTS]) + struct.pack("<I", 1_000_000), time.monotonic())
    field.loop.run(0.3)
    for picture in range(SHOWN):
        _show(speaker, picture)
        field.loop.run(0.02)
    field.loop.run(0.5)
    return sum(seen)


def _flood(server, ready, go, seconds, report):
    """Two hosts show fragments of one byte to 58 members that want them."""
    loop = Loop()
    wanted = [(name, HOST if n == 0 else AUDIENCE) for name in ("one", "two") for n in range(30)]
    seats = _seats(loop, server, wanted, "127.77.1.1")
    open(ready, "w").close()
    loop.run(60, lambda: os.path.exists(go))
    for seat in seats:
        seat.link.send_frames(bytes([WANTS]) + struct.pack("<I", 1_000_000), time.monotonic())
    loop.run(0.2)
    hosts, count, began = [seat for seat in seats if seat.role == HOST], 0, time.monotonic()
    while time.monotonic() - began < seconds:
        for _ in range(32):
            picture, fragment = count >> 8 & 0xFFFF, count & 255
            head = struct.pack("<BBHB", PICTURE, 0x10, picture, 0)
            body = head + picture.to_bytes(3, "little") + bytes([fragment, 255]) + b"x"
            for host in hosts:
                host.transmit(host.link.session.seal(body))
            count += 1
    with open(report, "w", encoding="ascii") as file:
        file.write(str(count * len(hosts) / seconds))


def _heard(loop, seats, seconds):
    """For each second what share of a host's frames the other one hears, and the median delay."""
    heard, sent, (speaker, listener) = {}, [], seats

    def on_frame(frame, _):
        if frame.kind in SOUND:
            number, at = struct.unpack("<Id", frame.data[-12:])
            heard[number] = time.monotonic() - at

    listener.link.on_frame = on_frame
    began = time.monotonic()
    while time.monotonic() - began < seconds:
        now = time.monotonic()
        time_byte = struct.pack("<H", len(sent) * 2 & 0xFFFF)
        body = bytes(60) + struct.pack("<Id", len(sent), now)
        speaker.link.send_frames(b"\x20\x00" + time_byte + bytes([0x80 | 20]) + body, now)
        sent.append(now - began)
        loop.run(max(0, began + len(sent) * 0.02 - time.monotonic()))
    loop.run(0.5)
    seconds_heard = []
    for second in range(int(seconds)):
        numbers = [n for n, at in enumerate(sent) if second <= at < second + 1]
        delays = sorted(heard[n] for n in numbers if n in heard)
        median = delays[len(delays) // 2] if delays else float("inf")
        seconds_heard.append((len(delays) / max(1, len(numbers)), median))
    return seconds_heard
