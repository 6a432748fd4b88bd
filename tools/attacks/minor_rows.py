"""The minor findings (L1 to L10) that live programs show, the many /64s of one /56 (H7), and what
a Redis of somebody else says (H4).

L3 is `tools/interop/run` "erases keys"; L7, L9 and L11 are judged in decision 0048.
"""

import json
import os
import socket
import subprocess
import sys
import time
import urllib.request

from crowd import Crowd, Flood, Member, addresses, enrol, in_background, write_packets
from earshot_client import Client, forward_body
from earshot_loop import Loop
from earshot_session import Initiation
from earshot_wire import Identity
from field import Row, share, worst
from programs import BIN, Programs, free_port
from server_rows import GRANTED, _junk_init
from word_rows import raw_controls

CALM = 10  # s after the last INIT of a flood
LARGE_LINE = 60_000_000  # bytes of one line that inspect is given
INSPECT_MIB, INSPECT_SECONDS = 200, 3
REFUSALS_A_SECOND = 10
DELAYS = (0, 0.01, 0.05, 0.1)
HOST_SESSIONS, SITE_SESSIONS = 256, 1024  # of a /64 and of a /56 (ServerLimits)


def load_metric(field, quick):
    """L1: what the metrics say of the load while INITs need cookies, and after it."""
    card, path = field.card(), field.programs.path("right")
    inits = [Initiation(Identity(), card).packet for _ in range(64)]
    write_packets(path, [(_junk_init(packet, card), None) for packet in inits])
    calm = _metric(field, "under_load")
    flood = Flood(field.server, path, 20000, 6, "127.30.0.1", 2000)
    field.loop.run(3)
    loaded = _metric(field, "under_load")
    flood.end()
    field.loop.run(CALM)
    after = _metric(field, "under_load")
    return [
        Row(
            "L1",
            f"the metric under_load before, under 20000 INITs/s, and {CALM} s after",
            f"{calm:g}, {loaded:g}, {after:g}",
            "0, 1, 0",
            (calm, loaded, after) == (0, 1, 0),
        )
    ]


def _metric(field, name):
    """A number of the rendezvous' metrics."""
    with urllib.request.urlopen(
        f"http://127.0.0.1:{field.metrics_port}/metrics", timeout=5
    ) as answer:
        lines = answer.read().decode().splitlines()
    return next(float(x.split()[-1]) for x in lines if x.split("{")[0].split()[0].endswith(name))


def file_modes(field, quick):
    """L2: who may read what a call writes."""
    field.programs.answering("bob", "--accept", "--video", "test", bind=field.source())
    written = {
        "--save": "heard.wav",
        "--save-video": "seen.ivf",
        "--capture": "arrivals",
        "--pcap": "media.pcapng",
        "--report": "page.html",
        "--events": "events.jsonl",
    }
    words = []
    for option, name in written.items():
        words += [option, field.programs.path(name)]
    before = os.umask(0)
    try:
        code, _ = field.call("bob", "--video", "test", "--duration", "2", *words, identity="al")
    finally:
        os.umask(before)
    modes = {
        name: oct(os.stat(field.programs.path(name)).st_mode & 0o777)
        for name in written.values()
        if os.path.exists(field.programs.path(name))
    }
    return [
        Row(
            "L2",
            f"modes of {len(modes)} files of a call, umask 0",
            f"{', '.join(sorted(set(modes.values())))}; exit {code}",
            "0o600 each, 6 files",
            len(modes) == len(written) and set(modes.values()) == {"0o600"},
        )
    ]


def words_of_redis(field, quick):
    """H4: a Redis that answers with orders to a terminal."""
    process = field.background(in_background(_speak, port := _tcp_port()))
    secret = field.programs.path("secret")
    with open(secret, "w", encoding="ascii") as file:
        file.write("abcdefghijklmnopqrstuvwxyz\n")
    os.chmod(secret, 0o600)
    field.loop.run(0.5)
    words = [f"{BIN}/earshot-rendezvous", "--listen", f"127.0.0.1:{free_port()}"]
    words += ["--data", field.programs.path("node"), "--redis", f"redis://127.0.0.1:{port}"]
    program = field.programs.start("node", [*words, "--cluster-secret", secret])
    field.wait(lambda: program.exit_code is not None, 5)
    code = program.end()
    said = program.raw() + program.errors()
    controls = raw_controls(said, is_console=True)
    process.terminate()
    return [
        Row(
            "H4",
            "a Redis that answers with ESC, OSC 52, U+009B and U+202E",
            f"exit {code}, {len(said)} bytes said, {len(controls)} control characters",
            "some words, no control characters",
            not controls and b"Redis" in said,
        )
    ]


