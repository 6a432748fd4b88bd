"""Whole calls beside a real TCP: `tools/congestion-check --tcp`."""

import datetime
import importlib.util
import json
import math
import os
import random
import shutil
import signal
import subprocess
import sys
import tempfile
import textwrap
import time
import wave
from multiprocessing.pool import ThreadPool

import freshlines
from linelog import LineLog, percentile
from routed import RoutedLab, algorithms, ensure_routable
from seeds import Figure

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
CLIPS = os.environ.get("EARSHOT_CLIPS", os.path.join(os.path.dirname(ROOT), "shared", "clips"))
#: Seconds: TCP alone before a call that comes second; both before their shares count; both while they count; the call after.
LEAD, SETTLING, BESIDE, AFTER = 5, 10, 30, 12
#: Of calls that were there first: alone on the line.
ALONE = 15
#: What audio of 32 kbit/s and the smallest video take of the line (Peer/VideoSettings.swift).
NEEDED = 54_400 + 60_000 * 363 / 300
#: A line that stood still for so long, in milliseconds, was the host's doing: the call is made again.
LATE_LIMIT = 50
#: By how much the share of a real call may be off the laboratory's, and ms of wait that a call makes by itself.
AGREES, OWN_WAIT = 0.1, 40
#: Goals.
SHARE_SHALLOW, SHARE_DEEP, DEEP = 0.40, 0.30, 500
TCP_SHARE, VIDEO_AWAY, AUDIO, DRAINED, PESQ_LOST = 0.25, 5, 24, 1, 0.1


class Cell:
    """A line, and the transfer on it; `algorithm` None is the same call without any."""

    def __init__(self, way, algorithm, is_first, rate, queue, delay=25):
        self.way, self.algorithm, self.is_first = way, algorithm, is_first
        self.rate, self.queue, self.delay = rate, queue, delay

    @property
    def name(self):
        rival = f"{self.algorithm}-{'first' if self.is_first else 'late'}"
        return (
            f"{self.way}-{rival if self.algorithm else 'alone'}-{self.rate / 1e3:.0f}-{self.queue}"
        )

    @property
    def title(self):
        line = f"{self.rate / 1e3:.0f} kbit/s, queue {self.queue} ms"
        if self.delay != 25:
            line += f", RTT {2 * self.delay}"
        if not self.algorithm:
            return f"{line}: no transfer"
        when = "before the call" if self.is_first else "in mid-call"
        return f"{line}: {self.algorithm.upper()} {when}"

    @property
    def without(self):
        """The call that this one is compared with."""
        return Cell(self.way, None, False, self.rate, self.queue, self.delay)

    @property
    def model(self):
        """The case of `tools/congestion-report` with the same line and the same transfer."""
        if self.way != "up" or not self.algorithm or self.delay != 25:
            return None
        # With an encoder as calls have it: after a fall its pictures are small.
        kind = {"cubic": "small", "bbr": "bbr"}[self.algorithm]
        when = "first" if self.is_first else "late"
        return f"{kind}{self.rate / 1e3:.0f}-{self.queue}{when}"

    def words(self):
        """Of an upload the way down has room; of a download both ways are as narrow."""
        narrow = f"rate={self.rate:.0f},queue={self.queue}ms,delay={self.delay}ms"
        wide = f"rate=20M,queue=300ms,delay={self.delay}ms"
        return ["--up", narrow, "--down", wide if self.way == "up" else narrow]


CELLS = [
    Cell(way, algorithm, is_first, rate, queue)
    for way in ("up", "down")
    for algorithm in ("cubic", "bbr")
    for rate in (2e6, 700e3)
    for queue in (300, 1000)
    for is_first in (True, False)
]


def drawn(seed, count):
    """Cells that no constant was chosen by."""
    source, cells = random.Random(seed), []
    for index in range(count):
        cells.append(
            Cell(
                source.choice(["up", "down"]) if index > 1 else ("up", "down")[index],
                source.choice(["cubic", "bbr"]),
                source.random() < 0.5,
                freshlines.near(source, 500, 5000) * 1e3,
                freshlines.near(source, 150, 1200),
                freshlines.near(source, 8, 80),
            )
        )
    return cells


