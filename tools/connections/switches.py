"""The table `switches` of tools/connectivity: what happens to the uplinks of a host in mid-call."""

import signal
import time
import wave
from array import array
from concurrent.futures import ThreadPoolExecutor
from typing import Callable, NamedTuple

from tables import hum
from uplinks import Uplinks

LEAD = 3  # seconds of undisturbed call
MOVERS = ("a", "b", "ab")
# Where the old path still carries, where one side moves, where both do, and without any sign: in ms.
BESIDE, ONE, BOTH, SILENT = 60, 400, 2000, 1500
# Sound must be back so soon after a stopped program goes on, or after an address is back, in ms.
CONTINUED = 1000
# One who waits is reached so soon after a change, in ms.
WAITING = 2000
# A call whose program starts while the first uplink is dead is connected so soon, in ms.
STARTING = 5000


class Case(NamedTuple):
    """`act` happens to a host; `seconds` is how long it then lasts by itself, before sound can come back."""

    name: str
    act: Callable
    limits: tuple
    uplinks: tuple = (0,)
    kinds: tuple = ("none", "port")
    families: dict = {}
    seconds: float = 0
    moves: bool = True
    measure: Callable = None


def appears(town, host):
    town.up(host, 1)


def goes(town, host):
    town.down(host, 0)


def switched(town, host):
    town.down(host, 0)
    town.up(host, 1)


def silent(town, host):
    town.silence(host, 0)


def rerouted(town, host):
    town.prefer(host, 1)


def replaced(town, host):
    town.take(host, 0)
    town.give(host, 0, number=9)


def added(town, host):
    town.give(host, 0, number=9)


def away(seconds):
    def act(town, host):
        town.take(host, 0)
        yield seconds
        town.give(host, 0)

    return act


def stopped(seconds):
    def act(town, host):
        town.programs_of[host].signal(signal.SIGSTOP)
        yield seconds
        town.programs_of[host].signal(signal.SIGCONT)

    return act


def family(old, new):
    def act(town, host):
        town.take(host, 0, old)
        town.give(host, 0, new)

    return act


def rebound(**what):
    return lambda town, host: town.rebind(host, **what)


def silences(path, tail=0.5):
    """Of a recording of `hum`: its longest silence in ms, also one at its end, except for the last moment."""
    with wave.open(path, "rb") as file:
        rate, samples = (
            file.getframerate(),
            array("h", file.readframes(file.getnframes()))[:: file.getnchannels()],
        )
    step = rate // 100
    loud = [
        max(map(abs, samples[at : at + step])) > 600 for at in range(0, len(samples) - step, step)
    ]
    loud = loud[loud.index(True) :] if True in loud else loud
    longest = current = 0
    for index, is_loud in enumerate(loud):
        current = 0 if is_loud else current + 1
        longest = max(longest, current if index < len(loud) - tail * 100 else 0)
    return longest * 10


def play(acts):
    """Carries out what happens to several hosts at once; an act that lasts gives the seconds that it waits."""
    waiting = [act for act in acts if act is not None]
    while waiting:
        pauses = [next(act, None) for act in waiting]
        waiting = [act for act, pause in zip(waiting, pauses) if pause is not None]
        if waiting:
            time.sleep(max(pause for pause in pauses if pause is not None))


def call(town, seconds):
    """bob answers at b, alice calls from a; both hear a hum."""
    sound = town.path("hum.wav")
    hum(sound, seconds + 5)
    bob = town.peer(
        "b",
        "answer",
        "--accept",
        "--calls",
        "1",
        "--play",
        sound,
        "--save",
        town.path("b.wav"),
        name="bob",
    )
    bob.wait_line(lambda line: line.get("name") == "registered", 12)
    alice = town.peer(
        "a",
        "call",
        "bob",
        "--duration",
        str(seconds),
        "--play",
        sound,
        "--save",
        town.path("a.wav"),
        name="alice",
    )
    town.programs_of = {"a": alice, "b": bob}
    alice.wait_event("connected")
    return alice, bob


def cell(case, kind, movers):
    """What was heard of one case: the text of the cell, and what of it is not as it must be."""
    families = {
        host: case.families.get("moves" if host in movers else "stays", (4,)) for host in "ab"
    }
    with Uplinks(kind, families) as town:
        for host in "ab":
            for uplink in case.uplinks if host in movers else (0,):
                town.up(host, uplink)
        town.server()
        if case.measure:
            return case.measure(town, case, movers)
        alice, bob = call(town, LEAD + 7 + int(case.seconds))
        time.sleep(LEAD)
        before = {program: told(program) for program in (alice, bob)}
        play([case.act(town, host) for host in movers])
        for program in (alice, bob):
            program.wait(40)
        outcomes = [program.summary()["outcome"] for program in (alice, bob)]
        if outcomes != ["completed", "completed"]:
            return " and ".join(outcomes), f"ended {outcomes}"
        gaps = [silences(town.path(f"{host}.wav")) for host in "ab"]
        news = [told(program) - before[program] for program in (alice, bob)]
    limit = case.limits[MOVERS.index(movers)] + case.seconds * 1000
    wrong = f"{gaps} ms, at most {limit:.0f}" if max(gaps) > limit else None
    if case.moves and 0 in news:
        wrong = f"{wrong or gaps}, changes told {news}"
    return f"{gaps[0]} / {gaps[1]}, {news[0]} / {news[1]}", wrong


