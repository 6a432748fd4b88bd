"""The tables of tools/connectivity: each gives rows of cells, and what of them was not as it must be."""

import math
import time
import wave
from array import array

from town import SERVER, Town

# By RFC 5128 §3.3: a pair whose mappings both depend on the destination, or one of them where the other lets in
# only addresses and ports that it asked, finds no hole. "symmetric" here keeps no port.
CLOSED = {("symmetric", "symmetric"), ("symmetric", "port"), ("port", "symmetric")}


def meets(a, b):
    alike = tuple("port" if kind == "open" else kind for kind in (a, b))
    return "udpblock" not in alike and alike not in CLOSED


def hum(path, seconds):
    """A steady sound, in which every gap shows."""
    second = array("h", (int(6000 * math.sin(2 * math.pi * 300 * n / 48000)) for n in range(48000)))
    with wave.open(path, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(48000)
        file.writeframes(second.tobytes() * seconds)


def silences(path):
    """Of a recording of `hum`: (seconds of it, when its longest silence began, how long that was in ms)."""
    try:
        with wave.open(path, "rb") as file:
            rate, samples = (
                file.getframerate(),
                array("h", file.readframes(file.getnframes()))[:: file.getnchannels()],
            )
    except (OSError, EOFError, wave.Error):
        return 0.0, 0.0, 0
    step = rate // 100
    loud = [
        max(map(abs, samples[at : at + step])) > 600 for at in range(0, len(samples) - step, step)
    ]
    if True not in loud:
        return len(samples) / rate, 0.0, len(loud) * 10
    end = len(loud) - loud[::-1].index(True)
    longest, began, current = 0, 0, 0
    for index, is_loud in enumerate(loud[:end]):
        current = 0 if is_loud else current + 1
        if current > longest:
            longest, began = current, index - current + 1
    return len(samples) / rate, began / 100, longest * 10


class Call:
    """bob answers, alice calls; both hear a hum of `seconds`."""

    def __init__(self, town, seconds, *options):
        self.town, self.seconds = town, seconds
        sound = town.path("hum.wav")
        hum(sound, seconds + 5)
        self.bob = town.peer(
            "b",
            "answer",
            "--accept",
            "--calls",
            "1",
            "--play",
            sound,
            "--save",
            town.path("b.wav"),
            *options,
            name="bob",
        )
        self.bob.wait_line(lambda line: line.get("name") == "registered", 12)
        self.alice = town.peer(
            "a",
            "call",
            "bob",
            "--duration",
            str(seconds),
            "--play",
            sound,
            "--save",
            town.path("a.wav"),
            *options,
            name="alice",
        )

    def wait(self, slack=25):
        """The summaries of both: `None` for a program that did not end, which is then killed."""
        end, found = time.monotonic() + self.seconds + slack, []
        for program in (self.alice, self.bob):
            try:
                program.process.wait(max(1, end - time.monotonic()))
                found.append(program.summary())
            except Exception:
                program.kill()
                found.append(None)
        return found

    def gaps(self):
        return {host: silences(self.town.path(f"{host}.wav")) for host in "ab"}


def matrix(kinds, options=()):
    """Who connects behind what: milliseconds from accept to connected, or the sentence of the caller."""
    rows, wrong = [], []
    for a in kinds:
        row = [a]
        for b in kinds:
            cell, problem = pair(a, b, options)
            row.append(cell)
            if problem:
                wrong.append(f"{a} × {b}: {problem}")
        rows.append(row)
    return ["caller \\ callee", *kinds], rows, wrong


def pair(a, b, options=()):
    with Town(a, b) as town:
        town.server()
        blocked = "udpblock" in (a, b)
        if blocked:
            return unreachable(town, a, b)
        call = Call(town, 3, *options)
        alice, bob = call.wait()
        if alice is None or bob is None:
            return "hangs", "a program did not end"
        if alice["outcome"] != "completed":
            said = str(alice.get("reason") or call.alice.stderr().strip())
            right = not meets(a, b) and alice["outcome"] == "unreachable"
            return f"no path: {said[:80]}", None if right else f"{alice['outcome']}: {said}"
        heard = call.gaps()
        silent = [host for host in "ab" if heard[host][0] < 2 or heard[host][2] > 200]
        line = alice["timeline"]
        cell = f"{line['connectedMs'] - line['acceptedMs']} ms, {alice['path']['kind']}"
        return cell, f"silent at {silent}, {heard}" if silent else None


def unreachable(town, a, b):
    """A side that cannot send UDP says so within 12 s, with exit 3."""
    host = "a" if a == "udpblock" else "b"
    program = town.peer(host, "call", "bob", "--duration", "1", name="nobody")
    code = program.wait(15)
    said = " ".join(program.stderr().split())
    names = SERVER[4] in said
    return f"exit {code}", None if code == 3 and names else f"exit {code}: {said}"


MOVES = ["none", "full", "address", "port", "symmetric"]


def moves(pairs, movers=("a", "b", "ab")):
    """The public address changes after 3 s: the longest silence at both ears, in ms."""
    rows, wrong = [], []
    for a, b in pairs:
        row = [f"{a} × {b}"]
        for who in movers:
            with Town(a, b) as town:
                town.server()
                call = Call(town, 10)
                call.alice.wait_event("connected")
                time.sleep(3)
                for host in who:
                    town.move(host)
                alice, bob = call.wait()
                gaps = {host: gap[2] for host, gap in call.gaps().items()}
                whole = alice and bob and alice["outcome"] == bob["outcome"] == "completed"
                row.append(
                    f"{max(gaps.values())}" if whole else f"ended: {alice and alice['outcome']}"
                )
                limit = 2000 if len(who) == 2 else 400
                if not whole or max(gaps.values()) > limit:
                    wrong.append(f"{a} × {b}, {who} moves: {row[-1]} ms, at most {limit}")
                told = [
                    program
                    for program in (call.alice, call.bob)
                    if any(line.get("name") == "pathChanged" for line in program.lines())
                ]
                if whole and len(told) < 2:
                    wrong.append(f"{a} × {b}, {who} moves: {2 - len(told)} not told of the change")
        rows.append(row)
    return ["pair", *(f"{' and '.join(who)} moves, ms" for who in movers)], rows, wrong


def outages(seconds, ways, kinds):
    """The line is cut for so long: how long after its return the last ear hears again."""
    rows, wrong = [], []
    for a, b in kinds:
        for cut in seconds:
            row = [f"{a} × {b}", str(cut)]
            for way in ways:
                cell, problem = outage(a, b, cut, way)
                row.append(cell)
                if problem:
                    wrong.append(f"{a} × {b}, {cut} s, {way}: {problem}")
            rows.append(row)
    return ["pair", "cut, s", *(f"sends nothing: {' and '.join(way)}" for way in ways)], rows, wrong


def outage(a, b, cut, way):
    with Town(a, b) as town:
        town.server()
        call = Call(town, cut + 9)
        call.alice.wait_event("connected")
        time.sleep(3)
        town.cut(way, True)
        time.sleep(cut)
        town.cut(way, False)
        alice, bob = call.wait(30)
        ends = {summary and summary["outcome"] for summary in (alice, bob)}
        if ends == {"lost"} and cut >= 20:
            return "ended", None
        if ends != {"completed"}:
            return f"{ends}", f"ended {ends}"
        back = (
            max(gap[2] - cut * 1000 for gap in call.gaps().values() if gap[2] > 500)
            if any(gap[2] > 500 for gap in call.gaps().values())
            else 0
        )
        return f"{back} ms", None if back <= 1000 else f"sound {back} ms after the line"


def absences(seconds, kinds):
    """The line is away for longer than 20 s, and both let the other be away: sound after its return, in ms."""
    rows, wrong = [], []
    for a, b in kinds:
        for cut in seconds:
            row = [f"{a} × {b}", str(cut)]
            soon = 1000 if meets(a, b) else 5000
            for movers, limit in (("", soon), ("ab", 5000)):
                cell, problem = absence(a, b, cut, movers, limit)
                row.append(cell)
                if problem:
                    wrong.append(f"{a} × {b}, {cut} s, {movers or 'nobody'} moves: {problem}")
            rows.append(row)
    return ["pair", "cut, s", "same addresses", "a and b move meanwhile"], rows, wrong


def absence(a, b, cut, movers, limit):
    import relayed

    with Town(a, b) as town:
        town.server()
        clients = []
        if not meets(a, b):
            relayed.relay(town)
            clients = relayed.clients()
        call = Call(town, cut + 22, "--rejoin", "5", *clients)
        call.alice.wait_event("connected")
        time.sleep(3)
        town.cut("ab", True)
        time.sleep(cut / 2)
        for host in movers:
            town.move(host)
        time.sleep(cut / 2)
        town.cut("ab", False)
        alice, bob = call.wait(30)
        ends = {summary and summary["outcome"] for summary in (alice, bob)}
        if ends != {"completed"}:
            return f"{ends}", f"ended {ends}"
        back = max(gap[2] for gap in call.gaps().values()) - cut * 1000
        told = [
            any(line.get("name") == "rejoined" for line in program.lines())
            for program in (call.alice, call.bob)
        ]
        problem = None if back <= limit else f"sound {back} ms after the line, at most {limit}"
        return f"{back} ms", problem or (None if all(told) else "not told of the return")


FAMILIES = {"IPv4": (4,), "IPv6": (6,), "both": (4, 6)}


def families(names):
    """Which families the hosts have: milliseconds to connect."""
    rows, wrong = [], []
    for a in names:
        row = [a]
        for b in names:
            has = {"a": FAMILIES[a], "b": FAMILIES[b], "r": (4, 6)}
            with Town(families=has) as town:
                town.server()
                of = {
                    host: f"{SERVER[4]}:7400" if 4 in has[host] else f"[{SERVER[6]}]:7400"
                    for host in "ab"
                }
                bob = town.peer(
                    "b", "answer", "--accept", "--calls", "1", name="bob", service=of["b"]
                )
                bob.wait_line(lambda line: line.get("name") == "registered", 12)
                alice = town.peer(
                    "a", "call", "bob", "--duration", "2", name="alice", service=of["a"]
                )
                alice.wait(25)
                summary, shared = alice.summary(), set(has["a"]) & set(has["b"])
                if summary["outcome"] == "completed":
                    line = summary["timeline"]
                    row.append(f"{line['connectedMs'] - line['acceptedMs']} ms")
                else:
                    row.append(alice.stderr().strip().split("\n")[-1][:80])
                if (summary["outcome"] == "completed") != bool(shared):
                    wrong.append(f"{a} × {b}: {summary['outcome']}")
        rows.append(row)
    return ["caller \\ callee", *names], rows, wrong