# MARK: a call


def call(cell, seed, speech, keep, attempts):
    """Of the attempts the one in which the emulator was late the least; None where no call came about."""
    best = None
    for attempt in range(1, attempts + 1):
        try:
            found = attempt_call(cell, seed, speech, keep)
        except AssertionError as error:
            print(f"congestion-check: {cell.name}: {error}", file=sys.stderr, flush=True)
            continue
        if best is None or found["late"] < best["late"]:
            best = found
        best["attempts"] = attempt
        if best["late"] <= LATE_LIMIT:
            break
    return best


def attempt_call(cell, seed, speech, keep):
    with RoutedLab() as lab:
        lab.rendezvous()
        line = lab.line(cell.words(), seed=seed)
        bob = lab.peer(
            *("b", "answer", "--accept", "--calls", "1", "--save", lab.path("heard.wav")),
            *("--save-video", lab.path("bob.ivf")),
            name="bob",
        )
        bob.wait_event("registered")
        rival = None
        if cell.algorithm and cell.is_first:
            rival = lab.transfer(cell.way, cell.algorithm)
            time.sleep(LEAD)
        alice = lab.peer("x", "call", "bob", "--video", "test", "--play", speech, name="alice")
        alice.wait_event("connected", 30)
        zero = lab.begin(line)
        began = 0
        if not cell.is_first:
            sleep_until(zero + ALONE)
            if cell.algorithm:
                rival = lab.transfer(cell.way, cell.algorithm)
            began = time.time() - zero
        end = began + SETTLING + BESIDE
        sleep_until(zero + end)
        if rival:
            end = time.time() - zero
            rival.stop()
        sleep_until(zero + end + AFTER)
        alice.signal(signal.SIGINT)
        alice.wait(15), bob.wait(15)
        last = time.time() - zero
        late = lab.end_line(line)
        found = figures(cell, lab, alice, bob, zero, began, end, min(last, end + AFTER))
        found |= {"late": late, "load": os.getloadavg()[0], "seed": seed}
        found["pesq"] = score(speech, lab.path("heard.wav"), began, end)
        if not cell.algorithm:
            # What the calls that come second are compared with: the same words.
            found["pesqFirst"] = score(speech, lab.path("heard.wav"), 0, SETTLING + BESIDE)
        if keep:
            for name in ("line.log", *(os.path.basename(each.out.name) for each in (alice, bob))):
                shutil.copy(lab.path(name), os.path.join(keep, f"{cell.name}-{seed}-{name}"))
        return found


def sleep_until(wall_clock):
    time.sleep(max(0, wall_clock - time.time()))


def wall(line):
    return datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()


# MARK: figures


def figures(cell, lab, alice, bob, zero, began, end, last):
    """All from the journal of the line, and from what the programs say; seconds from zero."""
    path, start = lab.path("line.log"), began + SETTLING
    span = cell.rate * (end - start)
    calls, transfers = (LineLog(path, cell.way, kind) for kind in ("udp", "tcp"))
    whole = LineLog(path, cell.way)
    found = {
        "share": calls.carried(start, end) / span,
        "tcp": transfers.carried(start, end) / span,
        "wait95": percentile_of(whole, start, end),
        "drops": calls.dropped / max(1, calls.offered),
        "away": longest_away(alice, zero, last, began, end),
        "audio": least_audio(alice, zero, last),
        "answer": least_audio(bob, zero, last),
        "uplink": LineLog(path, "up", "udp").carried(start, end) / span,
    }
    if cell.algorithm and cell.way == "up":
        # What TCP had in the queue takes its time; ours counts from when its last packet left.
        gone = max([at for at in transfers.departures if at < last], default=end)
        gone = max(end, min(gone, end + cell.queue / 1000 + 1))
        found["drained"] = whole.drain(gone, last, below=OWN_WAIT)
    return found


