"""Probes of the real programs: on lines that the kernel shapes, on lines of the emulator, and where they must fail."""

import csv
import signal
import time

from lab import ADDRESS, BIN, PORT, sh
from scenarios import equal, outcome, ready, scenario

SERVER = f"{ADDRESS['r']}:{PORT}"
LINE_PORT = 7500


class Skip(Exception):
    """What this host cannot do: named, and counted apart."""


def result(program, code=0, seconds=15):
    equal(program.wait(seconds), code, f"exit code of {program.label} ({program.describe()})")
    found = [line for line in program.lines() if line.get("type") == "probe"]
    assert found, f"{program.label}: no probe line\n{program.describe()}"
    equal(list(program.lines())[-1]["type"], "summary", "type of the last line")
    return found[-1]


def near(actual, expected, share, what):
    assert abs(actual - expected) <= share * expected, (
        f"  {what}: {actual:.0f}, expected {expected:.0f} ± {share:.0%}"
    )


def shape(lab, host, kind, up, down, queue_ms=200, burst=3000):
    """Limits what `host` sends and receives, in bit/s of Ethernet frames, with TBF or HTB."""
    for namespace, device, rate in [(lab.ns(host), "eth0", up), (lab.ns("s"), f"p{host}", down)]:
        tc = ["tc", "-n", namespace, "qdisc", "add", "dev", device, "root"]
        limit = str(int(rate * queue_ms / 8000) + 3000)
        if kind == "tbf":
            done = sh(
                *tc, "tbf", "rate", f"{rate}bit", "burst", str(burst), "limit", limit, check=False
            )
        else:
            done = sh(*tc, "handle", "1:", "htb", "default", "1", check=False)
            if done.returncode == 0:
                done = sh(
                    "tc",
                    "-n",
                    namespace,
                    "class",
                    "add",
                    "dev",
                    device,
                    "parent",
                    "1:",
                    "classid",
                    "1:1",
                    "htb",
                    "rate",
                    f"{rate}bit",
                    "burst",
                    str(burst),
                    "cburst",
                    str(burst),
                    check=False,
                )
            if done.returncode == 0:
                done = sh(
                    "tc",
                    "-n",
                    namespace,
                    "qdisc",
                    "add",
                    "dev",
                    device,
                    "parent",
                    "1:1",
                    "bfifo",
                    "limit",
                    limit,
                    check=False,
                )
        if done.returncode != 0:
            raise Skip(f"no {kind} here: {done.stderr.strip()}")


def line(lab, *words, host="r", port=LINE_PORT, target=SERVER, seed=1):
    """The emulator between a host and the rendezvous; gives the address to probe."""
    listen = f"{ADDRESS[host]}:{port}"
    program = lab.run(
        host,
        f"{BIN}/LineCommand",
        "--forward",
        f"{listen}={target}",
        "--seed",
        str(seed),
        *words,
        name=f"line{len(lab.programs)}",
    )
    program.wait_line(lambda line: line.get("type") == "listening", 5)
    return listen


def probe(lab, target, *words, host="a", rendezvous=None):
    return lab.peer(host, "probe", target, *words, rendezvous=rendezvous or SERVER)


@scenario
def probe_through_tbf(lab):
    return shaped(lab, "tbf")


@scenario
def probe_through_htb(lab):
    return shaped(lab, "htb")


def shaped(lab, kind):
    shape(lab, "a", kind, 1_000_000, 2_000_000)
    lab.rendezvous()
    found = result(probe(lab, SERVER))
    equal(found["state"], "complete", "state")
    up, down = found["uplink"], found["downlink"]
    # The kernel counts 14 bytes of Ethernet that our rates do not.
    near(up["availableBandwidthBps"], 1_000_000, 0.15, "uplink")
    near(down["availableBandwidthBps"], 2_000_000, 0.15, "downlink")
    assert not up["cappedByTest"] and not down["cappedByTest"], (
        "  a shaped direction was said to be limited by the test"
    )
    return f"up {up['availableBandwidthBps'] / 1e6:.3f} of 1, down {down['availableBandwidthBps'] / 1e6:.3f} of 2 Mbit/s"


