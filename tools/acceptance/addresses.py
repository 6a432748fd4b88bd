"""Scenarios of hosts with several addresses, of both families, with the programs' defaults."""

import os
import sys
import time

from lab import ADDRESS, BIN, PORT, sh
from probes import result
from scenarios import equal, outcome, ready, same_call, scenario

SECOND = {"b": "10.77.0.22", "r": "10.77.0.33"}
V6 = {"a": ["fd77::1"], "b": ["fd77::2"], "r": ["fd77::3", "fd77::33"]}


def with_second_addresses(lab, family=(4, 6)):
    for host, address in SECOND.items():
        sh("ip", "-n", lab.ns(host), "addr", "add", f"{address}/24", "dev", "eth0")
    for host, addresses in V6.items():
        for address in addresses if 6 in family else []:
            sh("ip", "-n", lab.ns(host), "addr", "add", f"{address}/64", "dev", "eth0", "nodad")


def served_everywhere(lab):
    """A rendezvous that was told no address."""
    program = lab.run(
        "r", f"{BIN}/earshot-rendezvous", "--data", lab.path("data"), "--json", name="rendezvous"
    )
    line = program.wait_line(lambda line: line.get("type") == "listening", 5)
    return program, line["address"]


def asked():
    """All addresses of the rendezvous, as a user writes them."""
    return [f"{ADDRESS['r']}:{PORT}", f"{SECOND['r']}:{PORT}"] + [
        f"[{address}]:{PORT}" for address in V6["r"]
    ]


@scenario
def rendezvous_answers_at_each_of_its_addresses(lab):
    with_second_addresses(lab)
    _, address = served_everywhere(lab)
    equal(address, f"[::]:{PORT}", "default address of the rendezvous")
    for index, server in enumerate(asked()):
        bob = ready(lab, "--accept", "--calls", "1", name=f"bob{index}", rendezvous=server)
        call = lab.peer(
            "a", "call", f"bob{index}", "--duration", "1", name="alice", rendezvous=server
        )
        outcome(call, "completed", 0)
        outcome(bob, "completed", 0)
        same_call(call.summary(), bob.summary())
        assert "ffff" not in bob.describe(), f"  an IPv4-mapped address is shown\n{bob.describe()}"
    return f"{len(asked())} addresses, calls of alice and bob at each"


@scenario
def rendezvous_on_ipv4_answers_at_its_second_address(lab):
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
    ready(lab, rendezvous=f"{SECOND['r']}:{PORT}")


@scenario
def probes_of_each_address(lab):
    with_second_addresses(lab)
    served_everywhere(lab)
    for server in asked():
        probe = lab.peer("a", "probe", server, "--duration", "4", rendezvous=server)
        found = result(probe)
        equal(found["state"], "complete", f"state of the probe of {server}")


@scenario
def callee_answers_at_its_second_address(lab):
    with_second_addresses(lab, family=(4,))
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1")
    # What alice sends to bob's first address is lost; his system would answer from there.
    sh("ip", "-n", lab.ns("a"), "route", "add", "blackhole", ADDRESS["b"])
    call = lab.peer("a", "call", "bob", "--duration", "3", name="alice")
    summary = outcome(call, "completed", 0, seconds=20)
    heard = outcome(bob, "completed", 0)
    equal(summary["path"]["remote"].split(":")[0], SECOND["b"], "alice's remote address")
    equal(heard["path"]["local"].split(":")[0], SECOND["b"], "bob's local address")
    received = heard["audio"]["received"]["packets"]
    assert received > 100, f"  bob heard {received} packets"
    return f"connected after {summary['timeline']['connectedMs']} ms"


@scenario
def hosts_without_ipv4(lab):
    with_second_addresses(lab)
    for host in ["a", "b"]:
        sh("ip", "-n", lab.ns(host), "-4", "addr", "flush", "dev", "eth0")
    served_everywhere(lab)
    server = f"[{V6['r'][0]}]:{PORT}"
    equal(
        result(lab.peer("a", "probe", server, "--duration", "4", rendezvous=server))["state"],
        "complete",
        "probe",
    )
    bob = ready(lab, "--accept", "--calls", "1", rendezvous=server)
    call = lab.peer("a", "call", "bob", "--duration", "2", name="alice", rendezvous=server)
    equal(
        outcome(call, "completed", 0)["path"]["remote"].rsplit(":", 1)[0],
        "[fd77::2]",
        "alice's remote address",
    )
    outcome(bob, "completed", 0)


