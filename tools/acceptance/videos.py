"""Scenarios of calls with a picture: seen, saved, read back; and a line too narrow for it."""

import glob
import os
import shutil
import struct
import subprocess
import wave
from time import sleep

from channels import first_sound, joined, seconds_loud, summary, tone, with_relay
from holds import small_disk
from lab import ADDRESS, BIN, ROOT, sh
from lined import LinedLab, ensure_possible
from probes import Skip, shape
from scenarios import equal, heard_again, outcome, ready, scenario


def frames(path):
    """(milliseconds, bytes) of an IVF file's frames."""
    with open(path, "rb") as file:
        head = file.read(32)
        assert head[:4] == b"DKIF" and head[8:12] == b"VP80", f"  {path} is no IVF file of VP8"
        count = struct.unpack("<I", head[24:28])[0]
        found = []
        while True:
            block = file.read(12)
            if len(block) < 12:
                break
            size, time = struct.unpack("<IQ", block)
            found.append((time, file.read(size)))
    return count, found


def stamps(path):
    """(shown at, number, clock) of each decoded test picture in an IVF file, in milliseconds; clock is the
    sender's media time. Reads the cells as TestPictureReader does: three rows of sixteen in the lowest quarter."""
    if not shutil.which("ffmpeg"):
        raise Skip("ffmpeg is not installed")
    width, height = 320, 180
    # Every picture, at one size, without making any up; in milliseconds, as two may be shown within a thirtieth of
    # a second.
    raw = subprocess.run(
        [
            "ffmpeg",
            "-v",
            "error",
            "-i",
            path,
            "-fps_mode",
            "passthrough",
            "-enc_time_base",
            "-1",
            "-vf",
            f"scale={width}:{height}:flags=area",
            "-pix_fmt",
            "gray",
            "-f",
            "rawvideo",
            "-",
        ],
        capture_output=True,
    )
    equal(raw.stderr.decode(), "", f"what ffmpeg says of {path}")
    _, encoded = frames(path)
    pictures = len(raw.stdout) // (width * height)
    equal(pictures, len(encoded), "pictures that ffmpeg decodes")
    top = height * 3 // 4
    found = []
    for index, (time, _) in enumerate(encoded):
        picture = raw.stdout[index * width * height : (index + 1) * width * height]
        means = []
        for cell in range(48):
            column, row = cell % 16, cell // 16
            x0, x1 = column * width // 16, (column + 1) * width // 16
            y0, y1 = top + row * (height - top) // 3, top + (row + 1) * (height - top) // 3
            dx, dy = (x1 - x0) // 4, (y1 - y0) // 4
            part = [
                picture[y * width + x]
                for y in range(y0 + dy, y1 - dy)
                for x in range(x0 + dx, x1 - dx)
            ]
            means.append(sum(part) / len(part))
        middle = (min(means) + max(means)) / 2
        bits = 0
        for mean in means:
            bits = bits << 1 | (mean > middle)
        content, check = bits >> 8, bits & 255
        remainder = 255
        for shift in range(32, -1, -8):
            remainder ^= content >> shift & 255
            for _ in range(8):
                remainder = (remainder << 1 ^ 7 if remainder & 128 else remainder << 1) & 255
        if remainder != check:
            continue
        gray = content >> 24
        number = gray
        for shift in (1, 2, 4, 8):
            number ^= number >> shift
        found.append((time, number, content & 0xFFFFFF))
    return found


def size_after(path, width):
    """Milliseconds from the first picture to the first that is so wide; None without one. A key frame has its size in
    bytes 6 to 9 (RFC 6386 §9.1)."""
    _, found = frames(path)
    for time, frame in found:
        if frame[0] & 1 == 0 and struct.unpack("<H", frame[6:8])[0] & 0x3FFF == width:
            return time - found[0][0]
    return None


def percentile(values, share):
    values = sorted(values)
    return values[min(len(values) - 1, int(share * len(values)))]


