"""What programs say is in the way: `earshot doctor`, calls without a path, servers that are not there."""

import json
import time

from addresses import SECOND, with_second_addresses
from lab import ADDRESS, BIN, PORT, sh
from relays import BY_SECRET, SKIPPED, TURN, USER, by, has_server, secret_file, turn_server
from scenarios import equal, outcome, ready, scenario

SERVER = f"{ADDRESS['r']}:{PORT}"


def examine(lab, *servers, code=0, seconds=30, options=()):
    """The JSON object of a doctor on host a."""
    words = [word for server in servers for word in ("--rendezvous", server)] + list(options)
    program = lab.run(
        "a", f"{BIN}/earshot", "doctor", *words, "--json", "--identity", lab.path("identity-a")
    )
    equal(program.wait(seconds), code, f"exit code ({program.describe()})")
    found = list(program.lines())
    equal([line["type"] for line in found], ["doctor"], "lines")
    return found[0]


def verdict(found, subject):
    told = [finding for finding in found["findings"] if finding["subject"] == subject]
    assert told, f"  nothing is said of {subject}: {found}"
    for finding in told:
        assert (finding["verdict"] == "good") == ("remedy" not in finding), f"  {finding}"
    return told[0]["verdict"]


def translate(lab, *words):
    """A translator in front of host a: in its own namespace, which packets leave last."""
    done = sh(
        "ip",
        "netns",
        "exec",
        lab.ns("a"),
        "iptables",
        "-w",
        "-t",
        "nat",
        "-A",
        "POSTROUTING",
        "-o",
        "eth0",
        "-p",
        "udp",
        "-j",
        "SNAT",
        "--to-source",
        *words,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def second_server(lab):
    with_second_addresses(lab, family=(4,))
    program = lab.run(
        "r",
        f"{BIN}/earshot-rendezvous",
        "--listen",
        f"0.0.0.0:{PORT}",
        "--data",
        lab.path("data"),
        "--json",
        name="rendezvous",
    )
    program.wait_line(lambda line: line.get("type") == "listening", 5)
    return f"{SECOND['r']}:{PORT}"


@scenario
def doctor_of_a_host_alone(lab):
    found = examine(lab)
    equal([entry["address"] for entry in found["host"]["interfaces"]], [ADDRESS["a"]], "addresses")
    equal(verdict(found, "rendezvous"), "unknown", "what was not asked")
    assert "rendezvous" not in found and "translators" not in found, f"  {found}"
    sh("ip", "-n", lab.ns("a"), "addr", "flush", "dev", "eth0")
    equal(verdict(examine(lab, code=3), "addresses"), "bad", "a host without an address")
    return found["sentence"]


@scenario
def doctor_on_an_open_line(lab):
    lab.rendezvous()
    began = time.monotonic()
    found = examine(lab, SERVER)
    elapsed = time.monotonic() - began
    told = found["rendezvous"][0]
    equal(told["seenAs"], told["local"], "address that the rendezvous sees")
    equal([entry["translated"] for entry in found["translators"]], [False], "translators")
    assert abs(told["clockOffsetMs"]) < 50 and told["rttMs"] < 50, f"  {told}"
    equal((told["uplinkEcn"], told["downlinkEcn"]), ("survived", "survived"), "ECN")
    for subject in ["rendezvous", "translator", "filtering", "packetSize", "clock", "ecn"]:
        equal(verdict(found, subject), "good", subject)
    line = told["line"]
    equal(
        line["filtering"],
        "endpoint-independent filtering, or address-dependent",
        "what one address can tell",
    )
    equal(
        (line["largestUplinkPacket"], line["largestDownlinkPacket"]),
        (1228, 1228),
        "longest packets",
    )
    assert "hairpins" not in line and "lifetimeAtLeastS" not in line, f"  {line}"
    equal(verdict(found, "relay"), "unknown", "a relay that nobody names")
    assert elapsed < 10, f"  took {elapsed:.1f} s"
    return f"{elapsed:.1f} s: {found['sentence']}"


@scenario
def doctor_beside_a_waiting_answer(lab):
    lab.rendezvous()
    answer = lab.peer("a", "answer", "--accept", "--calls", "1", identity="a", name="alice")
    answer.wait_event("registered")
    examine(lab, SERVER)
    call = lab.peer("b", "call", "alice", "--duration", "1", identity="b")
    equal(call.wait(20), 0, f"exit code of a call after it ({call.describe()})")


@scenario
def doctor_behind_a_translator_that_maps_alike(lab):
    second = second_server(lab)
    sh("ip", "-n", lab.ns("a"), "addr", "add", "10.77.0.99/32", "dev", "lo")
    translate(lab, "10.77.0.99")
    equal(verdict(examine(lab, SERVER), "translator"), "unknown", "what one address can tell")
    found = examine(lab, SERVER, second)
    equal(len(found["rendezvous"]), 2, "addresses asked")
    equal(verdict(found, "translator"), "good", "what two addresses tell")
    facts = found["translators"][0]
    equal(
        (facts["seenAs"].split(":")[0], facts["portPreserved"]), ("10.77.0.99", True), "translator"
    )
    return facts["mapping"]


@scenario
def doctor_behind_a_translator_that_maps_each_destination_anew(lab):
    second = second_server(lab)
    translate(lab, f"{ADDRESS['a']}:20000-60000", "--random-fully")
    alone = examine(lab, SERVER)
    equal(verdict(alone, "translator"), "unknown", "what one address can tell")
    assert "second --rendezvous" in json.dumps(alone["findings"]), "  the remedy is not said"
    found = examine(lab, SERVER, second)
    equal(verdict(found, "translator"), "bad", "what two addresses tell")
    equal(found["translators"][0]["portPreserved"], False, "port preserved")
    equal(
        found["rendezvous"][0]["line"]["filtering"],
        "address and port-dependent filtering",
        "filtering",
    )
    equal(verdict(found, "filtering"), "weak", "filtering")
    return found["translators"][0]["mapping"]


@scenario
def doctor_where_udp_is_dropped(lab):
    lab.rendezvous()
    sh(
        "ip",
        "netns",
        "exec",
        lab.ns("a"),
        "iptables",
        "-w",
        "-A",
        "OUTPUT",
        "-p",
        "udp",
        "-j",
        "DROP",
    )
    found = examine(lab, SERVER, code=3)
    equal(verdict(found, "rendezvous"), "bad", "rendezvous")
    equal(found["rendezvous"][0]["answered"], False, "answered")
    assert "firewall" in json.dumps(found["findings"]), "  the remedy names no firewall"


@scenario
def doctor_of_a_line_that_loses_long_packets_on_the_way_in(lab):
    lab.rendezvous()
    sh(
        "ip",
        "netns",
        "exec",
        lab.ns("a"),
        "iptables",
        "-w",
        "-A",
        "INPUT",
        "-p",
        "udp",
        "-m",
        "length",
        "--length",
        "901:65535",
        "-j",
        "DROP",
    )
    found = examine(lab, SERVER, seconds=60)
    line = found["rendezvous"][0]["line"]
    equal(line["largestUplinkPacket"], 1228, "longest packet out")
    assert 892 < line["largestDownlinkPacket"] <= 900, f"  {line}"
    equal(verdict(found, "packetSize"), "weak", "packet size")
    return f"{line['largestDownlinkPacket']} bytes"


def tried(lab, *options, servers=(SERVER,), code=0):
    """What a doctor says of relays: (relayed, error, round trip) of each, and the first verdict."""
    found = examine(lab, *servers, options=options, code=code)
    return (
        [
            (entry.get("relayed"), entry.get("error"), entry.get("rttMs"))
            for entry in found["relays"]
        ],
        verdict(found, "relay"),
        found,
    )


@scenario
def doctor_tries_relays(lab):
    if not has_server():
        return SKIPPED
    turn_server(lab, streams=True)
    lab.rendezvous()
    ways = {"udp": TURN, "tcp": by(lab, "tcp"), "tls": by(lab, "tls")}
    trips = []
    for way, options in ways.items():
        (entry,), said, _ = tried(lab, *options)
        assert entry[0] and not entry[1] and entry[2] < 50, f"  {way}: {entry}"
        equal(said, "good", way)
        trips.append(f"{way} {entry[2]:.1f} ms")
    (entry,), said, found = tried(lab, *TURN[:2], "--turn-user", USER, "--turn-password", "wrong")
    equal((entry[0], entry[1], said), (None, "relayUnavailable", "bad"), "wrong password")
    assert "credentials" in json.dumps(found["relays"]), f"  {found['relays']}"
    both, said, _ = tried(lab, *TURN[:2], "--turn", f"turn:{ADDRESS['r']}:9999", *TURN[2:])
    equal(
        [bool(entry[0]) for entry in both], [True, False], "one that is there and one that is not"
    )
    return ", ".join(trips)


@scenario
def doctor_tries_the_relays_that_the_rendezvous_names(lab):
    if not has_server():
        return SKIPPED
    turn_server(lab, *BY_SECRET)
    lab.rendezvous(options=("--turn", TURN[1], "--turn-secret", secret_file(lab)))
    (entry,), said, found = tried(lab)
    assert entry[0] and found["relays"][0]["namedByRendezvous"], f"  {found['relays']}"
    equal(said, "good", "relay")


@scenario
def doctor_of_a_line_that_clears_ecn(lab):
    lab.rendezvous()
    done = sh(
        "ip",
        "netns",
        "exec",
        lab.ns("r"),
        "iptables",
        "-w",
        "-t",
        "mangle",
        "-A",
        "PREROUTING",
        "-p",
        "udp",
        "-j",
        "TOS",
        "--set-tos",
        "0x00/0x03",
        check=False,
    )
    if done.returncode != 0:
        return f"skipped: no TOS target here: {done.stderr.strip().splitlines()[0]}"
    found = examine(lab, SERVER)
    equal(found["rendezvous"][0]["uplinkEcn"], "bleached", "uplink")
    equal(found["rendezvous"][0]["downlinkEcn"], "survived", "downlink")
    equal(verdict(found, "ecn"), "weak", "ECN")


@scenario
def call_without_a_path_says_what_was_tried(lab):
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    for chain, way in [("OUTPUT", "-d"), ("INPUT", "-s")]:
        sh(
            "ip",
            "netns",
            "exec",
            lab.ns("a"),
            "iptables",
            "-w",
            "-A",
            chain,
            "-p",
            "udp",
            way,
            ADDRESS["b"],
            "-j",
            "DROP",
        )
    page = lab.path("no-path.html")
    alice = lab.peer("a", "call", "bob", "--duration", "2", "--report", page, name="alice")
    for summary, mine, other in [
        (outcome(alice, "unreachable", 3, seconds=20), "a", "b"),
        (outcome(bob, "unreachable", 3, seconds=20), "b", "a"),
    ]:
        attempt = summary["pathAttempt"]
        equal(attempt["cause"], "filtered", "cause")
        equal(
            [entry["address"].split(":")[0] for entry in attempt["own"]],
            [ADDRESS[mine]],
            "own addresses",
        )
        checks = attempt["checks"]
        equal(
            [entry["address"].split(":")[0] for entry in checks],
            [ADDRESS[other]],
            "addresses asked",
        )
        assert checks[0]["asked"] > 3 and not checks[0]["answered"], f"  {checks}"
        assert attempt["sentence"] and attempt["remedy"], f"  {attempt}"
    said = alice.stderr()
    assert "waiting for a path to bob" in said, f"  nothing is said of the wait: {said}"
    with open(page) as file:
        assert "no answer" in file.read(), "  the page does not say what became of the checks"
    return f"asked {checks[0]['asked']} times: {attempt['sentence']}"


@scenario
def a_line_that_loses_long_packets_says_so(lab):
    lab.rendezvous()
    sh(
        "ip",
        "netns",
        "exec",
        lab.ns("r"),
        "iptables",
        "-w",
        "-A",
        "INPUT",
        "-p",
        "udp",
        "-m",
        "length",
        "--length",
        "1101:65535",
        "-j",
        "DROP",
    )
    program = lab.peer("a", "call", "bob")
    equal(program.wait(15), 3, "exit code")
    said = program.stderr()
    sentence = "answers short packets, but none of 1228 bytes"
    assert sentence in said and "1280" in said, said
    told = examine(lab, SERVER, code=3)
    assert sentence in json.dumps(told["findings"]), f"  doctor does not say it: {told['findings']}"


@scenario
def nothing_listens_where_the_rendezvous_should_be(lab):
    took = []
    for words in (["call", "bob"], ["probe", SERVER]):
        began = time.monotonic()
        program = lab.peer("a", *words)
        equal(program.wait(5), 3, f"exit code of {words[0]}")
        took.append(time.monotonic() - began)
        # Two refusals, of questions some time apart; with the start of the program.
        assert 0.6 < took[-1] < 1.2, f"  {words[0]} took {took[-1]:.1f} s"
        said = program.stderr()
        assert "Nothing listens at" in said, said
        time.sleep(6)  # Linux refuses once a second, and six times in a burst.
    found = examine(lab, SERVER, code=3)
    assert "Nothing listens at" in json.dumps(found["findings"]), "  doctor does not say it"
    return ", ".join(f"{seconds:.1f} s" for seconds in took)
