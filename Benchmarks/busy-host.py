#!/usr/bin/env python3
"""Two ends of a call on one busy host: how late packets leave, and mouth to ear.

usage: Benchmarks/busy-host.py [--bin DIR] [--seconds 15] [--hogs 4] [--runs 3] [--json]

Both ends talk over the loopback address for 15 s while HOGS processes of ordinary priority compute without end.
Each end takes down what it hears (`--pcap`): there the kernel's stamp of each packet, which on the loopback interface
is when it left the other end, stands beside the time of its sound. A frame is captured each 20 ms; lateness counts
from the punctual packets (the 1st percentile), so the two milliseconds of encoding are not in it. The first second
is left out. Mouth to ear is the 95th percentile that each end reports. Prints a row of a table for each run.
"""

import argparse
import json
import os
import shutil
import struct
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def arrivals(path, port):
    """(stamp, time of the sound) in seconds of each RTP packet from `port` in a pcapng file of ours."""
    with open(path, "rb") as file:
        data = file.read()
    found, at = [], 0
    while at + 12 <= len(data):
        kind, length = struct.unpack_from("<II", data, at)
        if kind == 6:
            high, low, size = struct.unpack_from("<III", data, at + 12)
            packet = data[at + 28 : at + 28 + size]
            udp = (packet[0] & 15) * 4 if packet[0] >> 4 == 4 else 40
            (source,) = struct.unpack_from("!H", packet, udp)
            second, _, sound = struct.unpack_from("!BHI", packet, udp + 9)
            if source == port and not 200 <= second <= 207:
                found.append(((high << 32 | low) / 1e9, sound / 48000))
        at += length
    return found


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def lateness(packets):
    """Seconds by which each packet left after its turn."""
    first = packets[0][1]
    offsets = [(stamp - (sound - first) % 89478.5, sound - first) for stamp, sound in packets]
    base = percentile([offset for offset, _ in offsets], 0.01)
    return [offset - base for offset, sound in offsets if sound > 1]


def threads(pid):
    found = {}
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/comm") as file:
                name = file.read().strip()
            policy = os.sched_getscheduler(int(task)) & 0xFF
            found[name] = {os.SCHED_OTHER: "other", os.SCHED_FIFO: "FIFO"}.get(policy, str(policy))
            if policy == os.SCHED_FIFO:
                found[name] += f" {os.sched_getparam(int(task)).sched_priority}"
        except OSError:
            pass
    return {name: found[name] for name in sorted(found) if name.startswith("earshot-")}


def lines(path):
    with open(path) as file:
        return [json.loads(line) for line in file if line.endswith("\n")]


def wait_for(path, word, seconds=15):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for line in lines(path):
            if word in (line.get("name"), line.get("type")):
                return line
        time.sleep(0.02)
    raise SystemExit(f"{word} did not come: {open(path).read()[-800:]}")


def run(options, folder):
    programs, environment = [], dict(os.environ, XDG_CONFIG_HOME=folder)

    def start(name, *words):
        out = open(f"{folder}/{name}", "w")
        program = subprocess.Popen(
            words, stdout=out, stderr=out, stdin=subprocess.DEVNULL, env=environment
        )
        programs.append(program)
        return program

    def end(name, command, *words):
        return start(
            name,
            f"{options.bin}/earshot",
            command,
            *words,
            "--json",
            "--no-fec",
            "--no-nack",
            "--pcap",
            f"{folder}/{name}.pcapng",
            "--bind",
            "127.0.0.1:0",
            "--rendezvous",
            server,
            "--identity",
            f"{folder}/{name}.id",
            "--name",
            name,
        )

    hogs = []
    try:
        start(
            "r",
            f"{options.bin}/earshot-rendezvous",
            "--listen",
            "127.0.0.1:0",
            "--data",
            f"{folder}/data",
            "--json",
        )
        server = wait_for(f"{folder}/r", "listening")["address"]
        end("bob", "answer", "--accept", "--calls", "1")
        wait_for(f"{folder}/bob", "registered")
        hogs = [
            subprocess.Popen([sys.executable, "-c", "while True: pass"])
            for _ in range(options.hogs)
        ]
        time.sleep(1)
        alice = end("alice", "call", "bob", "--duration", str(options.seconds))
        wait_for(f"{folder}/alice", "connected")
        classes = threads(alice.pid)
        alice.wait(options.seconds + 30)
        summaries = [wait_for(f"{folder}/{name}", "summary") for name in ["alice", "bob"]]
        load = os.getloadavg()[0]
    finally:
        for hog in hogs:
            hog.kill()
        for program in programs[1:]:
            program.wait(10)
        programs[0].terminate()
    late = []
    for name, summary in zip(["alice", "bob"], summaries):
        late += lateness(
            arrivals(f"{folder}/{name}.pcapng", int(summary["path"]["remote"].rsplit(":", 1)[1]))
        )
    return {
        "lateMs": {
            "p50": percentile(late, 0.5) * 1e3,
            "p95": percentile(late, 0.95) * 1e3,
            "max": max(late) * 1e3,
        },
        "packets": len(late),
        "mouthToEarMsP95": [
            summary["audio"]["received"].get("mouthToEarMs", {}).get("p95") for summary in summaries
        ],
        "mos": [summary["audio"]["received"].get("mos") for summary in summaries],
        "load": load,
        "threads": classes,
    }


def main():
    parser = argparse.ArgumentParser(usage=__doc__)
    parser.add_argument("--bin", default=os.path.join(ROOT, ".build", "release"))
    parser.add_argument("--seconds", type=int, default=15)
    parser.add_argument("--hogs", type=int, default=4)
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if not options.json:
        print("| loop | packets | late p50 ms | p95 | max | mouth to ear p95 ms | MOS | load |")
        print("| --- | --- | --- | --- | --- | --- | --- | --- |")
    for _ in range(options.runs):
        folder = tempfile.mkdtemp(prefix="earshot-busy-")
        try:
            row = run(options, folder)
        finally:
            shutil.rmtree(folder, ignore_errors=True)
        if options.json:
            print(json.dumps(row), flush=True)
            continue
        late = row["lateMs"]
        print(
            f"| {row['threads'].get('earshot-loop')} | {row['packets']} | {late['p50']:.1f} | {late['p95']:.1f} | "
            f"{late['max']:.0f} | {' / '.join(str(value) for value in row['mouthToEarMsP95'])} | "
            f"{' / '.join(str(value) for value in row['mos'])} | {row['load']:.1f} |",
            flush=True,
        )


main()