@scenario
def call_by_the_family_that_the_rendezvous_was_not_asked_in(lab):
    with_second_addresses(lab)
    served_everywhere(lab)
    server = f"{ADDRESS['r']}:{PORT}"
    bob = ready(lab, "--accept", "--calls", "1", rendezvous=server)
    sh("ip", "-n", lab.ns("a"), "route", "add", "blackhole", ADDRESS["b"])
    sh("ip", "-n", lab.ns("a"), "route", "add", "blackhole", SECOND["b"])
    call = lab.peer("a", "call", "bob", "--duration", "2", name="alice", rendezvous=server)
    summary = outcome(call, "completed", 0, seconds=20)
    equal(summary["path"]["remote"].rsplit(":", 1)[0], "[fd77::2]", "alice's remote address")
    outcome(bob, "completed", 0)


@scenario
def hosts_without_ipv6(lab):
    """Where the kernel has no IPv6 at all the defaults are IPv4's."""
    for host in ["a", "b", "r"]:
        sh("ip", "netns", "exec", lab.ns(host), "sysctl", "-qw", "net.ipv6.conf.all.disable_ipv6=1")
    served_everywhere(lab)
    bob = ready(lab, "--accept", "--calls", "1")
    outcome(lab.peer("a", "call", "bob", "--duration", "1", name="alice"), "completed", 0)
    outcome(bob, "completed", 0)


#: A name server that says nothing about IPv6.
NAME_SERVER = """
import socket, struct, sys
server = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
server.bind(("127.0.0.1", 53))
while True:
    query, source = server.recvfrom(512)
    end = query.index(bytes(1), 12) + 1
    if query[end : end + 2] != bytes([0, 1]):
        continue
    answer = query[:2] + bytes([0x81, 0x80]) + struct.pack(">4H", 1, 1, 0, 0) + query[12 : end + 4]
    answer += bytes([0xC0, 12]) + struct.pack(">2HIH", 1, 1, 60, 4)
    server.sendto(answer + socket.inet_aton(sys.argv[1]), source)
"""


def registers(lab, host):
    """How long it takes in s until a program at `host` that knows the rendezvous by name is registered."""
    began = time.monotonic()
    program = lab.peer(host, "answer", "--accept", rendezvous=f"rendezvous.test:{PORT}")
    program.wait_event("registered")
    return time.monotonic() - began


@scenario
def names_of_which_half_is_silent(lab):
    """RFC 8305: an address where nothing answers, and a name server that is silent about one family."""
    with_second_addresses(lab)
    served_everywhere(lab)
    folder = f"/etc/netns/{lab.ns('b')}"
    os.makedirs(folder)
    try:
        for name, text in (
            ("hosts", f"fd77::dead rendezvous.test\n{ADDRESS['r']} rendezvous.test\n"),
            ("resolv.conf", "nameserver 127.0.0.1\n"),
        ):
            with open(f"{folder}/{name}", "w") as file:
                file.write(text)
        silent = registers(lab, "b")
        assert silent < 1.5, f"  {silent:.1f} s with an address where nothing answers"
        with open(f"{folder}/hosts", "w") as file:
            file.write("127.0.0.1 localhost\n")
        lab.run("b", sys.executable, "-c", NAME_SERVER, ADDRESS["r"], name="names")
        time.sleep(0.3)
        half = registers(lab, "b")
        assert half < 1.5, f"  {half:.1f} s with a name server that is silent about IPv6"
    finally:
        sh("rm", "-rf", folder)
    return f"silent address {silent:.2f} s, silent name server {half:.2f} s"


@scenario
def a_rendezvous_that_moves_is_found_by_its_name(lab):
    """A service runs on while the server's name gets another address."""
    with_second_addresses(lab)
    folder = f"/etc/netns/{lab.ns('b')}"
    os.makedirs(folder)

    def name_leads_to(address):
        # Written in place: the program has this very file mounted.
        with open(f"{folder}/hosts", "w") as file:
            file.write(f"{address} rendezvous.test\n")

    def serve(address):
        program = lab.run(
            "r", f"{BIN}/earshot-rendezvous", "--listen", f"{address}:{PORT}",
            "--data", lab.path("data"), "--json", name=f"rendezvous-{address}",
        )  # fmt: skip
        program.wait_line(lambda line: line.get("type") == "listening", 5)
        return program

    try:
        name_leads_to(ADDRESS["r"])
        first = serve(ADDRESS["r"])
        ready(lab, "--accept", rendezvous=f"rendezvous.test:{PORT}")
        first.kill()
        serve(SECOND["r"])
        name_leads_to(SECOND["r"])
        began = time.monotonic()
        caller = None
        while caller is None or caller.wait(20) != 0:
            assert time.monotonic() - began < 60, "  not registered again within 60 s"
            caller = lab.peer(
                "a", "call", "bob", "--duration", "1", rendezvous=f"{SECOND['r']}:{PORT}"
            )
        return f"called {time.monotonic() - began:.1f} s after the move"
    finally:
        sh("rm", "-rf", folder)