def clicks(path, seconds, every=0.5):
    """A quiet tone with a short loud one at each multiple of `every`."""
    import math

    with wave.open(path, "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(48000)
        samples = bytearray()
        for n in range(int(seconds * 48000)):
            place = n / 48000 % every
            level = 12000 if place < 0.02 else 200
            samples += struct.pack("<h", int(level * math.sin(2 * math.pi * 1000 * n / 48000)))
        file.writeframes(samples)


def onsets(path, every=0.5):
    """Where the loud tones begin in what was saved, in milliseconds."""
    with wave.open(path) as file:
        raw = file.readframes(file.getnframes())
    samples = struct.unpack(f"<{len(raw) // 2}h", raw)
    found, quiet_until = [], 0
    for n, value in enumerate(samples):
        if n >= quiet_until and abs(value) > 4000:
            found.append(n / 48)
            quiet_until = n + int(every * 0.6 * 48000)
    return found


def lip_offsets(video, sound, every=500):
    """How far each picture is behind its sound in the two recordings, in milliseconds.

    The sound of media time k × `every` begins at the k-th loud tone; a picture of media time `clock` was shown at
    `shown`. Codec and frames delay the tone's onset by no more than the encoder's look-ahead of 6.5 ms."""
    tones = onsets(sound, every / 1000)
    lookahead = 6.5
    # The first tone is at media time 0; some may have been missed at the begin of the call.
    offsets = []
    for shown, _, clock in video:
        k = round(clock / every)
        near = [tone for tone in tones if abs((tone - shown) - (k * every - clock)) < every / 2]
        if not near:
            continue
        heard = near[0] - lookahead + (clock - k * every)
        offsets.append(shown - heard)
    return offsets


@scenario
def video_call_seen_and_saved(lab):
    lab.rendezvous()
    clicks(lab.path("clicks.wav"), 14)
    bob = ready(
        lab,
        "--accept",
        "--calls",
        "1",
        "--video",
        "test",
        "--save-video",
        lab.path("bob.ivf"),
        "--save",
        lab.path("bob.wav"),
        "--report",
        lab.path("bob.html"),
        "--capture",
        lab.path("bob.arrivals"),
    )
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--video",
        "test",
        "--save-video",
        lab.path("alice.ivf"),
        "--duration",
        "12",
        "--play",
        lab.path("clicks.wav"),
        "--pcap",
        lab.path("call.pcapng"),
        name="alice",
    )
    one, two = outcome(alice, "completed", 0, 30), outcome(bob, "completed", 0, 5)
    for side in (one, two):
        received = side["video"]["received"]
        assert received["framesDecoded"] > 200, f"  frames decoded: {received}"
        # A busy host may hold up a picture or two for a fifth of a second.
        assert received["totalFreezesMs"] <= 1000, f"  freezes: {received}"
        equal(side["network"]["fallbacks"], [], "fallbacks")
    heard_again(lab, "bob.arrivals", "bob.wav")
    seen = stamps(lab.path("bob.ivf"))
    equal(
        len(seen),
        two["video"]["received"]["framesDecoded"],
        "pictures with a stamp that can be read",
    )
    numbers = [number for _, number, _ in seen]
    equal(numbers, sorted(set(numbers)), "numbers of the pictures")
    offsets = lip_offsets(seen, lab.path("bob.wav"))
    assert len(offsets) > 100, f"  pictures with a sound to compare: {len(offsets)}"
    lip = sorted(abs(offset) for offset in offsets)
    assert percentile(lip, 0.95) <= 80, (
        f"  sound and picture are apart by {percentile(lip, 0.95):.0f} ms (95 %)"
    )
    delay = capture_delay(alice, bob, seen)
    full = [size_after(lab.path(f"{name}.ivf"), 1280) for name in ("alice", "bob")]
    assert all(time is not None and time <= 2000 for time in full), f"  1280x720 after {full} ms"
    page = open(lab.path("bob.html")).read()
    assert "The line out" in page and "Pictures seen" in page, "  the report has no plots of video"
    return (
        f"{len(seen)} pictures read back, 1280x720 after {full[0]} and {full[1]} ms, capture to shown p50 {percentile(delay, 0.5):.0f} ms, p95 "
        f"{percentile(delay, 0.95):.0f} ms; sound and picture apart p50 {percentile(lip, 0.5):.0f} ms, "
        f"p95 {percentile(lip, 0.95):.0f} ms"
    )


