"""Attacks on a callee: pins, starvation, words of a peer, candidates, policies."""

import os
import subprocess
import time

import earshot_bodies as bodies
import earshot_frames as frames
from crowd import Member, addresses, enrol, in_background
from earshot_calling import Phone
from earshot_client import Client, forward_body
from earshot_wire import Identity, StaticKey, z_base_32
from field import Row
from programs import BIN

KNOWN = 9990  # names in a book that is all but full
COST = 0.05  # MOS that a flood of INVITEs may cost a call


def _answers(field, *words, name="bob", **options):
    return field.programs.answering(name, *words, bind=field.source(), **options)


def _stranger(field, card_name, asked=None):
    """A phone whose card says a name that it did not register."""
    client = Client(
        field.loop, field.server, identity=Identity(card_name), name=asked, bind=(field.source(), 0)
    )
    if not client.register():
        return None
    # The rendezvous refused the name, but sees no card of an INVITE.
    client.identity.card = client.identity.make_card()
    return Phone(client)


def pins(field, quick):
    """C1: a stranger's rejected call leaves known-peers as it was."""
    _answers(field, "--reject", "no")
    path = field.programs.path("bob.known-peers")
    field.wait(lambda: os.path.exists(path), 3)
    before = _read(path)
    phone = _stranger(field, "carol")
    card, ended = field.found(phone.client, "bob"), 0
    for _ in range(2):
        call = phone.call(card)
        ended += field.wait(lambda c=call: c.state == "ended", 5)
        field.loop.run(1.2)
    after = _read(path)
    return [
        Row(
            "C1",
            f"{ended} rejected calls of a stranger whose card says carol",
            "known-peers unchanged"
            if before == after
            else f"{len(after.splitlines()) - len(before.splitlines())} more lines in known-peers",
            "known-peers byte for byte as before",
            before == after and ended > 0,
        )
    ]