def percentile_of(log, start, end):
    return percentile(log.waits(start, end), 0.95)


def statistics(program, identifier):
    return [
        (wall(line), numbers)
        for line in program.lines()
        if line.get("type") == "stats"
        for numbers in line["stats"]
        if numbers.get("id") == identifier
    ]


def longest_away(alice, zero, last, began, end):
    """Seconds without video at a stretch, of those that began while TCP was there: by the fallback, or as no packet went out
    from one set of numbers to the next, each 2 s."""
    spans, since = [], None
    for line in alice.lines():
        if line.get("name") == "localPublishFallbackToAudioOnly":
            now = wall(line) - zero
            if line["on"]:
                since = now if since is None else since
            elif since is not None:
                spans.append((since, now))
                since = None
    if since is not None:
        spans.append((since, last))
    counts = [(at - zero, numbers["packetsSent"]) for at, numbers in statistics(alice, "video-out")]
    quiet = None
    for (at, count), (after, more) in zip(counts, counts[1:]):
        if more > count:
            quiet = None
            continue
        quiet = at if quiet is None else quiet
        spans.append((quiet, after))
    return max([b - a for a, b in spans if b > began and a < end], default=0.0)


def least_audio(program, zero, last):
    """The least bit rate of the audio encoder in any set of numbers, in kbit/s."""
    rates = [
        numbers["targetBitrate"] / 1000
        for at, numbers in statistics(program, "audio-out")
        if 0 < at - zero < last
    ]
    return min(rates, default=None)


def score(speech, heard, began, end):
    """PESQ-WB of what was said while both were on the line; None where nobody can score it."""
    if not (scorer := scorer_of()) or not os.path.exists(heard):
        return None
    played, saved = scorer.load(speech), scorer.load(heard)
    # Both begin when the call is connected, within what the alignment finds.
    low, high = (int(max(0, at) * scorer.RATE) for at in (began + 1, end))
    piece, near = played[low:high], saved[max(0, low - scorer.RATE) : high + 3 * scorer.RATE]
    scores, _ = scorer.score(piece, near)
    return sum(scores) / len(scores) if scores else None


def scorer_of():
    """tools/quality/pesq.py, where its libraries are; said once where not."""
    if not hasattr(scorer_of, "found"):
        place = os.path.join(ROOT, "tools/quality/pesq.py")
        spec = importlib.util.spec_from_file_location("pesq_of_calls", place)
        scorer_of.found = importlib.util.module_from_spec(spec)
        before = list(sys.path)
        try:
            spec.loader.exec_module(scorer_of.found)
        except ImportError as error:
            scorer_of.found = None
            print(f"congestion-check: no PESQ, {error}", file=sys.stderr)
        sys.path[:] = before
    return scorer_of.found


def speech_of(folder, voice, seconds=100):
    """What is spoken, long enough for a call: the clips of speech again and again, or an espeak-ng voice."""
    path, source = os.path.join(folder, "speech.wav"), []
    if voice:
        made = os.path.join(folder, "voice.wav")
        words = open(os.path.join(ROOT, "README.md")).read()[:1500]
        subprocess.run(["espeak-ng", "-v", voice, "-w", made, words], check=True)
        source = [made]
    else:
        source = [
            os.path.join(CLIPS, name)
            for name in sorted(os.listdir(CLIPS) if os.path.isdir(CLIPS) else [])
            if name.endswith("_48k.wav") and not name.startswith("music")
        ]
    if not source:
        sys.exit(f"congestion-check: no speech in {CLIPS}")
    with wave.open(source[0]) as first:
        kind = first.getparams()
    with wave.open(path, "wb") as out:
        out.setparams(kind)
        written = 0
        while written < seconds * kind.framerate:
            for each in source:
                with wave.open(each) as part:
                    frames = part.readframes(part.getnframes())
                    written += part.getnframes()
                    out.writeframes(frames)
    return path


