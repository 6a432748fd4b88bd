"""What people read who know the README alone: of relays, and of members of a channel."""

import json
import os
import signal
import time

from channels import joined, summary, with_relay
from doctors import SERVER, examine, verdict
from lab import ADDRESS, BIN, sh
from scenarios import equal, scenario


def at_terminal(lab, host, *words, identity):
    """A member that writes sentences instead of lines."""
    return lab.run(
        host, f"{BIN}/earshot", "join", "tea", *words, "--no-port-mapping", "--rendezvous", SERVER,
        "--identity", lab.path(f"identity-{identity}"), "--events", lab.path(f"events-{identity}"),
    )  # fmt: skip


def said(program):
    with open(program.out.name, errors="replace") as file:
        return file.read() + program.stderr()


def identity(lab, name):
    path = lab.path(f"identity-{name}")
    return json.loads(sh(f"{BIN}/earshot", "keygen", "--json", "--identity", path).stdout)["id"]


@scenario
def doctor_looks_for_the_relay(lab):
    """The one that the rendezvous tells of; one with another ID; and what is none."""
    relay = with_relay(lab)
    place = f"{ADDRESS['r']}:7500"
    own = sh(f"{BIN}/earshot-relay", "--print-id", "--data", lab.path("relay")).stdout.strip()
    found = examine(lab, SERVER)
    told = found["channelRelays"]
    equal([entry["address"] for entry in told], [place], "the relay that the rendezvous tells of")
    equal((told[0]["namedByRendezvous"], told[0]["id"]), (True, own), "whose relay")
    equal(verdict(found, "relay"), "good", "relay")
    assert told[0]["tookMs"] < 100, f"  {told}"
    # Both read one clock.
    clock = found["rendezvous"][0]
    assert abs(clock["clockOffsetMs"]) <= clock["clockUncertaintyMs"] < 20, f"  {clock}"
    found = examine(lab, options=("--relay", f"{place}#{relay.own}"), code=7)
    equal(found["channelRelays"][0]["error"], "identityChanged", "another ID")
    found = examine(lab, options=("--relay", SERVER), code=3)
    assert "is a rendezvous" in found["channelRelays"][0]["reason"], f"  {found}"
    relay.kill()
    found = examine(lab, options=("--relay", place), code=3)
    assert "Nothing listens" in found["channelRelays"][0]["reason"], f"  {found}"
    return f"{told[0]['tookMs']} ms"


@scenario
def relay_taken_for_a_rendezvous(lab):
    with_relay(lab)
    for words in (["call", "bob"], ["join", "tea"]):
        program = lab.peer("a", *words, rendezvous=f"{ADDRESS['r']}:7500")
        equal(program.wait(5), 3, f"exit code of {words[0]} ({program.describe()})")
        assert "is a relay (earshot-relay), not a rendezvous" in said(program), program.describe()


@scenario
def channel_members_have_their_pinned_names(lab):
    lab.rendezvous()
    bob = identity(lab, "bob")
    identity(lab, "alice")
    path = lab.path("identity-alice")
    sh(f"{BIN}/earshot", "contacts", "import", bob, "--as", "bobby", "--identity", path)
    alice = at_terminal(lab, "a", "--duration", "6", identity="alice")
    time.sleep(1)
    other = joined(lab, "b", "--duration", "3", identity="bob")
    for program in (alice, other):
        equal(program.wait(15), 0, f"exit code ({program.describe()})")
    uid = summary(other)["uid"]
    for words in (f"bobby is there, as host {uid}.", f"bobby ({uid}) is gone: left."):
        assert words in said(alice), f"  {words} is not in {said(alice)}"
    with open(lab.path("events-alice")) as file:
        end = [line for line in map(json.loads, file) if line["type"] == "summary"][-1]
    equal([one.get("name") for one in end["members"]], ["bobby"], "names in the summary")


@scenario
def channel_own_former_stay_is_nobody_who_left(lab):
    """The program is killed and started again; 20 s later the rendezvous drops its former stay."""
    lab.rendezvous()
    first = joined(lab, "a", identity="alice")
    first.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    first.signal(signal.SIGKILL)
    alice = at_terminal(lab, "a", "--duration", "23", identity="alice")
    equal(alice.wait(30), 0, f"exit code ({alice.describe()})")
    words = said(alice)
    assert "is gone" not in words and "The other stay of the own identity" in words, words
    assert "host to host" not in words, words


@scenario
def channel_without_a_path_says_so(lab):
    lab.rendezvous()
    for chain, way in (("OUTPUT", "-d"), ("INPUT", "-s")):
        table = ["ip", "netns", "exec", lab.ns("a"), "iptables", "-w", "-A", chain]
        sh(*table, "-p", "udp", way, ADDRESS["b"], "-j", "DROP")
    bob = joined(lab, "b", "--duration", "7", identity="bob")
    alice = at_terminal(lab, "a", "--duration", "5", identity="alice")
    for program in (alice, bob):
        equal(program.wait(15), 0, f"exit code ({program.describe()})")
    words = said(alice)
    assert "nobody was reached" in words and "there was no path to it" in words, words
    assert "host to host" not in words, words
    equal(os.path.exists(lab.path("events-alice")), True, "lines of events")
