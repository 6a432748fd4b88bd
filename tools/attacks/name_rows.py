"""Attacks on names: a card that claims somebody's, and a pin that is wrong."""

import shlex
import subprocess

from earshot_calling import Phone
from earshot_client import Client
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