def capture_delay(sender, receiver, seen):
    """From the moment that a picture was made to the moment that it was shown, in milliseconds: both ends say when
    their media time began, and their clocks are the same one here."""
    began = {}
    for program in (sender, receiver):
        line = next(line for line in program.lines() if line.get("name") == "mediaStarted")
        began[program] = line["wallMs"]
    return [shown + began[receiver] - clock - began[sender] for shown, _, clock in seen]


@scenario
def channel_relay_pictures(lab):
    """A host's pictures go by a relay to two members, of whom one comes later."""
    with_relay(lab, "--metrics", f"{ADDRESS['r']}:9101")
    alice = joined(
        lab, "a", "--relay", "--video", "test", "--duration", "22", identity="alice"
    )  # fmt: skip
    alice.wait_line(lambda line: line.get("name") == "relayConnected", 5)
    watching = []
    for name in ("bob", "carol"):
        watching.append(
            joined(
                lab,
                "b",
                "--relay",
                "--role",
                "audience",
                "--save-video",
                lab.path(name + "-{uid}.ivf"),
                "--duration",
                "12",
                identity=name,
            )  # fmt: skip
        )
        watching[-1].wait_line(lambda line: line.get("name") == "relayFirstPicture", 8)
        sleep(3)
    scraped = lab.run("r", "curl", "-s", f"http://{ADDRESS['r']}:9101/metrics")
    for program in (*watching, alice):
        equal(program.wait(30), 0, f"exit code ({program.describe()})")
    waits = []
    for program, name in zip(watching, ("bob", "carol")):
        (saved,) = glob.glob(lab.path(name + "-*.ivf"))
        _, found = frames(saved)
        equal(len(found) > 200, True, f"pictures that {name} saved ({len(found)})")
        seen = [number for _, number, _ in stamps(saved)]
        equal(len(seen) > 200, True, f"test pictures that {name} saw ({len(seen)})")
        equal(seen, sorted(seen), f"order of the pictures of {name}")
        waits.append(first_sound(program, "relayFirstPicture"))
    scraped.wait(5)
    with open(lab.path(scraped.label + ".out")) as file:
        numbers = dict(line.split() for line in file if not line.startswith("#"))
    forwarded = int(numbers["earshot_relay_pictures_forwarded_total"])
    equal(forwarded > 400, True, f"fragments that the relay forwarded ({forwarded})")
    return f"first picture after {waits} ms, {forwarded} fragments forwarded"


@scenario
def channel_relay_narrow_line(lab):
    """One of two who watch has a line of 200 kbit/s: it hears all, and the other sees all."""
    shape(lab, "b", "tbf", 1_000_000, 200_000)
    with_relay(lab)
    tone(lab.path("low.wav"), 440, 60)
    alice = joined(
        lab, "a", "--relay", "--video", "test", "--play", lab.path("low.wav"), "--duration", "34",
        identity="alice",
    )  # fmt: skip
    alice.wait_line(lambda line: line.get("name") == "relayConnected", 5)
    watching = {}
    for host, name in (("b", "narrow"), ("r", "wide")):
        watching[name] = joined(
            lab, host, "--relay", "--role", "audience", "--save-video",
            lab.path(name + "-{uid}.ivf"), "--save", lab.path(name + ".wav"), "--duration", "26",
            identity=name,
        )  # fmt: skip
    counts = {}
    for name, program in watching.items():
        equal(program.wait(40), 0, f"exit code ({program.describe()})")
        saved = glob.glob(lab.path(name + "-*.ivf"))
        counts[name] = len(frames(saved[0])[1]) if saved else 0
        quiet = seconds_loud(lab.path(name + ".wav"), 440, range(3, 24)).count(False)
        equal(quiet <= 1, True, f"seconds without sound ({name}: {quiet})")
    opened = {name: summary(program)["relayFramesOpened"] for name, program in watching.items()}
    least = opened["wide"] * 0.99
    equal(opened["narrow"] >= least, True, f"frames of sound that came ({opened})")
    equal(counts["wide"] > 500, True, f"pictures that were seen ({counts})")
    equal(counts["narrow"] < counts["wide"] * 0.8, True, f"pictures that were seen ({counts})")
    return f"pictures in 26 s: {counts}, frames of sound: {opened}"


