"""The pages of --report, rendered: nothing on them is cut, overlaps or cannot be read."""

import os
import signal
import subprocess
import sys
import time

from lab import BIN, ROOT
from probes import SERVER, Skip, probe, result, shape
from scenarios import equal, outcome, ready, scenario

sys.path.insert(0, os.path.join(ROOT, "tools", "lib"))
import legible


def look(page, plots):
    """Fails where something on it cannot be read, or it has fewer plots."""
    if legible.browser() is None:
        raise Skip("there is no Chromium (tools/setup --pages)")
    faults, found = legible.faults(page)
    assert not faults, f"  {os.path.basename(page)}:\n    " + "\n    ".join(faults)
    assert found >= plots, f"  {os.path.basename(page)} has {found} plots, not {plots}"


def inspected(lab, *words):
    page = lab.path("inspected.html")
    subprocess.run(
        [f"{BIN}/earshot", "inspect", *words, "--report", page, "--overwrite"],
        check=True,
        capture_output=True,
    )
    return page


@scenario
def pages_of_a_call_can_be_read(lab):
    lab.rendezvous()
    shape(lab, "a", "tbf", 2_000_000, 2_000_000, queue_ms=100)
    bob = ready(
        lab, "--accept", "--calls", "1", "--video", "test", "--report", lab.path("b.html"),
        "--events", lab.path("b.jsonl"),
    )  # fmt: skip
    alice = lab.peer(
        "a", "call", "bob", "--video", "test", "--duration", "24", "--report", lab.path("a.html"),
        "--events", lab.path("a.jsonl"), name="alice",
    )  # fmt: skip
    alice.wait_event("connected")
    time.sleep(6)
    subprocess.run(
        ["tc", "-n", lab.ns("a"), "qdisc", "change", "dev", "eth0", "root", "tbf", "rate",
         "90kbit", "burst", "3000", "limit", "3000"], check=True)  # fmt: skip
    outcome(alice, "completed", 0, 40)
    bob.wait(10)
    for name in ["a.html", "b.html"]:
        look(lab.path(name), 8)
    look(inspected(lab, lab.path("a.jsonl")), 8)
    both = inspected(lab, lab.path("a.jsonl"), lab.path("b.jsonl"))
    look(both, 8)
    with open(both) as page:
        text = page.read()
    assert "before repair, other end" in text, "  the other end's view is not on the page"
    with open(lab.path("a.html")) as page:
        assert "audio only" in page.read() or "gave way" in text, "  the fallback is not marked"
    return "four pages, light and dark, wide and narrow"


@scenario
def pages_of_probes_can_be_read(lab):
    server = next(iter(lab.rendezvous().lines()))
    shape(lab, "a", "tbf", 1_000_000, 2_000_000)
    page, day = lab.path("probe.html"), lab.path("day.html")
    # As a rendezvous is named by those who give it: with its ID, which no line has room for.
    target = f"{SERVER}#{server['identity']}"
    result(probe(lab, target, "--report", page, "--events", lab.path("probe.jsonl")))
    look(page, 4)
    look(inspected(lab, lab.path("probe.jsonl")), 4)
    watched = probe(lab, SERVER, "--watch", "--for", "9s", "--report", day)
    equal(watched.wait(20), 0, "exit code of --watch")
    look(day, 4)
    return "three pages, light and dark, wide and narrow"


@scenario
def predictions_and_what_calls_had_are_a_page(lab):
    lab.rendezvous()
    shape(lab, "a", "tbf", 1_000_000, 2_000_000)
    bob = ready(lab, "--accept")
    found = result(probe(lab, "bob"))
    call = lab.peer("a", "call", "bob", "--duration", "6", identity="a")
    outcome(call, "completed", 0, 20)
    bob.signal(signal.SIGTERM)
    words = ["--history", "--identity", lab.path("identity-a")]
    text = subprocess.run(
        [f"{BIN}/earshot", "probe", *words], capture_output=True, text=True, check=True
    ).stdout
    assert "bob  MOS" in text and "round trip: 1 call, off by" in text, f"  {text}"
    page = lab.path("history.html")
    subprocess.run([f"{BIN}/earshot", "probe", *words, "--report", page], check=True)
    look(page, 4)
    trip = found["rttMs"]["p50"]
    return f"{trip:.1f} ms predicted; {text.splitlines()[0].split('; ')[1]}"
