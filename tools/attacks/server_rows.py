"""Attacks on a rendezvous: exchanges, spoofed failures, names, messages, look-ups, metrics."""

import os
import socket
import time

import earshot_frames as frames
from crowd import (
    DOORS,
    Crowd,
    Flood,
    Member,
    addresses,
    enrol,
    in_background,
    lookup_frame,
    write_packets,
)
from earshot_client import ONLINE, TOO_MANY
from earshot_session import COOKIE, INIT, Initiation, mac1_key, open_x
from earshot_wire import Identity, StaticKey, blake
from field import Row, junk, processor_share, share, worst

LOOKUPS_PER_ADDRESS = 60  # answered a second to all clients of one address (M7)
NAMES_PER_ADDRESS = 256  # that one address may newly bind in a day (H5)
GRANTED, REFUSALS = 1, (4, 6, 7, 8)  # values of RESP's status: a name granted; no session
AS_FAST = 500000  # a second: more than one core sends
BUSY = 0.10  # share of a core that 16 slow scrapers may cost (M8)


def exchanges(field, quick):
    """H1: clients that never acknowledge one look-up each."""
    sessions = 9000
    field.programs.answering("bob", bind=field.source())
    honest = [field.honest(f"honest{i}") for i in range(3)]
    card, crowd = field.card(), field.crowd()
    sources = addresses(1, 60)
    members = [Member(card, sources[i % 60]) for i in range(sessions)]
    done = enrol(
        crowd,
        members,
        450,
        first=lambda member: member.frames(lookup_frame(0) + frames.ping(os.urandom(8))),
    )
    field.loop.run(1)
    seen = field.watch(honest, 8, lookup_every=0.25, name="bob")
    late = field.registrations(5, 5, 0.3)
    calls = field.calls_connect(3)
    good = (
        seen.ping_share == seen.lookup_share == 1
        and share(late)[1] == 1
        and calls == 3
        and seen.percentile(0.99) <= 200
    )
    return [
        Row(
            "H1",
            f"{len(done)} sessions, one LOOKUP each, never acknowledged",
            f"{seen.words()}, registrations {share(late)[0]}, calls {calls}/3",
            "all of them, PING p99 ≤ 200 ms",
            good and len(done) >= 8192,
        )
    ]


def spoofed_failures(field, quick):
    """H2: packets that do not open, with the victim's address, to the attacker's session."""
    victim_address = field.source()
    victim = field.honest("victim", source=victim_address)
    attacker = enrol(field.crowd(), [Member(field.card(), "127.2.0.1")], 1)[0]
    path = field.programs.path("junk")
    write_packets(path, [junk(attacker.said.responder)])
    rows, seconds = [], 3 if quick else 8
    for label, rate in (("1 Mbit/s", 3000), ("10 Mbit/s", 30000)):
        if quick and rate > 3000:
            break
        flood = Flood(field.server, path, rate, seconds + 3, victim_address)
        field.loop.run(1)
        seen = field.watch([victim], seconds, ping_every=0.05)
        flood.sent()
        rows.append(
            Row(
                "H2",
                f"packets that do not open, victim's address, {label}",
                seen.words(),
                "100 % of PINGs",
                seen.ping_share == 1,
            )
        )
    return rows


def spoofed_inits(field, quick):
    """H2: INITs with a wrong MAC1 and the victim's address."""
    path, rows = field.programs.path("inits"), []
    write_packets(path, [(bytes([INIT, 1, 1, 1]) + os.urandom(1196), 4)])
    request = bytes([0xC6, 1, 0, 0]) + os.urandom(8) + bytes(500)
    asking = field.programs.path("requests")
    write_packets(asking, [(request, None)])
    floods = (
        (100, "junk INITs", path, True),
        (100, "CARD_REQUESTs", asking, False),
        (1050, "junk INITs", path, True),
        (2500, "CARD_REQUESTs", asking, False),
    )
    for rate, label, file, known in floods:
        card = field.card() if known else None
        address = field.source()
        flood = Flood(field.server, file, rate, 12, address)
        field.loop.run(1)
        began = time.monotonic()
        client = field.honest(seconds=10.0, source=address, server_card=card)
        took = time.monotonic() - began
        flood.end()
        rows.append(
            Row(
                "H2",
                f"{rate} {label}/s with the victim's address",
                f"registered in {took:.1f} s" if client else f"not within {took:.0f} s",
                "registered within 2 s",
                client is not None and took <= 2,
            )
        )
    return rows