# MARK: the line by itself


def check_line(rate=2e6, queue=1000, seconds=12):
    """TCP alone: its share of the rate, and the round trip that its queue makes, in ms."""
    with RoutedLab() as lab:
        line = lab.line(Cell("up", "cubic", True, rate, queue).words())
        rival = lab.transfer("up", "cubic")
        lab.begin(line)
        trips = sorted(lab.ping(seconds))
        time.sleep(0.5)
        rival.stop()
        lab.end_line(line)
        log = LineLog(lab.path("line.log"), "up")
        carried = log.carried(seconds / 2, seconds) / (seconds / 2) / rate
        return {"carried": carried, "least": trips[0], "most": trips[-1], "expected": queue + 50}


# MARK: tables


def figure(runs, key, **goal):
    return Figure([run.get(key) for run in runs], **goal)


def text(runs, key, digits, **goal):
    """Mean, interval and worst, bold where a goal is missed; empty where nobody measured it."""
    if all(run.get(key) is None for run in runs) and key != "drained":
        return ""
    found = figure(runs, key, **goal)
    words = found.text(digits)
    if len(found.known) > 1:
        worst = min(found.known) if found.least is not None else max(found.known)
        words += f", worst {worst:.{digits}f}"
    return words if found.is_met in (None, True) else f"**{words}**"


def share_goal(cell):
    return SHARE_DEEP if cell.queue > DEEP else SHARE_SHALLOW


def modelled(cell):
    """The share in the laboratory's table, a `Figure`; None where it has no such case."""
    path = os.path.join(ROOT, "Benchmarks/congestion/report.json")
    with open(path) as file:
        for case in json.load(file)["cases"]:
            if case["case"] == cell.model:
                return next(
                    Figure(f["values"]) for f in case["figures"] if f["name"] == "our share"
                )
    return None


def agreement(cell, runs):
    """The laboratory's share and whether the means are near each other."""
    model = modelled(cell)
    if model is None:
        return "", ""
    off = abs(model.mean - figure(runs, "share").mean)
    return model.text(2), "yes" if off <= AGREES else f"**{off:.2f} off**"


def lost(cell, runs, results):
    """What TCP costs in PESQ: runs with it against those of the same line without."""
    key = "pesqFirst" if cell.is_first else "pesq"
    before = figure(results.get(cell.without.name, {}).get("runs", []), key).known
    scores = figure(runs, "pesq").known
    if not before or not scores:
        return ""
    value = sum(before) / len(before) - sum(scores) / len(scores)
    words = f"{value:.2f} ({sum(before) / len(before):.2f} → {sum(scores) / len(scores):.2f})"
    return words if value <= PESQ_LOST else f"**{words}**"