def _tcp_port():
    """A TCP port that nobody has."""
    with socket.create_server(("127.0.0.1", 0)) as tcp:
        return tcp.getsockname()[1]


def _speak(port):
    """Answers each command of each client with the same words."""
    words = "-ERR \x1b]52;c;ZXZpbA==\x07 \u009b31m evil \u202e gnp\r\n".encode()
    with socket.create_server(("127.0.0.1", port)) as server:
        while True:
            client, _ = server.accept()
            with client:
                while client.recv(65536):
                    client.sendall(words)


def long_line(field, quick):
    """L5: inspect of one line without an end."""
    path = field.programs.path("long.jsonl")
    with open(path, "w", encoding="ascii") as file:
        file.write('{"type":"event","name":"' + "a" * LARGE_LINE + '"}\n')
    began = time.monotonic()
    process = subprocess.Popen(
        [f"{BIN}/earshot", "inspect", path], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    _, status, used = os.wait4(process.pid, 0)
    took, mib = time.monotonic() - began, used.ru_maxrss / 1024
    code = os.waitstatus_to_exitcode(status)
    return [
        Row(
            "L5",
            f"inspect of a line of {LARGE_LINE // 1_000_000} MB",
            f"exit {code}, {mib:.0f} MiB, {took:.1f} s",
            f"ends by itself, ≤ {INSPECT_MIB} MiB, ≤ {INSPECT_SECONDS} s",
            code >= 0 and mib <= INSPECT_MIB and took <= INSPECT_SECONDS,
        )
    ]


def killed_server(field, quick):
    """L6: the rendezvous is killed right after it has granted a name."""
    rounds = 4 if quick else 15
    kept = asked = 0
    for number in range(rounds):
        client = Client(field.loop, field.server, name=f"n{number}", bind=(field.source(), 0))
        if not client.register():
            continue
        asked += 1
        field.loop.run(DELAYS[number % len(DELAYS)])
        port = field.server[1]
        field.programs.rendezvous.process.kill()
        field.programs.rendezvous.process.wait()
        field.loop.close(client, client.socket)
        field.programs.start_rendezvous(port=port)
        thief = Member(field.card(), f"127.9.{number}.1", f"n{number}")
        done = enrol(field.crowd(), [thief], 1)
        kept += bool(done) and thief.said.status != GRANTED
    return [
        Row(
            "L6",
            f"SIGKILL of the rendezvous 0 to 0.1 s after a name was granted, {asked} times",
            f"{kept} names kept for their owners",
            "all",
            kept == asked == rounds,
        )
    ]


def paced_inits(field, quick):
    """L8: INITs that open, with others' addresses and below the pace that needs cookies."""
    rows = []
    for rate in (400, 550, 700):
        process = field.background(in_background(_unasked, field.server, field.card(), rate, 20))
        field.loop.run(8)
        times = field.registrations(18, 4.5, 0.4)
        process.terminate()
        process.join(5)
        field.loop.run(2)
        rows.append(
            Row(
                "L8",
                f"{rate} INITs/s of 2000 addresses, evenly spaced, no cookie is taken",
                f"{share(times)[0]} registrations within 4.5 s, worst {worst(times)}",
                "≥ 95 %",
                share(times)[1] >= 0.95,
            )
        )
    return rows


def _unasked(server, card, rate, seconds):
    """Sends INITs of 2000 addresses at a steady pace, and reads no answer."""
    crowd, sources = Crowd(server), addresses(60, 2000)
    pool, began, sent = [], time.monotonic(), 0
    while (now := time.monotonic() - began) < seconds:
        if len(pool) < 4000:
            pool.append(Initiation(Identity(), card))
        if sent < now * rate:
            crowd.send(pool[sent % len(pool)].packet, sources[sent % len(sources)])
            sent += 1
        else:
            time.sleep(0.0005)


def refused_forwards(field, quick):
    """L10: bodies beyond the limits, and the lines that they make in the file of events."""
    client = field.honest("talker")
    other, seconds = field.honest("listener"), 6
    end, sent = time.monotonic() + seconds, 0
    while time.monotonic() < end:
        client._request(forward_body(os.urandom(16), other.identity.id, bytes(64)))
        sent += 1
        field.loop.run(0.005)
    field.loop.run(1)
    with open(field.events_path, encoding="utf-8") as file:
        lines = [line for line in file if '"forwardRefused"' in line]
    most = (seconds + 2) * REFUSALS_A_SECOND  # a second's worth may come at once
    return [
        Row(
            "L10",
            f"{sent} FORWARDs of one client within {seconds} s",
            f"{len(lines)} lines of refusals in its events",
            f"some, ≤ {REFUSALS_A_SECOND} a second",
            0 < len(lines) <= most and sent > 2 * most,
        )
    ]


# MARK: one /56, in a network namespace of its own


def one_site(field, quick):
    """H7: 40 /64s of one /56 ask for sessions; somebody else registers meanwhile."""
    done = subprocess.run(
        ["unshare", "--net", sys.executable, "-u", os.path.abspath(__file__)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    try:
        said = json.loads(done.stdout.splitlines()[-1])
    except (IndexError, ValueError):
        raise RuntimeError(f"the namespace: {done.stderr[-500:]}") from None
    one, site, times = said["one"], said["site"], said["times"]
    return [
        Row(
            "H7",
            f"40 /64s of one /56 ask for {said['asked']} sessions within 8 s",
            f"{site} granted, one /64 alone {one}; {share(times)[0]} registrations of others, "
            f"worst {worst(times)}",
            f"≤ {SITE_SESSIONS}, of one ≤ {HOST_SESSIONS}, all registrations",
            HOST_SESSIONS < site <= SITE_SESSIONS
            and 0 < one <= HOST_SESSIONS
            and share(times)[1] == 1,
        )
    ]


class _SiteCrowd:
    """A socket for each IPv6 address of ours; the same calls as Crowd."""

    def __init__(self, server, sources):
        self.server, self.sockets = server, {}
        for source in sources:
            udp = socket.socket(socket.AF_INET6, socket.SOCK_DGRAM)
            udp.bind((source, 0))
            udp.setblocking(False)
            self.sockets[source] = udp

    def send(self, packet, source):
        address = source[0] if isinstance(source, tuple) else source
        try:
            self.sockets[address].sendto(packet, self.server)
        except OSError:
            pass  # as if it were lost

    def received(self, most=100):
        found = []
        for address, udp in self.sockets.items():
            for _ in range(most):
                try:
                    packet, _ = udp.recvfrom(2048)
                except BlockingIOError:
                    break
                found.append((packet, (address, 0)))
        return found


def _namespace():
    """Runs within `unshare --net`: prints one line of JSON."""
    site = [f"fd77:0:0:1{n:02x}::1" for n in range(40)]
    alone = "fd88:0:1:100::1"
    others = [f"fd99:0:{n + 1:x}:1::1" for n in range(20)]
    subprocess.run(["ip", "link", "set", "lo", "up"], check=True)
    for address in ["fd66::1", alone, *site, *others]:
        subprocess.run(["ip", "addr", "add", f"{address}/128", "dev", "lo", "nodad"], check=True)
    loop = Loop()
    with Programs(loop=loop, serve=False) as programs:
        port = free_port()
        program = programs.start(
            "rendezvous",
            [
                f"{BIN}/earshot-rendezvous",
                "--listen",
                f"[fd66::1]:{port}",
                "--data",
                programs.path("data"),
                "--json",
            ],
        )
        if not programs.wait(lambda: program.lines(), 10):
            raise RuntimeError(program.errors().decode())
        server = ("fd66::1", port)
        asking = Client(loop, server, bind=(others[0], 0))
        loop.run(8, lambda: asking.card)
        card = asking.card
        asked = 1600
        one = _granted(server, card, [alone], asked)
        members = in_background(_count, server, card, site, asked, programs.path("count"))
        times = []
        for source in others[1:]:
            began = time.monotonic()
            client = Client(loop, server, bind=(source, 0), server_card=card)
            times.append(time.monotonic() - began if client.register(5) else None)
            loop.run(0.3)
        members.join(30)
        with open(programs.path("count"), encoding="ascii") as file:
            found = int(file.read())
    print(json.dumps({"one": one, "site": found, "asked": asked, "times": times}))


def _granted(server, card, sources, count):
    """How many sessions come to be when so many are asked for at 200 a second."""
    crowd = _SiteCrowd(server, sources)
    members = [Member(card, sources[n % len(sources)]) for n in range(count)]
    done = enrol(crowd, members, 200)
    return sum(member.said.status in (0, GRANTED) for member in done)


def _count(server, card, sources, count, path):
    with open(path, "w", encoding="ascii") as file:
        file.write(str(_granted(server, card, sources, count)))


if __name__ == "__main__":
    _namespace()