def names(field, quick):
    """H5: names and sessions of one address. Sessions are closed, so that names are the limit."""
    asked, card, crowd = 300, field.card(), field.crowd()
    members = [Member(card, "127.5.0.1", f"taken{i}") for i in range(asked)]
    done = []
    for position in range(0, asked, 100):
        batch = enrol(crowd, members[position : position + 100], 17)
        for member in batch:
            crowd.send(member.frames(frames.close(0)), member.source)
        done += batch
    granted = [member for member in done if member.said.status == GRANTED]
    return [
        Row(
            "H5",
            f"{asked} identities of one address ask for a name each",
            f"{len(granted)} granted, {len(done) - len(granted)} told that not, "
            f"{asked - len(done)} without an answer",
            f"≤ {NAMES_PER_ADDRESS} granted, the others told",
            len(granted) <= NAMES_PER_ADDRESS and len(done) >= 0.95 * asked,
        )
    ]


def many_sessions(field, quick):
    """H5: more sessions of one address than there may be."""
    asked, card, crowd = 270, field.card(), field.crowd()
    done = enrol(crowd, [Member(card, "127.5.9.1") for _ in range(asked)], 17)
    refused = sum(member.said.status in REFUSALS for member in done)
    return [
        Row(
            "H5",
            f"{asked} sessions of one address: those too many are told",
            f"{len(done) - refused} granted, {refused} told that not, "
            f"{asked - len(done)} without an answer",
            "all told",
            len(done) == asked and refused > 0,
        )
    ]


def _lookup(field, client, name):
    for _ in range(10):
        status, _ = client.lookup(name, 2.0) or (None, None)
        if status != TOO_MANY:
            return status
        field.loop.run(0.3)
    return None


def ninth_name(field, quick):
    """H5: an identity asks for ten names, one after the other."""
    card, identity = field.card(), Identity()
    honest, lies = field.honest("honest"), 0
    for i in range(10):
        crowd = field.crowd()
        member = Member(card, f"127.5.1.{i + 1}", f"mine{i}", identity)
        if not enrol(crowd, [member], 1):
            field.loop.run(1)
            continue
        field.loop.run(1.1)  # an identity may send one INIT a second
        lies += member.said.status == GRANTED and _lookup(field, honest, f"mine{i}") != ONLINE
    return [
        Row(
            "H5",
            "ten names of one identity: granted, but not bound",
            f"{lies} of 10",
            "0",
            lies == 0,
        )
    ]


def nobody(field, quick):
    """The control: what honest clients get while nobody attacks."""
    field.programs.answering("bob", bind=field.source())
    return [_service(field, "–", "nobody attacks", 2)]


def _service(field, finding, attack, seconds):
    """A row of everything that honest clients want of a rendezvous."""
    honest = [field.honest(f"honest{i}") for i in range(2)]
    if None in honest:
        return Row(finding, attack, "an honest client cannot register", "all", False)
    seen = field.watch(honest, seconds, lookup_every=0.25, name="bob")
    late = field.registrations(5, 5, 0.3)
    calls = field.calls_connect(2)
    good = (
        seen.ping_share >= 0.99
        and seen.lookup_share == 1
        and share(late)[1] == 1
        and calls == 2
        and seen.percentile(0.99) <= 200
    )
    return Row(
        finding,
        attack,
        f"{seen.words()}, registrations {share(late)[0]}, calls {calls}/2",
        "all (PING 99 %), p99 ≤ 200 ms",
        good,
    )


def floods(field, quick, where=""):
    """§2: random bytes, and INITs with a right MAC1 and a payload that does not open."""
    field.programs.answering("bob", bind=field.source())
    card, rows = field.card(), []
    junk_file, init_file = field.programs.path("random"), field.programs.path("right")
    write_packets(junk_file, [(os.urandom(n), 0) for n in (40, 64, 200, 512, 1200)])
    inits = [Initiation(Identity(), card).packet for _ in range(64)]
    write_packets(init_file, [(_junk_init(packet, card), None) for packet in inits])
    for label, file, rate in (
        ("random packets", junk_file, 50000),
        ("INITs with a right MAC1", init_file, 20000),
        ("random packets", junk_file, AS_FAST),
        ("INITs with a right MAC1", init_file, AS_FAST),
    ):
        flood = Flood(field.server, file, rate, 60, "127.30.0.1", 2000)
        field.loop.run(1)
        row = _service(field, "§2", "", 4)
        sent = flood.end()
        text = f"{sent} {label}/s from 2000 addresses{where}"
        rows.append(row._replace(attack=text + (", all that is sent" if rate == AS_FAST else "")))
        field.loop.run(1)
    return rows


def floods_at_a_node(field, quick):
    """§2: the same at a node on Redis."""
    return floods(field, quick, " at a node on Redis")