def uploads(cells, results):
    lines = [
        "| line | our share | laboratory | agree? | TCP's share | video away, s | audio, kbit/s | drained, s | wait p95, ms | of ours dropped, % |",
        "| --- | --- | --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in cells:
        runs = results[cell.name]["runs"]
        model, word = agreement(cell, runs)
        away = {"most": VIDEO_AWAY} if cell.rate / 2 >= NEEDED else {}
        lines.append(
            f"| {cell.title} | {text(runs, 'share', 2, least=share_goal(cell))} | {model} | {word} | "
            f"{text(runs, 'tcp', 2, least=TCP_SHARE)} | {text(runs, 'away', 1, **away)} | "
            f"{text(runs, 'audio', 0, least=AUDIO)} | {text(runs, 'drained', 2, most=DRAINED)} | "
            f"{text(runs, 'wait95', 0)} | {text(percents(runs, 'drops'), 'drops', 1)} |"
        )
    return lines


def percents(runs, key):
    return [run | {key: run[key] * 100} for run in runs]


def downloads(cells, results):
    lines = [
        "| line, both ways | TCP's share | audio up, kbit/s | PESQ lost | audio down, kbit/s | video up away, s | of the way up carried |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for cell in cells:
        runs = results[cell.name]["runs"]
        lines.append(
            f"| {cell.title} | {text(runs, 'tcp', 2, least=TCP_SHARE)} | "
            f"{text(runs, 'audio', 0, least=AUDIO)} | {lost(cell, runs, results)} | "
            f"{text(runs, 'answer', 0)} | {text(runs, 'away', 1, most=VIDEO_AWAY)} | "
            f"{text(runs, 'uplink', 2)} |"
        )
    return lines


def cell_of(name, record):
    return Cell(
        *(record[key] for key in ("way", "algorithm", "is_first", "rate", "queue", "delay"))
    )


def report(record):
    results = record["cells"]
    cells = [(cell_of(name, found), found) for name, found in results.items() if found["runs"]]
    failed = sum(found.get("failed", 0) for found in results.values())
    sets = {
        "up": [(c, f) for c, f in cells if c.way == "up"],
        "down": [(c, f) for c, f in cells if c.way == "down" and c.algorithm],
    }
    runs = sorted({len(found["runs"]) for _, found in cells})
    every = [run for _, found in cells for run in found["runs"]]
    line = record["line"]
    drawn_by = sorted({found["draw"] for _, found in cells if found.get("draw")})
    calls = runs[0] if runs[0] == runs[-1] else f"{runs[0]} to {runs[-1]}"
    late, load = ([run[key] for run in every] for key in ("late", "load"))
    paragraphs = [
        "# Calls beside a real TCP",
        "Made by `tools/congestion-check --tcp`: `earshot call --video test` with speech to `earshot answer`, and "
        "iperf3 over the same line (tools/line between TUN devices). RTT 50 ms where nothing else is said; calls a cell: "
        f"{calls}. Shares count for {BESIDE} s, from {SETTLING} s after both are there, in bytes of IP of the line's "
        f"rate. TCP is there {LEAD} s before the call, or comes {ALONE} s after it, and breaks off; the call goes on for "
        f"{AFTER} s. Of several calls: mean, 95 % interval and worst. Calls that did not come about: {failed}.",
        f"Bold: a goal is missed. Our share ≥ {SHARE_SHALLOW:.2f}, in queues above {DEEP} ms ≥ {SHARE_DEEP:.2f}; TCP's ≥ "
        f"{TCP_SHARE}. Video is never away for more than {VIDEO_AWAY} s where half of the line carries the smallest. Audio ≥ "
        f"{AUDIO} kbit/s in all numbers of the call, each 2 s. Every wait is below {OWN_WAIT} ms within {DRAINED} s of the last "
        f"packet of TCP. Beside a download at most {PESQ_LOST} of PESQ-WB is lost, against the same words of a call without "
        f"TCP. Laboratory: the share in [report.md](report.md); ± {AGREES} agrees.",
        f"The line alone (2 Mbit/s, queue 1 s, CUBIC): {line['carried']:.3f} of the rate; round trips of "
        f"{line['least']:.0f} to {line['most']:.0f} ms, where an empty queue makes 50 and a full one {line['expected']:.0f}. "
        f"The emulator was late by {max(late):.0f} ms at the most, the load {min(load):.1f} to {max(load):.1f}.",
    ]
    page = [each for text in paragraphs for each in (*textwrap.wrap(text, 110), "")]
    for heading, way, make in (
        ("Uploads: TCP goes the way of the pictures", "up", uploads),
        ("Downloads: TCP comes the other way", "down", downloads),
    ):
        for fresh in (False, True):
            chosen = [c for c, found in sets[way] if bool(found.get("draw")) == fresh]
            if chosen:
                drawn_words = f", drawn for the run ({', '.join(map(str, drawn_by))})"
                page += [f"## {heading}{drawn_words if fresh else ''}", ""]
                page += make(chosen, results) + [""]
    return "\n".join(page)


# MARK: the command


def main(options, root_out):
    path = os.path.join(root_out, "tcp.json")
    if options.render:
        with open(path) as file:
            return write(root_out, json.load(file))
    cells = chosen_cells(options)
    if cells is None:
        return None
    if reason := ensure_routable():
        return print(f"congestion-check --tcp: skipped, {reason}", file=sys.stderr)
    known = algorithms()
    for name in sorted({c.algorithm for c in cells if c.algorithm and c.algorithm not in known}):
        print(
            f"congestion-check --tcp: {name} skipped, this kernel has not loaded it",
            file=sys.stderr,
        )
    cells = [cell for cell in cells if not cell.algorithm or cell.algorithm in known]
    if not cells:
        return print("congestion-check --tcp: skipped, no cell is left", file=sys.stderr)
    kept = {}
    if (options.update or options.fresh and not options.case) and os.path.exists(path):
        # Drawn cells stand beside the others, in the place of those that were drawn before.
        with open(path) as file:
            kept = json.load(file)["cells"]
        if options.fresh:
            kept = {name: cell for name, cell in kept.items() if not cell.get("draw")}
    line = check_line()
    print(f"line alone: {json.dumps(line)}", flush=True)
    with tempfile.TemporaryDirectory() as scratch:
        found = run_cells(options, cells, scratch)
    if not any(cell["runs"] for cell in found.values()):
        sys.exit("congestion-check --tcp: no call came about; what is there is left as it is")
    record = {"line": line, "cells": kept | found}
    if options.case and not options.update:
        return print(report(record))
    write(root_out, record)


def chosen_cells(options):
    if options.fresh:
        options.draw = options.draw or random.randint(1, 999_999)
        print(f"draw {options.draw}", flush=True)
        cells = drawn(options.draw, options.cells)
    else:
        cells = CELLS
    cells = cells + list({c.without.name: c.without for c in cells if c.way == "down"}.values())
    names = options.case or [cell.name for cell in cells]
    if names == ["list"]:
        print("\n".join(f"{cell.name}: {cell.title}" for cell in cells))
        return None
    if unknown := set(names) - {cell.name for cell in cells}:
        sys.exit(f"congestion-check --tcp: no cell is called {', '.join(sorted(unknown))}")
    # What a named download is compared with is made as well.
    alone = {c.without.name for c in cells if c.name in names and c.way == "down"}
    return [cell for cell in cells if cell.name in names or cell.name in alone]


def run_cells(options, cells, scratch):
    voice = None
    if options.fresh and shutil.which("espeak-ng"):
        source = random.Random(f"{options.draw}/voice")
        voice = f"{source.choice(freshlines.LANGUAGES)}+{source.choice(freshlines.VARIANTS)}"
    speech = speech_of(scratch, voice)
    scorer_of()
    if options.keep:
        os.makedirs(options.keep, exist_ok=True)
    jobs = [
        (cell, seed, speech, options.keep, options.attempts)
        for cell in cells
        for seed in range(1, options.runs + 1)
    ]
    results = {}
    with ThreadPool(options.jobs) as pool:
        for (cell, *_), run in pool.imap(lambda job: (job, call(*job)), jobs):
            keys = ("way", "algorithm", "is_first", "rate", "queue", "delay")
            entry = results.setdefault(
                cell.name, {key: getattr(cell, key) for key in keys} | {"runs": []}
            )
            if options.fresh:
                entry["draw"] = options.draw
            if run is None:
                entry["failed"] = entry.get("failed", 0) + 1
                continue
            entry["runs"].append(run)
            rounded = {key: rounded_to(value) for key, value in run.items()}
            print(f"{cell.name}: {json.dumps(rounded)}", flush=True)
    return results


def rounded_to(value):
    return round(value, 3) if isinstance(value, float) and math.isfinite(value) else value


def write(folder, record):
    with open(os.path.join(folder, "tcp.md"), "w") as file:
        file.write(report(record))
    with open(os.path.join(folder, "tcp.json"), "w") as file:
        json.dump(record, file, indent=1)