@scenario
def probe_of_fast_lines(lab):
    """100 Mbit/s expected, by TBF and by HTB: what the kernel is told to carry is what is found."""
    told = []
    for number, (kind, up, down) in enumerate(
        [("tbf", 50_000_000, 10_000_000), ("htb", 20_000_000, 90_000_000)]
    ):
        sh("tc", "-n", lab.ns("a"), "qdisc", "del", "dev", "eth0", "root", check=False)
        sh("tc", "-n", lab.ns("s"), "qdisc", "del", "dev", "pa", "root", check=False)
        shape(lab, "a", kind, up, down, queue_ms=100, burst=12_000)
        port = PORT + number
        lab.rendezvous(data=f"data{number}", port=port)
        server = f"{ADDRESS['r']}:{port}"
        words = ["--expected-uplink", "100M", "--expected-downlink", "100M"]
        found = result(probe(lab, server, *words, rendezvous=server))
        equal(found["state"], "complete", "state")
        for side, rate in [("uplink", up), ("downlink", down)]:
            # The kernel counts 14 bytes of Ethernet that our rates do not.
            truth = rate * 1228 / 1242
            if found[side]["heldByHost"]:
                told.append(f"{side}: this host was too slow at {found[side]['sentShare']:.2f}")
                continue
            near(found[side]["availableBandwidthBps"], truth, 0.1, f"{kind} {side}")
            low, high = found[side]["bandwidthInterval95Bps"]
            told.append(
                f"{found[side]['availableBandwidthBps'] / 1e6:.2f} of {truth / 1e6:.2f} ({low / 1e6:.2f} to {high / 1e6:.2f})"
            )
        assert found["cost"]["bytesSent"] <= 26_250_000, found["cost"]
    return "; ".join(told)


@scenario
def probe_marks_its_packets_and_tells_each(lab):
    lab.rendezvous()
    table = ["ip", "netns", "exec", lab.ns("r"), "iptables", "-t", "mangle"]
    sh(*table, "-A", "INPUT", "-p", "udp", "-m", "dscp", "--dscp-class", "EF", check=False)
    journal = lab.path("packets.csv")
    words = ["--dscp", "EF", "--packets", journal, "--both-at-once", "--duration", "4"]
    found = result(probe(lab, SERVER, *words))
    equal(found["plan"]["loading"], "atOnce", "loading")
    with open(journal, newline="") as file:
        rows = list(csv.DictReader(file))
    for side in ["uplink", "downlink"]:
        own = [row for row in rows if row["direction"] == side]
        equal(len(own), found[side]["packetsSent"], f"lines of the {side}")
        came = [row for row in own if row["arrived_us"]]
        equal(len(came), found[side]["packetsReceived"], f"arrivals of the {side}")
        assert all(int(row["arrived_us"]) >= int(row["sent_us"]) - 100 for row in came), side
        assert {row["part"] for row in own} >= {"idle", "ramp", "steady", "loaded"}, side
    assert all(row["ecn"] == "ECT(0)" for row in rows if row["direction"] == "downlink")
    listed = sh(*table, "-L", "INPUT", "-v", "-x", "-n", check=False).stdout
    count = next(
        (int(line.split()[0]) for line in listed.splitlines() if "dscp" in line.lower()), None
    )
    if count is not None:
        assert count >= found["uplink"]["packetsSent"], f"  {count} marked packets came: {listed}"
    return f"{len(rows)} packets, {count if count is not None else 'none looked for'} with EF"


@scenario
def probe_of_an_open_line_is_limited_by_the_test(lab):
    lab.rendezvous()
    began = time.monotonic()
    found = result(probe(lab, SERVER, "--report", lab.path("line.html"), "--require", "hd"))
    elapsed = time.monotonic() - began
    assert elapsed <= 8.5, f"  took {elapsed:.1f} s"
    for side in ["uplink", "downlink"]:
        assert found[side]["cappedByTest"], f"  {side}: {found[side]}"
        near(found[side]["availableBandwidthBps"], 2_500_000, 0.05, side)
        equal(found[side]["packetLossRate"], 0, f"loss of the {side}")
    with open(lab.path("line.html")) as page:
        equal(page.read().count("<svg"), 4, "plots on the page")
    grades = [line for line in lab.programs[-1].lines() if line.get("name") == "probeFirstGrade"]
    equal(len(grades), 1, "first grades")
    return f"{elapsed:.1f} s, sent {found['cost']['bytesSent'] // 1000} kB"