def half_messages(field, quick):
    """M2: messages of 32 KiB without their last fragment, one each session."""
    sessions = 2100
    field.programs.answering("bob", bind=field.source())
    honest = [field.honest(f"honest{i}") for i in range(3)]
    card, crowd = field.card(), field.crowd()
    sources = addresses(6, 60)
    done = enrol(crowd, [Member(card, sources[i % 60]) for i in range(sessions)], 500)
    piece = bytes(1092)  # 30 of them are just within a session's 32 768 bytes
    for position, member in enumerate(done):
        for index in range(30):
            crowd.send(member.frames(frames.fragment(0x81, 0, index, 31, piece)), member.source)
        if position % 20 == 19:
            field.loop.run(0.005)
            crowd.received()
    seen = field.watch(honest, 4, lookup_every=0.2, name="bob")
    return [
        Row(
            "M2",
            f"{len(done)} sessions with 32 KB of a message that never ends",
            seen.words(),
            "all look-ups answered",
            seen.lookup_share == 1,
        )
    ]


def old_serial(field, quick):
    """M1: a superseded key registers over the present one."""
    identity = Identity("alice")
    present = field.honest("alice", identity=identity)
    old_key = StaticKey()
    old = identity.make_card(static=old_key, serial=1000)
    stolen = Identity("alice")
    stolen.key, stolen.id, stolen.static = identity.key, identity.id, old_key
    member = Member(field.card(), "127.8.0.1", "alice", stolen, card=old)
    done = enrol(field.crowd(), [member], 1)
    field.loop.run(1)
    closed = present.link.closed
    accepted = bool(done) and member.said.status not in REFUSALS
    return [
        Row(
            "M1",
            "a card of an older serial registers over the present one",
            f"{'registered' if accepted else 'refused'}, the present one "
            f"{'is closed' if closed else 'stays'}",
            "refused, the present one stays",
            not accepted and not closed,
        )
    ]