@scenario
def video_capture_reads_as_rtp(lab):
    if not shutil.which("tshark"):
        return "skipped: tshark is not installed"
    lab.rendezvous()
    bob = ready(lab, "--accept", "--calls", "1", "--video", "test")
    alice = lab.peer(
        "a", "call", "bob", "--duration", "4", "--video", "test", "--pcap", lab.path("call.pcapng")
    )
    one = outcome(alice, "completed", 0, 20)
    outcome(bob, "completed", 0, 5)
    ports = [one["path"][end].rsplit(":", 1)[1] for end in ("local", "remote")]
    ways = [word for port in ports for word in ("-d", f"udp.port=={port},rtp")] + [
        "-d",
        "rtp.pt==96,vp8",
    ]

    def tshark(filter, *fields):
        wanted = [word for field in fields for word in ("-e", field)]
        return sh(
            "tshark",
            "-n",
            "-r",
            lab.path("call.pcapng"),
            *ways,
            "-Y",
            filter,
            "-T",
            "fields",
            *wanted,
        ).stdout

    equal(tshark("_ws.malformed", "frame.number"), "", "malformed packets")
    # One packet of each frame begins it, and one has the mark.
    begun = tshark(
        f"vp8 && ip.src == {ADDRESS['a']} && vp8.pld.s == 1", "vp8.pld.pictureid"
    ).split()
    ended = tshark(f"vp8 && ip.src == {ADDRESS['a']} && rtp.marker == 1", "frame.number").split()
    equal(len(begun), len(ended), "frames that begin and end")
    equal([int(number, 0) for number in begun], list(range(len(begun))), "picture IDs")
    reports = tshark("rtcp.pt == 200 && rtcp.senderssrc == 0x45530003", "frame.number").split()
    assert reports, "  no sender report on video"
    sent = one["video"]["sent"]["framesSent"]
    assert sent <= len(begun) <= sent + 3, f"  {len(begun)} frames in the capture, {sent} sent"
    return f"{len(begun)} VP8 frames sent, {len(reports)} reports on them"


def lossy_call(lab, line_words, seconds, *answer_words):
    """A call with a picture from behind a line; gives both summaries."""
    import time

    if reason := ensure_possible():
        raise Skip(reason)
    lab.rendezvous()
    line = lab.line(line_words)
    bob = lab.peer(
        "b",
        "answer",
        "--accept",
        "--calls",
        "1",
        "--save-video",
        lab.path("bob.ivf"),
        *answer_words,
        name="bob",
    )
    bob.wait_event("registered")
    alice = lab.caller("--video", "test", "--max-video-bitrate", "1000000")
    lab.begin(line, alice)
    time.sleep(seconds)
    sent, seen, _ = lab.end(line, alice, bob)
    return sent["video"]["sent"], seen["video"]["received"]


@scenario
def video_is_whole_where_asking_takes_too_long(_):
    with LinedLab() as lab:
        way = "queue=300ms,delay=150ms"
        sent, seen = lossy_call(
            lab, ["--up", f"rate=3M,loss=5%,{way}", "--down", f"rate=20M,{way}"], 25
        )
    share = seen["framesDecoded"] / sent["framesSent"]
    recovered, freezes = seen["framesRecovered"], seen["freezeCount"]
    repaired = seen["recoveredByFec"] + seen["recoveredByRetransmission"]
    equal(repaired + seen["residualLost"], seen["lost"], "fates of lost packets")
    assert recovered > 20, f"  {recovered} frames by parity"
    # Upper layers are left as they are where a third of parity does not do; and something is under way at the end.
    assert share >= 0.93, f"  {seen['framesDecoded']} of {sent['framesSent']} frames decoded"
    # Each interval of some 190 ms counts (decision 0035).
    assert seen["totalFreezesMs"] <= 5000, f"  {freezes} freezes, {seen['totalFreezesMs']} ms"
    return f"{share * 100:.1f} % decoded, {recovered} frames by parity, {freezes} freezes"