@scenario
def probe_beside_a_download(lab):
    if sh("which", "iperf3", check=False).returncode != 0:
        raise Skip("no iperf3 here (tools/setup --measure)")
    shape(lab, "a", "tbf", 2_000_000, 2_000_000, queue_ms=400)
    lab.rendezvous()
    alone = result(probe(lab, SERVER))
    lab.run("r", "iperf3", "-s", "-1")
    time.sleep(0.3)
    download = lab.run("a", "iperf3", "-c", ADDRESS["r"], "-R", "-t", "25")
    time.sleep(3)
    beside = result(probe(lab, SERVER))
    download.kill()
    rtt = [found["rttMs"]["p50"] for found in (alone, beside)]
    rate = [found["downlink"].get("availableBandwidthBps", 0) / 1e6 for found in (alone, beside)]
    assert rtt[1] > rtt[0] + 50, (
        f"  round trip {rtt[0]:.0f} ms alone, {rtt[1]:.0f} ms beside a download"
    )
    assert rate[1] < 0.85 * rate[0], (
        f"  downlink {rate[0]:.2f} Mbit/s alone, {rate[1]:.2f} beside a download"
    )
    assert beside["downlink"]["shared"] and "somebody else" in beside["sentence"], (
        f"  {beside['sentence']}"
    )
    assert not alone["downlink"]["shared"], f"  alone: {alone['sentence']}"
    return f"rtt {rtt[0]:.0f} → {rtt[1]:.0f} ms, downlink {rate[0]:.2f} → {rate[1]:.2f} Mbit/s: {beside['sentence']}"


@scenario
def probe_sees_loss_on_the_uplink_only(lab):
    lab.rendezvous()
    address = line(lab, "--both", "delay=20ms", "--up", "loss=20%")
    found = result(probe(lab, address, rendezvous=address))
    up, down = found["uplink"]["packetLossRate"], found["downlink"]["packetLossRate"]
    assert 0.15 <= up <= 0.25 and down <= 0.02, f"  loss up {up:.3f}, down {down:.3f}"
    low, high = found["uplink"]["lossInterval95"]
    return f"up {up:.1%} ({low:.1%} to {high:.1%}), down {down:.1%}, quality {found['quality']}"


@scenario
def probe_through_the_emulator(lab):
    lab.rendezvous()
    address = line(lab, "--both", "delay=30ms,queue=300ms", "--up", "rate=1M", "--down", "rate=2M")
    found = result(probe(lab, address, "--require", "voice", rendezvous=address))
    near(found["uplink"]["availableBandwidthBps"], 1_000_000, 0.1, "uplink")
    near(found["downlink"]["availableBandwidthBps"], 2_000_000, 0.1, "downlink")
    assert 60 <= found["rttMs"]["min"] <= 61.6, f"  rtt {found['rttMs']}"
    required = probe(lab, address, "--require", "hd", rendezvous=address)
    result(required, 6)
    return found["sentence"]


@scenario
def probe_of_a_silent_rendezvous(lab):
    lab.rendezvous()
    address = line(lab, "--both", "loss=100%")
    began = time.monotonic()
    found = result(probe(lab, address, rendezvous=address), 3)
    elapsed = time.monotonic() - began
    equal(found["state"], "unavailable", "state")
    assert elapsed <= 9, f"  took {elapsed:.1f} s"
    assert "uplink" not in found and "rttMs" not in found, f"  {found}"
    return f"{elapsed:.1f} s"


@scenario
def probe_of_something_else(lab):
    other = lab.run(
        "r",
        "python3",
        "-c",
        "import socket\ns = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
        f"s.bind(('{ADDRESS['r']}', {PORT}))\n"
        "while True: data, who = s.recvfrom(2000); s.sendto(b'no' + data[:20], who)",
    )
    time.sleep(0.3)
    program = probe(lab, SERVER)
    found = result(program, 3)
    equal(found["state"], "unavailable", "state")
    assert SERVER in program.stderr(), program.stderr()
    other.kill()
    return program.stderr().strip().splitlines()[0]


@scenario
def probe_interrupted(lab):
    lab.rendezvous()
    program = probe(lab, SERVER)
    program.wait_event("probeFirstGrade", 4)
    time.sleep(1)
    began = time.monotonic()
    program.signal(signal.SIGINT)
    found = result(program, 0)
    assert time.monotonic() - began < 1, "  did not end at once"
    equal(found["ending"], "cancelled", "ending")
    assert "interrupted" in found["sentence"], found["sentence"]
    assert found["rttMs"]["p50"] > 0
    equal(program.summary()["outcome"], "cancelled", "outcome")


@scenario
def probe_with_a_rate_out_of_range(lab):
    for words in (
        ["--expected-uplink", "99999"],
        ["--expected-downlink", "100000001"],
        ["--duration", "31"],
    ):
        program = probe(lab, SERVER, *words)
        equal(program.wait(3), 2, f"exit code ({program.describe()})")
        assert words[0] in program.stderr(), program.stderr()