def _read(path):
    try:
        with open(path, "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _mos(field, seconds, flood):
    """The worse MOS of both ends of a call, with what `flood` does while it runs."""
    program = field.programs.earshot(
        "call",
        "bob",
        "--duration",
        str(seconds),
        identity="caller",
        name="caller",
        bind=field.source(),
    )
    field.wait(lambda: program.event("connected"), 10)
    began, sent = time.monotonic(), 0
    while program.exit_code is None and time.monotonic() - began < seconds + 15:
        sent += flood(time.monotonic() - began)
        field.loop.run(0.05)
    bob = [x for x in field.programs.running if x.label.startswith("answer")][0]
    scores = [
        s.get("audio", {}).get("received", {}).get("mos", 0.0)
        for s in (program.summary(), bob.summary())
    ]
    return min(scores), sent


def _fill_book(field, name):
    """A file of pins that is all but full."""
    lines = "".join(
        f"name n{number} {z_base_32(os.urandom(32))} pinned 1790000000 1790000000 -\n"
        for number in range(KNOWN)
    )
    text = "earshot known-peers 1\n" + lines
    total = 0xCBF29CE484222325
    for byte in text.encode():
        total = (total ^ byte) * 0x100000001B3 & (1 << 64) - 1
    with open(field.programs.path(f"{name}.known-peers"), "w", encoding="ascii") as file:
        file.write(f"{text}end {total:x}\n")
    os.chmod(file.name, 0o600)


def invites_in_a_call(field, quick):
    """C1: ten INVITEs a second of strangers cost a running call nothing to speak of."""
    _fill_book(field, "bob")
    _answers(field, "--accept")
    seconds = 10
    phones = [_stranger(field, f"stranger{i}") for i in range(20)]
    card = field.found(phones[0].client, "bob")
    calm, _ = _mos(field, seconds, lambda now: 0)
    field.loop.run(1)
    progress = [0]

    def flood(now):
        due = int(now * 10) - progress[0]
        for _ in range(due):
            phones[progress[0] % len(phones)].call(card)
            progress[0] += 1
        return due

    attacked, sent = _mos(field, seconds, flood)
    return [
        Row(
            "C1",
            f"{sent} INVITEs of strangers in a call of {seconds} s, {KNOWN} names known",
            f"MOS {calm:.2f} calm, {attacked:.2f} attacked",
            f"≤ {COST} MOS less",
            calm > 0 and attacked >= calm - COST,
        )
    ]


def _pin_dave(field):
    """Bob dials dave once: that pins him. Accepting by itself (`answer --accept`) pins nobody."""
    first = _answers(field, "--accept", "--calls", "1", name="dave")
    field.call("dave", "--duration", "1", identity="bob")
    field.wait(lambda: first.exit_code is not None, 5)


def starvation(field, quick):
    """H3: 120 identities at 0.5 INVITE/s each; a caller whom the callee has pinned."""
    accepts = (
        "--from"
        in subprocess.run(
            [f"{BIN}/earshot", "answer", "--help"], capture_output=True, text=True
        ).stdout
    )
    words = ("--accept", "--from", "known") if accepts else ("--reject", "no")
    _pin_dave(field)
    _answers(field, *words)
    count, asked = (40, 2) if quick else (120, 5)
    card, crowd = field.card(), field.crowd()
    members = enrol(crowd, [Member(card, s) for s in addresses(9, count)], 60)
    phone = _stranger(field, "")
    callee = field.found(phone.client, "bob")
    stop = time.monotonic() + 12 * asked
    process = field.background(_in_background_invites(crowd, members, callee, phone, stop))
    field.loop.run(6)
    answered = 0
    for _ in range(asked):
        code, _ = field.call("bob", "--duration", "1", identity="dave", seconds=15)
        answered += code == (0 if accepts else 4)
    process.terminate()
    return [
        Row(
            "H3",
            f"{len(members)} identities, 0.5 INVITE/s each, to a chosen callee",
            f"{answered}/{asked} calls of a pinned caller answered",
            "all",
            answered == asked,
        )
    ]


def _in_background_invites(crowd, members, callee, phone, stop):
    return in_background(_invite_all, crowd, members, callee, phone.client.clock_ms(), stop)


def _invite_all(crowd, members, callee, clock_ms, stop):
    """Each member sends one INVITE every 2 s, and acknowledges what it is sent."""
    sent, began = 0, time.monotonic()
    by_own = {member.keys.own: member for member in members}
    while time.monotonic() < stop:
        now = time.monotonic() - began
        while sent < now * len(members) * 0.5:
            member = members[sent % len(members)]
            invitation = bodies.Invitation(member.identity, callee, clock_ms + round(now * 1000))
            body = forward_body(os.urandom(16), callee.id, invitation.body)
            sequence = sent // len(members)
            crowd.send(member.frames(frames.fragment(0x81, sequence, 0, 1, body)), member.source)
            sent += 1
        for packet, _ in crowd.received():
            member = by_own.get(packet[1:5])
            if member is not None:
                _acknowledge(crowd, member, packet)
        time.sleep(0.01)


def _acknowledge(crowd, member, packet):
    try:
        number, data = member.keys.open(packet)
        kinds = {frame.kind for frame in frames.parse(data)}
    except ValueError:
        return
    now = time.monotonic()
    if frames.MSG in kinds:
        report = frames.feedback({number: now}, number, 1, now)
        crowd.send(member.frames(report + frames.credit(10**6)), member.source)


def endless_ring(field, quick):
    """H3: a stranger's ring without a timeout, then a pinned caller."""
    _pin_dave(field)
    _answers(field, "--accept", "--ring-for", "100")
    phone = _stranger(field, "carol")
    phone.call(field.found(phone.client, "bob"), ring_timeout_ms=0)
    field.loop.run(1)
    code, summary = field.call("bob", "--ring-timeout", "3", identity="dave")
    outcome = summary.get("outcome", "none")
    return [
        Row(
            "H3",
            "a stranger rings without a timeout; a pinned caller calls",
            f"the pinned caller: {outcome}",
            "it rings",
            outcome == "timeout" and code == 5,
        )
    ]


def candidates(field, quick):
    """M3: what a stranger learns of addresses before an answer."""
    _answers(field, "--accept", "--ring-for", "20")
    phone = _stranger(field, "carol")
    call = phone.call(field.found(phone.client, "bob"))
    field.wait(lambda: call.state == "ringing", 5)
    rings = call.state == "ringing"
    field.loop.run(2)
    learnt = {a for _, a in getattr(call, "offered_early", [])} | set(call.checks.checks)
    call.cancel()
    field.loop.run(0.3)
    return [
        Row(
            "M3",
            "a stranger's ring that nobody has accepted",
            f"{len(learnt)} addresses learnt" if rings else "it does not ring",
            "0 addresses",
            rings and not learnt,
        )
    ]


def no_terminal(field, quick):
    """M4: `earshot answer` without a terminal and without a policy."""
    program = field.programs.earshot("answer", identity="bob", name="bob", bind=field.source())
    refused = field.wait(lambda: program.exit_code is not None, 3)
    if refused:
        return [
            Row(
                "M4",
                "answer without a terminal and without --accept",
                f"exit {program.exit_code}",
                "exit 2",
                program.exit_code == 2,
            )
        ]
    phone = _stranger(field, "carol")
    call = phone.call(field.found(phone.client, "bob"))
    field.wait(lambda: call.state in ("connected", "ended"), 6)
    return [
        Row(
            "M4",
            "answer without a terminal and without --accept",
            f"a stranger's call: {call.state}",
            "exit 2",
            False,
        )
    ]


def allowed_name(field, quick):
    """M6: a name in the file of --allow, and who asks for it first."""
    path = field.programs.path("allowed")
    with open(path, "w") as file:
        file.write("alice\n")
    try:
        field.programs.start_rendezvous("--allow", path, data="data-allow")
    except RuntimeError:
        code = field.programs.rendezvous.exit_code
        words = field.programs.rendezvous.errors().decode(errors="replace").strip()
        return [
            Row(
                "M6",
                "--allow with a name alone",
                f"refused at the start, exit {code}",
                "refused, or nobody gets it",
                code == 2 and bool(words),
            )
        ]
    client = Client(field.loop, field.server, name="alice", bind=(field.source(), 0))
    client.register(4)
    status = client.said.status if client.said else None
    return [
        Row(
            "M6",
            "--allow with a name alone: a stranger asks for it",
            f"status {status}",
            "not granted",
            status != 1,
        )
    ]


def old_card(field, quick):
    """M1: a caller's superseded key, at a callee who has dialled, and so pinned, the newer one."""
    identity = Identity("alice")
    alice = Client(
        field.loop, field.server, identity=identity, name="alice", bind=(field.source(), 0)
    )
    alice.register()
    field.call("alice", "--ring-timeout", "2", identity="bob")
    bob = _answers(field, "--accept")
    phone = Phone(alice)
    call = phone.call(field.found(alice, "bob"))
    field.wait(lambda: call.state == "connected", 5)
    connected = call.state == "connected"
    field.loop.run(0.5)
    call.hang_up()
    field.loop.run(1.5)
    before = bob.events("incoming")
    key = StaticKey()
    old = identity.make_card(static=key, serial=1000)
    stolen = Identity("alice")
    stolen.key, stolen.id, stolen.static, stolen.card = identity.key, identity.id, key, old
    invitation = bodies.Invitation(stolen, field.found(alice, "bob"), alice.clock_ms())
    alice.forward(call.peer, invitation.body)
    field.loop.run(2)
    rings = bob.events("incoming") > before
    return [
        Row(
            "M1",
            "an INVITE with a card of an older serial than the pinned one",
            ("rings" if rings else "does not ring")
            + ("" if connected else "; nor did the call with the present one"),
            "does not ring",
            connected and not rings,
        )
    ]