def enumeration(field, quick):
    """M7: identities of one address look up as fast as each may."""
    card, crowd = field.card(), field.crowd()
    field.honest("bob")
    members = enrol(crowd, [Member(card, "127.7.0.1") for _ in range(25)], 15)
    field.loop.run(1)
    seconds, at_once, answers, sent = 5.0, 3.0, 0, 0  # what may be asked at once is not counted
    began = time.monotonic() + at_once
    while (now := time.monotonic() - began) < seconds:
        while sent < (now + at_once) * 250:
            member = members[sent % len(members)]
            request = lookup_frame(sent // len(members), b"\1\3bob")
            crowd.send(member.frames(request), member.source)
            sent += 1
        answers += _results(crowd, members) * (now >= 0)
        field.loop.run(0.01)
    rate = answers / seconds
    return [
        Row(
            "M7",
            f"{len(members)} identities of one address, 10 LOOKUP/s each",
            f"{rate:.0f} answered a second",
            f"≤ {LOOKUPS_PER_ADDRESS} a second",
            rate <= LOOKUPS_PER_ADDRESS and bool(members),
        )
    ]


def _results(crowd, members):
    """How many LOOKUP_RESULTs that say something came; all are acknowledged."""
    by_own = {member.keys.own: member for member in members}
    good = 0
    for packet, _ in crowd.received():
        member = by_own.get(packet[1:5])
        if member is None:
            continue
        try:
            number, data = member.keys.open(packet)
        except ValueError:
            continue
        pieces = [f for f in frames.parse(data) if f.kind == frames.MSG and f.count]
        good += sum(p.data[0] == 2 and p.data[5] != TOO_MANY for p in pieces)
        if pieces:
            crowd.send(
                member.frames(
                    frames.feedback({number: time.monotonic()}, number, 1, time.monotonic())
                ),
                member.source,
            )
    return good


def slow_scrapers(field, quick):
    """M8: sixteen scrapers of the metrics send one byte at a time."""
    where = ("127.0.0.1", field.metrics_port)
    honest = [field.honest("honest")]
    seconds = 8
    process = field.background(in_background(_dribble, where, seconds + 3))
    field.loop.run(1)
    program = field.programs.rendezvous
    before, at = program.processor_seconds(), time.monotonic()
    seen = field.watch(honest, seconds, ping_every=0.02)
    busy = processor_share(program, before, at)
    process.join(10)
    return [
        Row(
            "M8",
            "16 scrapers, one byte at a time, 31 kB/s",
            f"{100 * busy:.0f} % of a core, {seen.words()}",
            f"≤ {100 * BUSY:.0f} % of a core, all PINGs, p99 ≤ 20 ms",
            busy <= BUSY and seen.ping_share == 1 and seen.percentile(0.99) <= 20,
        )
    ]


def _dribble(where, seconds):
    """Bytes of a head that never ends, 31 kB/s over 16 connections."""
    end, connections, sent = time.monotonic() + seconds, [None] * 16, 0
    began = time.monotonic()
    while time.monotonic() < end:
        while sent < (time.monotonic() - began) * 31000:
            at = sent % 16
            try:
                if connections[at] is None:
                    connections[at] = socket.create_connection(where, 1)
                    connections[at].setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                    connections[at].send(b"GET /metrics HTTP/1.1\r\nX: ")
                connections[at].send(b"x")
            except OSError:
                if connections[at] is not None:
                    connections[at].close()
                connections[at] = None
            sent += 1
        time.sleep(0.001)


def cookies_and_cards(field, quick):
    """M5: spoofed CARD_REQUESTs while INITs must show cookies."""
    card = field.card()
    rate = 50000
    load, asking = field.programs.path("load"), field.programs.path("asking")
    inits = [Initiation(Identity(), card).packet for _ in range(64)]
    write_packets(load, [(_junk_init(packet, card), None) for packet in inits])
    write_packets(asking, [(bytes([0xC6, 1, 0, 0]) + os.urandom(8) + bytes(500), None)])
    floods = [
        Flood(field.server, load, 20000, 14, "127.30.0.1", 4000),
        Flood(field.server, asking, rate, 14, "127.40.0.1", 20000),
    ]
    field.loop.run(2)
    times = field_registrations_with_card(field, card, 20, 1)
    rate = round(floods[1].sent() / 14)
    return [
        Row(
            "M5",
            f"CARD_REQUESTs of 20 000 addresses, {rate}/s, under INIT load",
            f"{share(times)[0]} registrations within 1 s, worst {worst(times)}",
            "≥ 95 %",
            share(times)[1] >= 0.95,
        )
    ]


def _junk_init(packet, card):
    """An INIT with a right MAC1 and a payload that does not open."""
    body = packet[:40] + os.urandom(1168 - 40)
    return body + blake(16, body, mac1_key(card.static)) + bytes(16)


def field_registrations_with_card(field, card, count, patience):
    """Honest registrations that know the card, one after the other: seconds each, or None."""
    times = []
    for _ in range(count):
        began = time.monotonic()
        client = field.honest(seconds=patience, server_card=card)
        times.append(time.monotonic() - began if client else None)
    return times


def cookie_crowd(field, quick, count):
    """H7: INITs with valid cookies from many addresses, never confirmed."""
    process = field.background(in_background(_unconfirmed, field.server, field.card(), count, 34))
    field.loop.run(12)
    program = field.programs.rendezvous
    before, at = program.processor_seconds(), time.monotonic()
    times = field.registrations(40, 10, 0.25)
    busy = processor_share(program, before, at)
    process.terminate()
    return [
        Row(
            "H7",
            f"{count} addresses, 4000 INIT/s with cookies, never confirmed",
            f"{share(times)[0]} registrations, worst {worst(times)}; {100 * busy:.0f} % of a core",
            "≥ 95 %",
            share(times)[1] >= 0.95,
        )
    ]


def _unconfirmed(server, card, count, seconds):
    """Sends INITs of 6000 identities in turn; takes cookies; answers no RESP."""
    crowd, sources = Crowd(server), addresses(50, count)
    pool, by_connection, cookies = [], {}, {}
    end, sent, began = time.monotonic() + seconds, 0, time.monotonic()
    while time.monotonic() < end:
        if len(pool) < 6000:
            init = Initiation(Identity(), card)
            source = sources[len(pool) % count], len(pool) // count % DOORS
            pool.append((init, source))
            by_connection[init.connection] = init, source
        allowed = (time.monotonic() - began) * 4000
        while pool and sent < allowed:
            init, source = pool[sent % len(pool)]
            if source in cookies:
                init.packet = _with_cookie(init, cookies[source])
            crowd.send(init.packet, source)
            sent += 1
            if sent % 64 == 0:
                break
        for packet, source in crowd.received(200):
            if packet[0] == COOKIE and packet[4:8] in by_connection:
                cookies[source] = _cookie(by_connection[packet[4:8]][0], packet)


def _cookie(init, packet):
    key = blake(32, b"EST1cook" + init.responder.static)
    return open_x(key, packet[8:32], packet[32:64], init.mac1)


def _with_cookie(init, cookie):
    return init.without_cookie + blake(16, init.without_cookie, cookie)
