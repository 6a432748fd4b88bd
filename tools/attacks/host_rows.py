"""Hardships of the host: programs that are stopped, a kernel that refuses, clocks that jump, logs.

The findings are the numbers of the tests in docs/security.md.
"""

import os
import random
import re
import signal
import socket
import subprocess
import time

import earshot_frames as frames
from crowd import Flood, Member, addresses, enrol, write_packets
from earshot_session import INIT
from faults import FAILED, SLEPT, WALL, Faults, FaultyCall
from field import Row
from programs import BIN

BURST = 2.0  # times the normal datagrams a second, once a stopped program goes on
HEARD = 0.95  # of the sound is not made up in a call that goes on
LINES = 20  # that a million bad packets may write
HOUR = 3600 * 10**9
MEMORY = 128 << 20  # bytes that a rendezvous with ten thousand clients may have


def stopped(field, quick):
    """40: SIGSTOP of the rendezvous, then of an end of the call."""
    rows = [_stop(field, "server", seconds) for seconds in ((6,) if quick else (10, 60))]
    return rows + [_stop(field, "alice", seconds) for seconds in ((3,) if quick else (3, 6, 12))]


def _stop(field, who, seconds):
    call = FaultyCall(field, seconds + 60)
    program = field.programs.rendezvous if who == "server" else call.alice
    program.signal(signal.SIGSTOP)
    during = call.heard() if who == "server" else 1.0
    field.loop.run(seconds - (4 if who == "server" else 0))
    program.signal(signal.SIGCONT)
    burst = call.burst(call.rates(2))
    heard = call.heard()
    late = field.honest(seconds=3) is not None
    ended = call.finish()
    back = field.wait(lambda: field.found(field.honest(), "bob", 1), 5)
    told = f"{call.bob.events('interrupted')} interruptions told"
    return Row(
        "40",
        f"SIGSTOP of {'the rendezvous' if who == 'server' else 'a caller'} for {seconds} s",
        f"at most {burst:.1f} times the normal rate, {_share(heard)} heard "
        f"2 s later, {told}, {'completed' if ended else 'not completed'}",
        f"≤ {BURST:.0f} times, ≥ {_share(HEARD)}, completed",
        bool(
            call.is_up
            and min(heard, during) >= HEARD
            and burst <= BURST
            and late
            and ended
            and back
        ),
    )


def _share(value):
    return f"{100 * value:.0f} %"


def refusals(field, quick):
    """42: one call in ten to the kernel fails, at both ends and at the rendezvous; then most."""
    rows = []
    for label, rate, receive, seconds in (
        ("10 % of the calls that send, open, receive or wait fail", 100, 100, 3 if quick else 10),
        ("all calls that send or open, 90 % of those that receive or wait fail", 1000, 900, 2),
    ):
        call = FaultyCall(field, seconds + 60)
        for faults in call.faults.values():
            faults.refuse(send=rate, receive=receive, opening=rate)
        field.loop.run(seconds)
        for faults in call.faults.values():
            faults.refuse()
        failed = sum(faults[FAILED] for faults in call.faults.values())
        late = field.honest(seconds=1) is not None
        field.loop.run(1)
        heard, runs = call.heard(), call.is_running()
        ended = call.finish()
        rows.append(
            Row(
                "42",
                f"{label} for {seconds} s",
                f"{failed} failed, {'all programs run' if runs else 'a program ended'}; "
                f"{'a registration within 1 s' if late else 'no registration within 1 s'}, "
                f"{_share(heard)} heard 1 s later, {'completed' if ended else 'not completed'}",
                f"no exit, a registration within 1 s, ≥ {_share(HEARD)}, completed",
                call.is_up and failed > 50 and runs and heard >= HEARD and late and ended,
            )
        )
    return rows


