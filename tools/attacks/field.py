"""Where attacks are run: live programs, honest clients that are watched, and the rows to print."""

import os
import time
from typing import NamedTuple

from crowd import Crowd
from earshot_client import ONLINE, Client
from earshot_loop import Loop
from programs import Programs

HONEST = 200  # the second byte of honest addresses, 127.200.x.y


class Row(NamedTuple):
    """One figure and its goal."""

    finding: str
    attack: str
    measured: str
    goal: str
    passed: bool


class Watched(NamedTuple):
    """What honest clients got for a while. Round trips in s."""

    pings: int
    answered: int
    trips: list
    lookups: int
    found: int

    def percentile(self, share):
        """A percentile of the round trips in ms; infinite without any."""
        ordered = sorted(self.trips)
        if not ordered:
            return float("inf")
        return 1000 * ordered[min(len(ordered) - 1, int(share * len(ordered)))]

    @property
    def ping_share(self):
        return self.answered / max(1, self.pings)

    @property
    def lookup_share(self):
        return self.found / max(1, self.lookups)

    def words(self):
        """All of it, short."""
        return (
            f"PING {self.answered}/{self.pings}, p50 {self.percentile(0.5):.1f} ms, p99 "
            f"{self.percentile(0.99):.0f} ms, look-ups {self.found}/{self.lookups}"
        )


class Field:
    """A rendezvous with its honest clients. `options` go to the rendezvous."""

    def __init__(self, *options):
        self.loop = Loop()
        self.programs = Programs(*options, loop=self.loop)
        self.crowds, self.backgrounds = [], []
        self.count = 0

    def __enter__(self):
        self.programs.__enter__()
        return self

    def __exit__(self, *failure):
        for process in self.backgrounds:
            process.terminate()
        for crowd in self.crowds:
            crowd.close()
        self.programs.__exit__(*failure)

    @property
    def server(self):
        return self.programs.server

    def source(self):
        """An honest address, of a /24 of its own."""
        self.count += 1
        return f"127.{HONEST + self.count // 250}.{self.count % 250}.1"

    def honest(self, name=None, seconds=10.0, source=None, **options):
        """An honest client that is registered, or None."""
        made = Client(
            self.loop, self.server, name=name, bind=(source or self.source(), 0), **options
        )
        return made if made.register(seconds) else None

    def crowd(self):
        """A socket of attackers."""
        self.crowds.append(Crowd(self.server))
        return self.crowds[-1]

    def card(self):
        """The card of the rendezvous."""
        client = Client(self.loop, self.server, bind=(self.source(), 0))
        self.loop.run(8, lambda: client.card)
        self.loop.close(client, client.socket)
        return client.card

    def background(self, process):
        """Ends a process with the field."""
        self.backgrounds.append(process)
        return process

    def wait(self, condition, seconds):
        """Runs the loop until a condition is true; says whether it came true."""
        return self.programs.wait(condition, seconds)

    def found(self, client, name, seconds=5.0):
        """The card of a name that is online, or None."""
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            status, card = client.lookup(name, 1.0) or (None, None)
            if status == ONLINE:
                return card
            self.loop.run(0.1)
        return None

    def watch(self, clients, seconds, ping_every=0.1, lookup_every=None, name=None):
        """Watches honest clients: PING and LOOKUP(name) at these intervals; 1 s to answer."""
        began, asked, tokens = time.monotonic(), [], []
        next_ping = next_lookup = 0.0
        while (now := time.monotonic() - began) < seconds:
            if now >= next_ping:
                tokens += [(client, client.link.ping(time.monotonic())) for client in clients]
                next_ping += ping_every
            if lookup_every and now >= next_lookup:
                asked += [(client, client.ask(name)) for client in clients]
                next_lookup += lookup_every
            self.loop.run(min(0.02, ping_every))
        self.loop.run(1.0)
        trips = [c.link.pongs[t][0] for c, t in tokens if t in c.link.pongs]
        found = sum(c.results.get(r, (9,))[0] == ONLINE for c, r in asked)
        return Watched(len(tokens), len(trips), trips, len(asked), found)

    def registrations(self, count, patience, spacing):
        """So many honest registrations, one each `spacing` s: seconds each took, None = failed."""
        clients, began, took = [], time.monotonic(), {}
        end = count * spacing + patience
        while (now := time.monotonic() - began) < end:
            if len(clients) < count and now >= len(clients) * spacing:
                clients.append((now, Client(self.loop, self.server, bind=(self.source(), 0))))
            for started, client in clients:
                if client.online and client not in took:
                    took[client] = now - started
            if len(took) == count:
                break
            self.loop.run(0.02)
        times = [took.get(client) for _, client in clients]
        for _, client in clients:
            self.loop.close(client, client.socket)
        return [t if t is not None and t <= patience else None for t in times]

    def call(self, target, *words, identity, seconds=20, **options):
        """`earshot call`, run to its end: (exit code, summary)."""
        program = self.programs.earshot(
            "call", target, *words, identity=identity, name=identity, **options
        )
        if not self.wait(lambda: program.exit_code is not None, seconds):
            program.end()
        return program.exit_code, program.summary()

    def calls_connect(self, count, name="bob", duration="1"):
        """How many of so many `earshot call` to a callee end with exit code 0."""
        return sum(
            self.call(name, "--duration", duration, identity=f"caller{i}")[0] == 0
            for i in range(count)
        )


def share(values):
    """How many of these are not None, as words and as a fraction."""
    good = sum(value is not None for value in values)
    return f"{good}/{len(values)}", good / max(1, len(values))


def worst(values):
    """The greatest of the values that are not None, in ms, as words."""
    there = [value for value in values if value is not None]
    return f"{1000 * max(there):.0f} ms" if there else "none"


def processor_share(program, began_seconds, began_at):
    """The share of a core that a program used since then."""
    return (program.processor_seconds() - began_seconds) / (time.monotonic() - began_at)


def junk(server_side_id):
    """A DATA packet to a connection ID, which does not open; its tail is to be made random."""
    return b"\x60" + server_side_id + os.urandom(36), 5