@scenario
def probe_of_a_peer_then_a_call(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    found = result(lab.peer("a", "probe", "bob", identity="alice"))
    equal(found["state"], "complete", "state")
    alice = lab.peer("a", "call", "bob", "--duration", "4", identity="alice")
    summary = outcome(alice, "completed", 0, 20)
    outcome(bob, "completed", 0, 5)
    predicted = summary["predicted"]
    assert predicted["ageSeconds"] < 60 and predicted["quality"] == found["quality"], predicted
    return f"MOS {predicted['mos']:.2f} predicted, {summary['audio']['received']['mos']} heard"


@scenario
def probe_of_a_name_that_nobody_has(lab):
    lab.rendezvous()
    found = result(lab.peer("a", "probe", "nobody", identity="alice"), 3, 6)
    equal((found["state"], found["ending"]), ("unavailable", "unknownPeer"), "state")
    return found["sentence"]


@scenario
def probe_tells_ecn_and_clocks(lab):
    lab.rendezvous()
    found = result(probe(lab, SERVER))
    for way in ("uplink", "downlink"):
        equal(found[way]["ecn"], "survived", f"ECN of the {way}")
    clock = found["clock"]
    equal(clock["arrivalStamps"], "kernel", "who stamps")
    # Both programs have one clock.
    assert abs(clock["driftPpm"]) <= clock["driftUncertaintyPpm"] < 30, clock
    equal(found["path"]["mapping"], "no translation", "mapping")
    return f"drift {clock['driftPpm']} ± {clock['driftUncertaintyPpm']} ppm"


@scenario
def probe_of_a_peer_in_a_call(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--duration", "6", name="alice")
    alice.wait_event("connected")
    found = result(lab.peer("r", "probe", "bob", identity="carol"), 4)
    equal(found["state"], "unavailable", "state")
    summary = outcome(alice, "completed", 0, 15)
    outcome(bob, "completed", 0, 5)
    equal(summary["audio"]["received"]["lost"], 0, "packets lost in the call")
    return found["sentence"]


@scenario
def probe_twice_at_once(lab):
    lab.rendezvous()
    ready(lab, "--accept")
    first = lab.peer("a", "probe", "bob", identity="alice")
    first.wait_event("probePhase", 5)
    time.sleep(1)
    second = result(lab.peer("r", "probe", "bob", identity="carol"), 4)
    equal(second["ending"], "busy", "ending")
    equal(result(first)["state"], "complete", "state of the first")


@scenario
def probe_watches(lab):
    lab.rendezvous()
    program = probe(lab, SERVER, "--watch")
    end = time.monotonic() + 20
    while (
        len([line for line in program.lines() if line.get("type") == "probe"]) < 3
        and time.monotonic() < end
    ):
        time.sleep(0.05)
    program.signal(signal.SIGINT)
    found = result(program, 0)
    lines = [line for line in program.lines() if line.get("type") == "probe"]
    assert len(lines) >= 3 and all(line["quality"] == 1 for line in lines), lines
    assert "availableBandwidthBps" not in found["uplink"], found
    equal(program.summary()["series"]["answered"], len(lines), "probes in the summary")
    return f"{len(lines)} grades, {lines[0]['cost']['bytesSent']} bytes each"


@scenario
def probe_again_and_again(lab):
    """The second of five probes finds nobody; the last ones find the server that is back."""
    server = lab.rendezvous()
    table, page = lab.path("day.csv"), lab.path("day.html")
    words = ["--every", "5s", "--for", "21s", "--duration", "4", "--csv", table, "--report", page]
    program = probe(lab, SERVER, *words)
    program.wait_line(lambda line: line.get("type") == "probe", 8)
    server.signal(signal.SIGKILL)
    server.wait(2)
    time.sleep(5)
    lab.rendezvous()
    equal(program.wait(30), 0, "exit code")
    states = [line["state"] for line in program.lines() if line.get("type") == "probe"]
    equal(len(states), 5, f"probes ({states})")
    equal(states[0], "complete", "first")
    equal(states[1], "unavailable", "second")
    equal(states[4], "complete", "last")
    with open(table, newline="") as file:
        rows = list(csv.DictReader(file))
    equal([row["state"] for row in rows], states, "states in the table")
    assert float(rows[0]["rtt_ms"]) > 0 and rows[0]["uplink_bps"], rows
    with open(page) as file:
        assert "5 probes in 0:2" in file.read(), "the page is not about all probes"
    return ", ".join(states)