def descriptors(field, quick):
    """42: as many files as a program opens at its start, and 0 to 3 more."""
    rows = []
    for label, words in (
        (
            "earshot-rendezvous",
            [
                f"{BIN}/earshot-rendezvous",
                "--listen",
                "127.0.0.1:0",
                "--data",
                field.programs.path("few"),
                "--json",
            ],
        ),
        (
            "earshot answer",
            [
                f"{BIN}/earshot",
                "answer",
                "--accept",
                "--json",
                "--fail-fast",
                "--rendezvous",
                "%s:%d" % field.server,
                "--bind",
                "127.0.0.1:0",
                "--identity",
                field.programs.path("few-files"),
            ],
        ),
    ):
        needed = _open_at_start(field, words)
        told, ran, bad = 0, 0, []
        for limit in range(3, needed + 4):
            program = field.programs.start(
                "few", ["bash", "-c", f'ulimit -n {limit}; exec "$@"', "few", *words]
            )
            field.wait(lambda p=program: p.exit_code is not None or _is_ready(p), 15)
            code, words_of_it = program.exit_code, program.errors().decode()
            if code is None and _is_ready(program):
                ran += 1
            elif code is not None and code > 0 and len(words_of_it) > 20:
                told += 1
            else:
                bad.append(f"{limit}: exit {code}, {words_of_it.strip()[:80]!r}")
            program.end()
        rows.append(
            Row(
                "42",
                f"{label} with 3 to {needed + 3} files ({needed} are open at its start)",
                f"{told} ended with a message, {ran} ran" + "".join(f"; {b}" for b in bad[:3]),
                "each ends with a message, or runs",
                not bad and ran >= 4,
            )
        )
    return rows


def _is_ready(program):
    return program.event("registered") or any(
        line.get("type") == "listening" for line in program.lines()
    )


def _open_at_start(field, words):
    program = field.programs.start("plenty", words)
    field.wait(lambda: _is_ready(program), 10)
    numbers = [int(name) for name in os.listdir(f"/proc/{program.process.pid}/fd")]
    program.end()
    return max(numbers) + 1


def clocks(field, quick):
    """43: the wall clock is set, and the host sleeps, while a call runs."""
    rows = []
    for label, shift in (("back by 1 h", -HOUR), ("forward by 1 day", 24 * HOUR)):
        for who in ("alice",) if quick else ("alice", "server"):
            call = FaultyCall(field, 60)
            call.faults[who][WALL] = shift
            burst, heard = call.burst(call.rates(2)), call.heard()
            late = field.honest(seconds=2) is not None
            breaks = sum(end.events("interrupted") for end in call.ends.values())
            ended = call.finish()
            again = field.call("bob", "--duration", "1", identity=f"carol{call.made}")[0] == 0
            rows.append(
                Row(
                    "43",
                    f"the wall clock of the {'caller' if who == 'alice' else 'rendezvous'} "
                    f"goes {label} in a call",
                    f"{breaks} interruptions, {_share(heard)} heard, at "
                    f"most {burst:.1f} times the normal rate, "
                    f"{'completed' if ended else 'not completed'}, "
                    f"the next call {'answered' if again else 'not answered'}",
                    f"none, ≥ {_share(HEARD)}, ≤ {BURST:.0f} times, completed, answered",
                    breaks == 0 and heard >= HEARD and burst <= BURST and ended and again and late,
                )
            )
    return rows + [_sleeps(field)]


def _sleeps(field):
    """The host of all three sleeps for an hour: both clocks are an hour on, and every wait ends."""
    call = FaultyCall(field, 60)
    for faults in call.faults.values():
        faults[SLEPT] = faults[WALL] = HOUR
        faults.refuse(receive=500)
    field.loop.run(0.2)
    for faults in call.faults.values():
        faults.refuse()
    ended = field.wait(lambda: call.bob.summary() and call.alice.exit_code is not None, 5)
    again = False
    later = Faults(field.programs.path("faults-later"))
    later[WALL] = HOUR
    with later.around():
        again = field.wait(
            lambda: (
                field.call("bob", "--duration", "1", identity=f"carol{call.made}", seconds=6)[0]
                == 0
            ),
            21,
        )
    return Row(
        "43",
        "the host of both ends and of the rendezvous sleeps for 1 h in a call",
        f"the call {'ended' if ended else 'hangs'}, the next one "
        f"{'is answered' if again else 'is not'}",
        "it ends, the next one is answered",
        bool(ended and again and call.bob.exit_code is None),
    )