@scenario
def video_capture_has_the_requests_of_both(_):
    if not shutil.which("tshark"):
        return "skipped: tshark is not installed"
    with LinedLab() as lab:
        lossy_call(
            lab,
            [
                "--up",
                "rate=3M,queue=300ms,delay=15ms,loss=4%",
                "--down",
                "rate=20M,queue=300ms,delay=15ms",
            ],
            6,
            "--pcap",
            lab.path("bob.pcapng"),
        )
        words = ["tshark", "-n", "-r", lab.path("bob.pcapng")]
        ports = set(
            sh(*words, "-T", "fields", "-e", "udp.port")
            .stdout.replace("\n", ",")
            .strip(",")
            .split(",")
        )
        for port in sorted(ports):
            words += ["-d", f"udp.port=={port},rtp"]
        words += ["-d", "rtp.pt==96,vp8"]
        bad = sh(*words, "-Y", "_ws.malformed", "-T", "fields", "-e", "frame.number").stdout.split()
        equal(bad, [], "malformed packets")
        own = sh(
            *words,
            "-Y",
            f"rtcp.pt == 205 && ip.src == {ADDRESS['b']}",
            "-T",
            "fields",
            "-e",
            "rtcp.rtpfb.nack_pid",
        ).stdout.split()
        assert len(own) >= 5, f"  {len(own)} requests of the receiver in its capture"
    return f"{len(own)} requests, for {own[0]} first"


@scenario
def video_file_is_played_and_ends_the_call(lab):
    if not shutil.which("ffmpeg"):
        return "skipped: ffmpeg is not installed"
    lab.rendezvous()
    sh(
        "ffmpeg",
        "-v",
        "error",
        "-f",
        "lavfi",
        "-i",
        "testsrc2=size=352x288:rate=25:duration=4",
        "-pix_fmt",
        "yuv420p",
        lab.path("in.y4m"),
    )
    bob = ready(lab, "--accept", "--calls", "2", "--save-video", lab.path("seen-{n}.ivf"))
    for number in (1, 2):
        alice = lab.peer("a", "call", "bob", "--video", lab.path("in.y4m"))
        one = outcome(alice, "completed", 0, 15)
        assert 3.5 < one["durationMs"] / 1000 < 8, f"  the call lasted {one['durationMs']} ms"
        count, found = frames(lab.path(f"seen-{number}.ivf"))
        assert 40 <= count == len(found), (
            f"  {count} frames in the header, {len(found)} in the file"
        )
    two = outcome(bob, "completed", 0, 5)
    return f"{count} of 100 pictures, {two['video']['received']['width']}x{two['video']['received']['height']}"


@scenario
def video_that_cannot_be_read_stops_the_program(lab):
    lab.rendezvous()
    with open(lab.path("bad.y4m"), "w") as file:
        file.write("RIFF")
    for name, code in [("missing.y4m", 8), ("bad.y4m", 8)]:
        equal(
            lab.peer("a", "call", "bob", "--video", lab.path(name)).wait(5),
            code,
            f"exit code for {name}",
        )
    equal(
        lab.peer("a", "call", "bob", "--save-video", lab.path("v.webm")).wait(5),
        2,
        "exit code for .webm",
    )
    equal(
        lab.peer("a", "call", "bob", "--save-video", lab.path("no/v.ivf")).wait(5),
        8,
        "exit code without a folder",
    )


@scenario
def full_disk_ends_the_saving_and_not_the_call(lab):
    with small_disk(lab) as disk:
        saved = os.path.join(disk, "bob.ivf")
        lab.rendezvous()
        bob = ready(lab, "--accept", "--calls", "1", "--save-video", saved)
        alice = lab.peer("a", "call", "bob", "--video", "test", "--duration", "5")
        outcome(alice, "completed", 0, 20)
        two = outcome(bob, "completed", 8, 5)
        equal(
            bob.stderr().count("bob.ivf cannot be written to the end"),
            1,
            "complaints about the file",
        )
        count, found = frames(saved)
        size = 32 + sum(12 + len(frame) for _, frame in found)
        equal(
            [count, size], [len(found), os.path.getsize(saved)], "frames and bytes of whole frames"
        )
        seen = two["video"]["received"]["framesDecoded"]
        assert 1 <= count < seen and seen >= 60, f"  {count} frames saved, {seen} decoded"
        return f"{count} of {seen} frames saved"


