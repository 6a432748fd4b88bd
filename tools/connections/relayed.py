"""Pairs of translators with a TURN server beside the rendezvous (coturn), over UDP and TCP."""

import shutil
import time

from lab import sh
from tables import Call, meets
from town import SERVER, Town

PORT, USER, PASSWORD = 3478, "relay-user", "relay-password"
SOON = 1000  # ms from accept to connected by a relay


def missing():
    """Why this machine cannot make the table; `None` if it can."""
    return None if shutil.which("turnserver") else "no turnserver here (tools/setup --relay)"


def clients():
    """What both programs say: without UDP only the second one can be reached."""
    uri = f"turn:{SERVER[4]}:{PORT}"
    return [
        "--turn",
        uri,
        "--turn",
        f"{uri}?transport=tcp",
        "--turn-user",
        USER,
        "--turn-password",
        PASSWORD,
    ]


def relay(town):
    address = SERVER[4]
    program = town.run(
        "r",
        "turnserver",
        "-n",
        "--listening-ip",
        address,
        "--relay-ip",
        address,
        "--listening-port",
        str(PORT),
        "--realm",
        "test",
        "--user",
        f"{USER}:{PASSWORD}",
        "--lt-cred-mech",
        "--no-tls",
        "--no-dtls",
        "--no-cli",
        "--min-port",
        "50000",
        "--max-port",
        "50999",
        "--log-file",
        "stdout",
        "--simple-log",
        "--pidfile",
        town.path("turn.pid"),
        "--userdb",
        town.path("turn.db"),
        name="turnserver",
    )
    end = time.monotonic() + 5
    while f":{PORT} " not in sh("ip", "netns", "exec", town.ns("r"), "ss", "-lntu").stdout:
        assert time.monotonic() < end, "coturn does not listen"
        time.sleep(0.05)
    return program


def relays(kinds):
    """Who connects how: milliseconds from accept to connected, and whether directly or by the relay."""
    head = ["caller \\ callee", *kinds]
    rows, wrong = [], []
    for a in kinds:
        row = [a]
        for b in kinds:
            cell, problem = pair(a, b)
            row.append(cell)
            if problem:
                wrong.append(f"{a} × {b}: {problem}")
        rows.append(row)
    return head, rows, wrong


def pair(a, b):
    with Town(a, b) as town:
        town.server()
        relay(town)
        call = Call(town, 4, *clients())
        alice, bob = call.wait()
        if alice is None or bob is None:
            return "hangs", "a program did not end"
        if alice["outcome"] != "completed":
            said = str(alice.get("reason") or call.alice.stderr().strip())
            return f"{alice['outcome']}: {said[:60]}", f"{alice['outcome']}: {said}"
        line, kind = alice["timeline"], alice["path"]["kind"]
        took = line["connectedMs"] - line["acceptedMs"]
        heard, problems = call.gaps(), []
        silent = [host for host in "ab" if heard[host][0] < 3 or heard[host][2] > 200]
        if silent:
            problems.append(f"silent at {silent}, {heard}")
        if (kind == "relayed") == meets(a, b):
            problems.append(f"the path is {kind}")
        if took > SOON:
            problems.append(f"{took} ms, at most {SOON}")
        return f"{took} ms, {kind}", "; ".join(problems) or None