def log_lines(field, quick):
    """23: how many lines bad packets write to the logs of a rendezvous and of a peer in a call."""
    count = 100_000 if quick else 1_000_000
    call = FaultyCall(field, 150)
    path, rows = field.programs.path("bad"), []
    packets = [(os.urandom(n), 0) for n in (1, 24, 64, 1200)]
    packets += [
        (bytes([INIT, 1, 1, 1]) + os.urandom(1196), 4),
        (b"\x60" + os.urandom(60), 1),
        (bytes([0xC6, 1, 0, 0]) + os.urandom(8) + bytes(500), 4),
        (bytes([INIT, 9, 1, 1]) + os.urandom(1196), 4),
    ]
    packets += [(bytes([kind]) + os.urandom(63), 1) for kind in range(0xC1, 0xC9)]
    write_packets(path, packets)
    for who, program, address in (
        ("a rendezvous", field.programs.rendezvous, field.server),
        ("a peer in a call", call.bob, _udp_address(call.bob)),
    ):
        before, rate = program.errors().count(b"\n"), 20_000
        flood = Flood(address, path, rate, 1.1 * count / rate, "127.60.0.1", 2000)
        field.wait(lambda flood=flood: flood.process.poll() is not None, 60)
        field.loop.run(1)
        sent, lines = flood.sent(), program.errors().count(b"\n") - before
        rows.append(
            Row(
                "23",
                f"{sent} bad packets to {who}",
                f"{lines} lines in its log",
                f"≤ {LINES}",
                sent >= count and lines <= LINES and program.exit_code is None,
            )
        )
    ended = call.finish()
    return rows + [
        Row(
            "23",
            "the call meanwhile",
            "completed" if ended else "not completed",
            "completed",
            ended,
        )
    ]


def _udp_address(program):
    """The address of the UDP socket of a program that is bound to a loopback address."""
    sockets = set()
    for name in os.listdir(f"/proc/{program.process.pid}/fd"):
        try:
            sockets.add(os.readlink(f"/proc/{program.process.pid}/fd/{name}"))
        except OSError:
            pass
    with open("/proc/net/udp") as table:
        for line in table.readlines()[1:]:
            fields = line.split()
            if f"socket:[{fields[9]}]" in sockets:
                host, port = fields[1].split(":")
                return socket.inet_ntoa(bytes.fromhex(host)[::-1]), int(port, 16)
    raise RuntimeError("no UDP socket")


def canaries(field, quick):
    """40: no name, ID, key or address in what a rendezvous writes down by default."""
    programs = field.programs
    events = programs.path("events")
    programs.start_rendezvous("--events", events, "--log-level", "debug", data="canaries")
    bob = programs.answering("canarybob", "--accept", bind=field.source())
    results = [
        field.call(target, "--duration", "1", identity="canaryalice")
        for target in ("canarybob", "canarynobody")
    ]
    program = programs.rendezvous
    program.end()
    with open(events, "rb") as file:
        written = program.errors() + file.read()
    ids = set(re.findall(rb"\b[a-z0-9]{52}\b", bob.raw() + _outputs(programs)))
    ids.discard(programs.server_id.encode())
    secrets = [b"canary", b"127.200", b"127.201", *ids]
    found = [secret for secret in secrets if secret in written]
    return [
        Row(
            "40",
            f"{len(written.splitlines())} lines of log and events of a rendezvous after "
            "a call and a look-up",
            f"{len(found)} of {len(secrets)} names, IDs and addresses",
            "none",
            not found and len(ids) >= 2 and results[0][0] == 0 and len(written.splitlines()) >= 5,
        )
    ]


def _outputs(programs):
    return b"".join(program.raw() for program in programs.running)