@scenario
def killed_by_sigterm_leaves_a_readable_video(lab):
    import signal
    import time

    lab.rendezvous()
    bob = ready(
        lab, "--accept", "--calls", "1", "--video", "test", "--save-video", lab.path("bob.ivf")
    )
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--video",
        "test",
        "--save-video",
        lab.path("alice.ivf"),
        "--duration",
        "60",
    )
    bob.wait_event("firstVideoFrameDecoded")
    alice.wait_event("firstVideoFrameDecoded")
    time.sleep(3)
    alice.signal(signal.SIGINT)
    bob.signal(signal.SIGTERM)
    alice.wait(5), bob.wait(5)
    for name in ("alice.ivf", "bob.ivf"):
        count, found = frames(lab.path(name))
        assert count == len(found) >= 30, (
            f"  {name}: {count} frames in the header, {len(found)} in the file"
        )
        if shutil.which("ffmpeg"):
            stamps(lab.path(name))


@scenario
def narrow_line_falls_back_to_audio_and_returns(lab):
    import time

    lab.rendezvous()
    shape(lab, "a", "tbf", 2_000_000, 5_000_000, queue_ms=300)
    bob = ready(
        lab,
        "--accept",
        "--calls",
        "1",
        "--video",
        "test",
        "--save-video",
        lab.path("bob.ivf"),
        "--save",
        lab.path("bob.wav"),
        "--capture",
        lab.path("bob.arrivals"),
    )
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--duration",
        "75",
        "--video",
        "test",
        "--report",
        lab.path("a.html"),
        "--events",
        lab.path("a.jsonl"),
    )
    bob.wait_event("firstVideoFrameDecoded")
    time.sleep(12)
    change(lab, "a", 60_000)
    narrowed = time.time()
    away = alice.wait_line(
        lambda line: line.get("name") == "localPublishFallbackToAudioOnly" and line["on"], 10
    )
    took = at(away) - narrowed
    bob.wait_line(lambda line: line.get("name") == "remoteVideoMuted" and line["muted"], 10)
    time.sleep(max(0, narrowed + 20 - time.time()))
    change(lab, "a", 2_000_000)
    widened = time.time()
    back = alice.wait_line(
        lambda line: line.get("name") == "localPublishFallbackToAudioOnly" and not line["on"], 30
    )
    returned = at(back) - widened
    again = bob.wait_line(
        lambda line: (
            line.get("name") == "streamChanged"
            and line["stream"] == "remoteVideo"
            and line["state"] == "decoding"
            and line["reason"] == "audioFallbackRecovery"
        ),
        10,
    )
    one, two = outcome(alice, "completed", 0, 60), outcome(bob, "completed", 0, 5)
    equal([change["on"] for change in one["network"]["fallbacks"]], [True, False], "changes")
    # Sound that waited for its picture, repeated frames and all.
    heard_again(lab, "bob.arrivals", "bob.wav")
    concealed = two["audio"]["received"]["concealedFraction"]
    plotted = subprocess.run(
        [os.path.join(ROOT, "tools", "plot"), lab.path("a.jsonl"), lab.path("plot.html")],
        capture_output=True,
        text=True,
        env=dict(os.environ, EARSHOT_BIN=BIN),
    )
    equal(plotted.returncode, 0, f"tools/plot: {plotted.stderr}")
    for page in ("a.html", "plot.html"):
        assert "audio only: " in open(lab.path(page)).read(), f"  {page} does not show the fallback"
    return (
        f"audio alone {took:.1f} s after the drop, video again {returned:.1f} s after the rise, decoded "
        f"{at(again) - at(back):.1f} s later, audio concealed {concealed:.1%} of the whole call"
    )


def change(lab, host, rate, queue_ms=300):
    """Another rate for what `host` sends."""
    limit = str(int(rate * queue_ms / 8000) + 3000)
    sh(
        "tc",
        "-n",
        lab.ns(host),
        "qdisc",
        "change",
        "dev",
        "eth0",
        "root",
        "tbf",
        "rate",
        f"{rate}bit",
        "burst",
        "3000",
        "limit",
        limit,
    )


def at(line):
    """Seconds since 1970 of a line."""
    import datetime

    return datetime.datetime.fromisoformat(line["ts"].replace("Z", "+00:00")).timestamp()
