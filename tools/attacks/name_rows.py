"""Attacks on names: a card that claims somebody's, and a pin that is wrong."""

import shlex
import statistics
import subprocess
import time

from earshot_calling import Phone
from earshot_client import OFFLINE, Client
from earshot_wire import Identity
from field import Row
from programs import BIN


def claims(field, quick):
    """C1: a card with somebody else's name, at registration and in an INVITE."""
    bob = field.programs.answering("bob", "--reject", "no", bind=field.source())
    carol = field.honest("carol")
    stranger = Client(
        field.loop, field.server, identity=Identity("carol"), bind=(field.source(), 0)
    )
    registered = stranger.register()
    said = " then ".join(map(str, stranger.statuses))
    # The card of an INVITE is sealed: the rendezvous cannot refuse it.
    stranger.identity.card = stranger.identity.make_card()
    words = []
    for client in (stranger, carol):
        call = Phone(client).call(field.found(client, "bob"))
        field.wait(lambda c=call: c.state == "ended", 5)
        field.loop.run(0.3)
        event = bob.event("incomingCall", len(words) + 1) or {}
        words.append(event.get("peer", {}).get("nameTrust", "none"))
    return [
        Row(
            "C1",
            "a stranger registers with a card that says carol",
            f"status {said}",
            "refused (10), then without a name (0)",
            registered and stranger.statuses == [10, 0],
        ),
        Row(
            "C1",
            "the stranger and carol call, each with a card that says carol",
            f"shown as {words[0]} and {words[1]}",
            "claimed and rendezvous",
            words == ["claimed", "rendezvous"],
        ),
    ]


def wrong_pin(field, quick):
    """C1: a pin that is wrong goes by the command that the program names."""
    field.programs.answering("bob", "--reject", "no", bind=field.source())
    field.call("bob", identity="alice")
    field.programs.start_rendezvous(data="data-2")
    bob = field.programs.earshot(
        "answer", "--reject", "no", identity="other-bob", name="bob", bind=field.source()
    )
    field.wait(lambda: bob.event("registered"), 5)
    blocked, _ = field.call("bob", identity="alice")
    command = _advice(field)
    ran = subprocess.run(command, capture_output=True, timeout=10) if command else None
    again, summary = field.call("bob", identity="alice")
    return [
        Row(
            "C1",
            "another identity is pinned as bob; the advised command is run",
            f"exit {blocked}, {' '.join(command[1:4]) or 'no command'}, then "
            f"{summary.get('outcome', 'nothing')}",
            "exit 7, contacts forget bob, then rejected by bob",
            blocked == 7 and ran is not None and ran.returncode == 0 and again == 4,
        )
    ]


def _advice(field):
    """The command line that the last caller was advised, with the program's path."""
    calls = [p for p in field.programs.running if p.label.startswith("call")]
    words = calls[-1].errors().decode(errors="replace").rpartition("run: ")[2].strip()
    return [f"{BIN}/earshot"] + shlex.split(words)[1:] if words.startswith("earshot ") else []


NOT_ONLINE = 1  # status of FORWARD_RESULT
LOOKUPS_A_SECOND = 8


def audience(field, quick):
    """M7: a stranger watches a callee that only its contacts may see."""
    run = [f"{BIN}/earshot"]
    card = subprocess.run(
        run + ["card", "--identity", field.programs.path("alice"), "--name", "alice"],
        capture_output=True,
        timeout=10,
    )
    subprocess.run(
        run
        + ["contacts", "import", card.stdout.decode().split()[-1]]
        + ["--identity", field.programs.path("bob")],
        capture_output=True,
        timeout=10,
        check=True,
    )
    gone = field.programs.answering("carol", "--accept", bind=field.source())
    hidden = ("--accept", "--presence", "contacts")
    bob = field.programs.answering("bob", *hidden, bind=field.source())
    gone.end()
    mallory = field.honest("mallory")
    field.loop.run(1)
    here = _answers_about(field, mallory, "bob")
    contact, _ = field.call("bob", "--duration", "1", identity="alice")
    stranger, _ = field.call("bob", "--duration", "1", identity="eve")
    trips = _trips(field, mallory, ("bob", "carol"), 16 if quick else 80)
    rang = bob.event("incomingCall", 2)
    bob.end()
    field.loop.run(1)
    away = _answers_about(field, mallory, "bob")
    again = field.programs.answering("bob", *hidden, bind=field.source())
    field.loop.run(1)
    back = _answers_about(field, mallory, "bob")
    again.end()
    same = here == away == back and None not in here[:2]
    apart = abs(trips[0] - trips[1])
    return [
        Row(
            "M7",
            "a stranger asks for a callee of --presence contacts: here, gone, back",
            f"{'the same' if same else 'other'} bytes; a contact's call ends with {contact}, "
            f"a stranger's with {stranger}",
            "the same bytes, 0 and 3",
            same and here[2] == NOT_ONLINE and contact == 0 and stranger == 3 and not rang,
        ),
        Row(
            "M7",
            "a stranger times look-ups of it and of one that is away",
            f"medians {1000 * trips[0]:.2f} and {1000 * trips[1]:.2f} ms",
            "≤ 0.5 ms apart",
            apart <= 0.0005,
        ),
    ]


def _answers_about(field, client, name):
    """What a client hears: (card by name, card by ID, status of FORWARD); nothing if online."""
    status, card = client.lookup(name) or (None, None)
    if status != OFFLINE:
        return None, None, None
    status, again = client.lookup(card.id) or (None, None)
    message = client.forward(card.id, b"hello")
    field.wait(lambda: message in client.forwards, 5)
    return card.bytes, again and status == OFFLINE and again.bytes, client.forwards.get(message)


def _trips(field, client, names, count):
    """The median times of look-ups, in turn."""
    times = {name: [] for name in names}
    for _ in range(count):
        for name in names:
            began = time.monotonic()
            if client.lookup(name) is not None:
                times[name].append(time.monotonic() - began)
            field.loop.run(1 / LOOKUPS_A_SECOND)
    return [statistics.median(times[name] or [float("inf")]) for name in names]