def ended(town, case, movers):
    """A program stands still for so long that the call ends: both sides say so, the late one at once."""
    alice, bob = call(town, LEAD + 60)
    time.sleep(LEAD)
    play([case.act(town, host) for host in movers])
    began = time.monotonic()
    for program in (alice, bob):
        program.wait(10)
    took = int(1000 * (time.monotonic() - began))
    outcomes = [program.summary()["outcome"] for program in (alice, bob)]
    limit = case.limits[MOVERS.index(movers)]
    wrong = f"{outcomes} after {took} ms" if outcomes != ["lost", "lost"] or took > limit else None
    return f"{' and '.join(sorted(set(outcomes)))} after {took} ms", wrong


def reachable(town, case, movers):
    """How long one who waits is not reached after his address has changed: until a call is connected."""
    return connected(town, case, movers) if movers == "b" else ("–", None)


def begins(town, case, movers):
    """How long a program takes to register and call that starts after the change."""
    return connected(town, case, movers) if movers == "a" else ("–", None)


def connected(town, case, movers):
    bob = town.peer("b", "answer", "--accept", "--calls", "1", name="bob")
    bob.wait_line(lambda line: line.get("name") == "registered", 12)
    time.sleep(LEAD)
    play([case.act(town, host) for host in movers])
    began = time.monotonic()
    alice = town.peer("a", "call", "bob", "--duration", "1", name="alice")
    bob.wait_event("connected", 30)
    took = int(1000 * (time.monotonic() - began))
    alice.wait(20)
    outcome, limit = alice.summary()["outcome"], case.limits[1]
    return (
        f"connected after {took} ms",
        f"{outcome} after {took} ms" if outcome != "completed" or took > limit else None,
    )


def told(program):
    return sum(line.get("name") == "pathChanged" for line in program.lines())


MOVED, KEPT = (ONE, ONE, BOTH), (BESIDE, BESIDE, BESIDE)
CASES = [
    Case("interface up", appears, KEPT, moves=False),
    Case("interface down", goes, MOVED, (0, 1)),
    Case("interface switched", switched, MOVED),
    Case("both up, the first silent", silent, (SILENT, SILENT, BOTH), (0, 1)),
    Case("default route changed", rerouted, KEPT, (0, 1), moves=False),
    Case("address replaced", replaced, MOVED),
    Case("address removed 2 s", away(2), MOVED, seconds=2, moves=False),
    Case("address removed 8 s", away(8), MOVED, seconds=8, moves=False),
    Case("address added", added, KEPT, moves=False),
    Case("NAT rebind, port", rebound(port=True), MOVED, kinds=("port",)),
    Case("NAT rebind, address", rebound(address=True), MOVED, kinds=("port",)),
    Case("NAT rebind, both", rebound(port=True, address=True), MOVED, kinds=("port",)),
    Case(
        "IPv4 to IPv6",
        family(4, 6),
        MOVED,
        kinds=("none",),
        families={"moves": (4,), "stays": (4, 6)},
    ),
    Case(
        "IPv6 to IPv4",
        family(6, 4),
        MOVED,
        kinds=("none",),
        families={"moves": (6,), "stays": (4, 6)},
    ),
    Case(
        "stopped 5 s",
        stopped(5),
        (CONTINUED, CONTINUED, CONTINUED),
        seconds=5,
        kinds=("port",),
        moves=False,
    ),
    Case(
        "stopped 30 s",
        stopped(30),
        (CONTINUED, CONTINUED, CONTINUED),
        kinds=("port",),
        measure=ended,
    ),
    Case(
        "one who waits, address replaced", replaced, (WAITING, WAITING, WAITING), measure=reachable
    ),
    Case(
        "one who calls, the first silent",
        silent,
        (STARTING, STARTING, STARTING),
        (0, 1),
        measure=begins,
    ),
    Case(
        "one who waits, interface switched",
        switched,
        (WAITING, WAITING, WAITING),
        measure=reachable,
    ),
]
NAMES = [case.name for case in CASES]


def switches(names=NAMES, movers=MOVERS, at_once=2):
    """One row for each case and kind of router."""
    lines = [(case, kind) for case in CASES if case.name in names for kind in case.kinds]
    with ThreadPoolExecutor(at_once) as pool:
        found = [[pool.submit(guarded, *line, who) for who in movers] for line in lines]
        rows, wrong = [], []
        for (case, kind), cells in zip(lines, found):
            title = f"{case.name}{' (behind translators)' if kind != 'none' else ''}"
            row = [title]
            for who, future in zip(movers, cells):
                text, problem = future.result()
                row.append(text)
                if problem:
                    wrong.append(f"{title}, {who}: {problem}")
            rows.append(row)
    return ["what happens", *(f"to {' and '.join(who)}" for who in movers)], rows, wrong


def guarded(*words):
    try:
        return cell(*words)
    except AssertionError as error:
        return "failed", str(error)
