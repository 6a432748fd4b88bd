"""A client of Earshot of its own, written from docs/protocol alone. Says nothing, hears all.

usage: client.py register NAME | lookup NAME TARGET | call NAME TARGET | answer NAME
                 [--rendezvous HOST:PORT[#ID]] [--seconds S]

TARGET is a name. `call` talks for S seconds, `register` and `answer` stay for S seconds. Sound is
Opus silence. What happens is printed; exit 0 if all of it came to be.
"""

import argparse
import sys

import earshot_client
from earshot_calling import Phone
from earshot_loop import Loop
from earshot_wire import identity_of_text, z_base_32

STATUS = ["online", "known, not online", "unknown", "too many requests"]


def accepting(phone, prepared=True, ring_for=0.0):
    """A policy that rings, and accepts after a while."""

    def policy(call):
        call.ring_back(phone.candidates() if prepared else ())
        call.accept_at = None
        tick = call.tick

        def accept_in_time(now):
            call.accept_at = call.accept_at or now + ring_for
            if now >= call.accept_at and call.state == "ringing":
                call.accept(phone.candidates())
            tick(now)

        call.tick = accept_in_time

    return policy


def describe(call):
    """A call that ended, in one line."""
    return (
        f"call {call.id.hex()}: {call.state} by {call.ended_by}, reason {call.reason}, code "
        f"{call.code}, {call.sound_sent} frames sent, {call.sound_received} received"
    )


def do_lookup(client, options):
    """Looks a name up."""
    status, card = client.lookup(options.target)
    print(f"{options.target}: {STATUS[status]}" + (f", {z_base_32(card.id)}" if card else ""))
    return status == earshot_client.ONLINE


def do_call(client, options):
    """Calls, talks, hangs up."""
    status, card = client.lookup(options.target)
    if status != earshot_client.ONLINE:
        print(f"{options.target}: {STATUS[status]}")
        return False
    call = Phone(client).call(card)
    connected = client.loop.run(20, lambda: call.state in ("connected", "ended"))
    if connected and call.state == "connected":
        client.loop.run(options.seconds, lambda: call.state == "ended")
    heard = call.sound_received
    if call.state == "connected":
        call.hang_up()
        client.loop.run(1)
    elif call.state != "ended":
        call.cancel()
        client.loop.run(1)
    print(describe(call))
    return heard > 0


def do_answer(client, options):
    """Takes every call that comes."""
    phone = Phone(client)
    phone.policy = accepting(phone)
    client.loop.run(options.seconds)
    for call in phone.calls.values():
        print(describe(call))
    return any(call.sound_received for call in phone.calls.values())


def do_register(client, options):
    """Stays registered for a while."""
    client.loop.run(options.seconds, lambda: client.link.closed)
    print(f"PING: {(client.ping() or 0) * 1000:.1f} ms, closed: {client.link.closed}")
    return not client.link.closed


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("command", choices=("register", "lookup", "call", "answer"))
    parser.add_argument("name")
    parser.add_argument("target", nargs="?")
    parser.add_argument("--rendezvous", default="127.0.0.1:7400")
    parser.add_argument("--seconds", type=float, default=5.0)
    options = parser.parse_args()
    if options.command in ("lookup", "call") and not options.target:
        parser.error("whom?")
    where, _, pin = options.rendezvous.partition("#")
    host, _, port = where.rpartition(":")
    client = earshot_client.Client(
        Loop(),
        (host, int(port)),
        name=options.name,
        bind=("0.0.0.0", 0),
        server_id=identity_of_text(pin) if pin else None,
    )
    if not client.register():
        sys.exit(f"no registration: {client.failure}")
    print(
        f"registered as {z_base_32(client.identity.id)}, status {client.said.status}, "
        f"seen as {client.seen_as[0]}:{client.seen_as[1]}"
    )
    done = globals()[f"do_{options.command}"](client, options)
    client.close()
    sys.exit(0 if done else 1)


if __name__ == "__main__":
    main()
