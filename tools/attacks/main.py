"""Attacks on the live programs, one row for each figure and its goal. tools/attack calls it."""

import argparse
import contextlib
import sys
import tempfile
import time
import traceback
from typing import Callable, NamedTuple

import call_rows
import card_rows
import data_rows
import host_rows
import minor_rows
import name_rows
import path_rows
import relay_rows
import server_rows
import talk_rows
import word_rows
from field import Field, Row
from programs import free_port
from redis_server import Redis


class Attack(NamedTuple):
    """A function of (field, quick) that returns rows; whether --quick runs it."""

    name: str
    run: Callable
    quick: bool


ATTACKS = [
    Attack("control", server_rows.nobody, True),
    Attack("floods", server_rows.floods, False),
    Attack("node-floods", server_rows.floods_at_a_node, False),
    Attack("C1-pins", call_rows.pins, True),
    Attack("C1-claims", name_rows.claims, True),
    Attack("C1-wrong-pin", name_rows.wrong_pin, True),
    Attack("C1-call", call_rows.invites_in_a_call, False),
    Attack("H1", server_rows.exchanges, False),
    Attack("H2-failures", server_rows.spoofed_failures, True),
    Attack("H2-inits", server_rows.spoofed_inits, False),
    Attack("H2-call", data_rows.forged, False),
    Attack("H3-flood", call_rows.starvation, False),
    Attack("H3-ring", call_rows.endless_ring, True),
    Attack("H4-extension", word_rows.extensions, True),
    Attack("H4-reason", word_rows.reasons, True),
    Attack("H4-endings", word_rows.endings, True),
    Attack("H4-redis", minor_rows.words_of_redis, True),
    Attack("H5-names", server_rows.names, False),
    Attack("H5-sessions", server_rows.many_sessions, False),
    Attack("H5-ninth", server_rows.ninth_name, False),
    Attack("H6-version", path_rows.forged_version, True),
    Attack("H6-card", path_rows.forged_card, True),
    Attack("H6-cookie", path_rows.forged_cookies, True),
    Attack("H7-200", lambda f, q: server_rows.cookie_crowd(f, q, 200), False),
    Attack("H7-2000", lambda f, q: server_rows.cookie_crowd(f, q, 2000), False),
    Attack("H7-site", minor_rows.one_site, False),
    Attack("M1-rendezvous", server_rows.old_serial, True),
    Attack("M1-peer", call_rows.old_card, True),
    Attack("M2", server_rows.half_messages, False),
    Attack("M3", call_rows.candidates, True),
    Attack("M4", call_rows.no_terminal, True),
    Attack("M5", server_rows.cookies_and_cards, False),
    Attack("M6", call_rows.allowed_name, True),
    Attack("M7", server_rows.enumeration, False),
    Attack("M7-audience", name_rows.audience, True),
    Attack("M8", server_rows.slow_scrapers, False),
    Attack("L1", minor_rows.load_metric, False),
    Attack("L2", minor_rows.file_modes, True),
    Attack("L5", minor_rows.long_line, True),
    Attack("L6", minor_rows.killed_server, True),
    Attack("L8", minor_rows.paced_inits, False),
    Attack("L10", minor_rows.refused_forwards, False),
    Attack("N4-cards", card_rows.broken, True),
    Attack("N4-homes", card_rows.homes, True),
    Attack("N4-pins", card_rows.pins, True),
    Attack("N1-words", talk_rows.words, True),
    Attack("N2-candidates", talk_rows.false_candidates, True),
    Attack("N3-echoes", talk_rows.echoes, True),
    Attack("R1", relay_rows.pictures, False),
    Attack("R2", relay_rows.stores, False),
    Attack("host-log", host_rows.log_lines, False),
    Attack("host-canaries", host_rows.canaries, True),
    Attack("host-stopped", host_rows.stopped, False),
    Attack("host-refusals", host_rows.refusals, False),
    Attack("host-descriptors", host_rows.descriptors, False),
    Attack("host-memory", host_rows.memory, False),
    Attack("host-kills", host_rows.kills, False),
    Attack("host-clocks", host_rows.clocks, False),
]


def run(attack, quick):
    """The rows of one attack; a failure of the tool itself is a row that failed."""
    port, options = free_port(), []
    events = tempfile.NamedTemporaryFile(prefix="earshot-events-")
    if attack.name in ("M8", "L1"):
        options = ["--metrics", f"127.0.0.1:{port}"]
    if attack.name == "L10":
        options = ["--events", events.name]
    redis = Redis() if attack.name == "node-floods" else contextlib.nullcontext([])
    try:
        with events, redis as more, Field(*options, *more) as field:
            field.metrics_port, field.events_path = port, events.name
            return attack.run(field, quick)
    except Exception as error:  # an attack that cannot be run is not passed
        traceback.print_exc()
        return [Row(attack.name.split("-")[0], attack.name, f"not run: {error}", "", False)]


def main():
    parser = argparse.ArgumentParser(prog="tools/attack")
    parser.add_argument("--quick", action="store_true")
    parser.add_argument("attacks", nargs="*")
    options = parser.parse_args()
    passed = failed = 0
    print("| result | finding | attack | measured | goal | s |")
    print("| --- | --- | --- | --- | --- | --- |")
    for attack in ATTACKS:
        if options.attacks and not any(attack.name.startswith(w) for w in options.attacks):
            continue
        if options.quick and not attack.quick and not options.attacks:
            continue
        began = time.monotonic()
        for row in run(attack, options.quick):
            took = time.monotonic() - began
            passed, failed = passed + row.passed, failed + (not row.passed)
            print(
                f"| {'ok' if row.passed else 'FAIL'} | {row.finding} | {row.attack} | "
                f"{row.measured} | {row.goal} | {took:.0f} |",
                flush=True,
            )
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