def memory(field, quick):
    """42: 128 MiB, ten thousand clients, and then what may be waited for of half messages."""
    wanted, sources = (2000 if quick else 10_000), addresses(9, 60)
    pid = field.programs.rendezvous.process.pid
    field.programs.answering("bob", bind=field.source())
    with _MemoryLimit(pid, MEMORY) as limit:
        card, crowd, done = field.card(), field.crowd(), []
        while len(done) < wanted:
            few = [Member(card, sources[i % 60]) for i in range(min(500, wanted - len(done)))]
            more = enrol(crowd, few, 400)
            if not more:
                break
            done += more
            for member in done if len(done) % 2500 == 0 else []:  # or they are gone after 60 s
                crowd.send(member.frames(frames.ping(os.urandom(8))), member.source)
        honest = [field.honest(f"honest{i}") for i in range(3)]
        piece = bytes(1092)
        for position, member in enumerate(done[-2100:]):
            for index in range(30):
                crowd.send(member.frames(frames.fragment(0x81, 0, index, 31, piece)), member.source)
            if position % 20 == 19:
                field.loop.run(0.005)
                crowd.received()
        seen = field.watch(honest, 4, lookup_every=0.2, name="bob")
        peak = _status(pid, "VmHWM")
        runs = field.programs.rendezvous.exit_code is None
    return [
        Row(
            "42",
            f"{len(done)} clients and 60 MiB of half messages {limit.words}",
            f"{'runs' if runs else 'ended'}, at most {peak / 2**20:.0f} MiB; {seen.words()}",
            "runs, ≤ 128 MiB, all registered and answered",
            runs
            and peak <= MEMORY
            and len(done) == wanted
            and seen.ping_share == seen.lookup_share == 1,
        )
    ]


class _MemoryLimit:
    """A control group with a process in it; where the host has none, only its peak is looked at."""

    def __init__(self, pid, count):
        self.folder, self.words = None, "(no control group here: the peak alone)"
        for parent, name in (
            ("/sys/fs/cgroup/memory", "memory.limit_in_bytes"),
            ("/sys/fs/cgroup", "memory.max"),
        ):
            folder = os.path.join(parent, f"earshot-{pid}")
            try:
                os.mkdir(folder)
                self.folder = folder
                for file, value in ((name, count), ("cgroup.procs", pid)):
                    with open(os.path.join(folder, file), "w") as opened:
                        opened.write(str(value))
                self.words = f"in a control group of {count >> 20} MiB"
                return
            except OSError:
                self._remove()

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        if self.folder:
            try:
                with open(os.path.join(os.path.dirname(self.folder), "cgroup.procs"), "w") as all_:
                    with open(os.path.join(self.folder, "cgroup.procs")) as mine:
                        for pid in mine.read().split():
                            all_.write(pid)
            except OSError:
                pass
        self._remove()

    def _remove(self):
        try:
            if self.folder:
                os.rmdir(self.folder)
        except OSError:
            pass
        self.folder = None


def _status(pid, name):
    """A line of /proc/PID/status that counts KiB, in bytes; 0 where the process is gone."""
    try:
        with open(f"/proc/{pid}/status") as lines:
            for line in lines:
                if line.startswith(name + ":"):
                    return 1024 * int(line.split()[1])
    except OSError:
        pass
    return 0


def kills(field, quick):
    """41: `kill -9` while an identity file is made: afterwards it is whole, or not there."""
    count, folder = 100 if quick else 1000, field.programs.path("killed")
    os.mkdir(folder)
    began = time.monotonic()
    for number in range(5):
        _earshot("keygen", os.path.join(folder, f"whole{number}")).wait()
    takes = (time.monotonic() - began) / 5
    made = broken = 0
    for number in range(count):
        path = os.path.join(folder, f"killed{number}")
        process = _earshot("keygen", path)
        time.sleep(random.uniform(0, 1.2 * takes))
        process.kill()
        process.wait()
        if os.path.exists(path):
            made += 1
            broken += _earshot("card", path).wait() != 0
    return [
        Row(
            "41",
            f"{count} kills while an identity file is made",
            f"{made} whole files, {count - made} none, {broken} unreadable",
            "some of both, none unreadable",
            broken == 0 and 0 < made < count,
        )
    ]


def _earshot(command, identity):
    """A command about an identity file, which prints to nobody."""
    return subprocess.Popen(
        [f"{BIN}/earshot", command, "--identity", identity, "--json"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
