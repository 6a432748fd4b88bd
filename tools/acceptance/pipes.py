"""Live sound and pictures through pipes: what a microphone's program writes, a loudspeaker's reads."""

import array
import json
import math
import os
import shutil
import statistics
import subprocess
import threading
import time
import wave

from lab import ADDRESS, BIN, PORT
from scenarios import equal, scenario

RATE = 48_000
#: A burst of 20 ms in each of these seconds.
PERIOD = 0.5
BURST = array.array(
    "h", [int(16_000 * math.sin(2 * math.pi * 1000 * n / RATE)) for n in range(RATE // 50)]
)
PIECE = RATE // 100


def start(lab, host, *words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, label="x"):
    environment = dict(os.environ, XDG_CONFIG_HOME=lab.path(f"config-{host}"))
    errors = open(lab.path(label + ".err"), "wb")
    words = ["ip", "netns", "exec", lab.ns(host), *words] if host else list(words)
    return subprocess.Popen(words, stdin=stdin, stdout=stdout, stderr=errors, env=environment)


def talker(lab, *words, stdin=subprocess.PIPE):
    return start(
        lab, "a", f"{BIN}/earshot", "call", "bob", "--rendezvous", f"{ADDRESS['r']}:{PORT}",
        "--identity", lab.path("identity-a"), "--events", lab.path("alice.events"), *words,
        stdin=stdin, label="alice",
    )  # fmt: skip


def listener(lab, *words):
    program = start(
        lab, "b", f"{BIN}/earshot", "answer", "--name", "bob", "--accept", "--calls", "1",
        "--rendezvous", f"{ADDRESS['r']}:{PORT}", "--identity", lab.path("identity-b"),
        "--events", lab.path("bob.events"), *words, label="bob",
    )  # fmt: skip
    end = time.monotonic() + 10
    while time.monotonic() < end and "registered" not in text(lab, "bob.events"):
        time.sleep(0.02)
    return program


def text(lab, name):
    try:
        with open(lab.path(name)) as file:
            return file.read()
    except FileNotFoundError:
        return ""


def summary(lab, who):
    lines = [json.loads(line) for line in text(lab, who + ".events").splitlines()]
    found = [line for line in lines if line["type"] == "summary"]
    assert found, f"  {who}: no summary; {text(lab, who + '.err')}"
    return found[-1]


def speak(pipe, seconds, clock=1.0):
    """Writes pieces of 10 ms by a clock that goes `clock` as fast; when each burst was written."""
    written = []
    began = time.monotonic()
    try:
        for piece in range(int(seconds * 100)):
            due = began + piece / 100 / clock
            time.sleep(max(0, due - time.monotonic()))
            frame = piece * PIECE
            place = frame % int(PERIOD * RATE)
            samples = BURST[place : place + PIECE] if place < len(BURST) else array.array("h")
            samples.extend([0] * (PIECE - len(samples)))
            if place == 0:
                written.append(time.monotonic())
            pipe.write(samples.tobytes())
            pipe.flush()
    except BrokenPipeError:
        pass  # The call is over.
    return written


def hear(pipe, heard):
    """Appends when the first sample of each burst came, until the pipe ends."""
    last = -1.0
    while data := os.read(pipe.fileno(), 2 * PIECE):
        now = time.monotonic()
        samples = array.array("h", data[: len(data) // 2 * 2])
        if samples and max(map(abs, samples)) > 4000 and now - last > PERIOD / 2:
            heard.append(now)
            last = now


def delays(written, heard):
    """Of each burst heard the seconds since the last one written before."""
    found = []
    for moment in heard:
        before = [when for when in written if when <= moment]
        if before:
            found.append(moment - before[-1])
    return found


@scenario
def pipes_are_a_microphone_and_a_loudspeaker(lab):
    lab.rendezvous()
    bob = listener(lab, "--save", "-")
    heard = []
    ear = threading.Thread(target=hear, args=(bob.stdout, heard))
    ear.start()
    alice = talker(lab, "--play", "-", "--duration", "15")
    # A quartz that is 0.05 % fast: in 15 s more than the queue may hold of it is not noticed.
    written = speak(alice.stdin, 16, clock=1.0005)
    equal(alice.wait(10), 0, f"exit code of alice ({text(lab, 'alice.err')})")
    equal(bob.wait(10), 0, f"exit code of bob ({text(lab, 'bob.err')})")
    ear.join()
    assert "Registered as bob" in text(lab, "bob.err"), "  what is said goes to standard error"
    found = [delay * 1000 for delay in delays(written, heard)]
    assert len(found) >= 25, f"  bursts heard: {len(found)} of {len(written)}"
    ear_ms = summary(lab, "bob")["audio"]["received"]["mouthToEarMs"]["p50"]
    more = statistics.median(found) - ear_ms
    words = f"mouth to ear {ear_ms:.0f} ms, through the pipes {more:.0f} ms more"
    assert more <= 40, f"  {words}"
    return words


@scenario
def a_file_through_a_pipe_is_heard_whole(lab):
    lab.rendezvous()
    bob = listener(lab, "--save", "-")
    heard = []
    ear = threading.Thread(target=lambda: heard.append(bob.stdout.read()))
    ear.start()
    alice = talker(lab, "--play", "-", "--play-format", "24000")
    alice.stdin.write(array.array("h", ([6000] * 24 + [-6000] * 24) * 2000).tobytes())
    alice.stdin.close()
    equal(alice.wait(20), 0, f"exit code of alice ({text(lab, 'alice.err')})")
    equal(bob.wait(10), 0, f"exit code of bob ({text(lab, 'bob.err')})")
    ear.join()
    samples = array.array("h", heard[0])
    loud = sum(1 for value in samples if abs(value) > 1500)
    # 4 s of 500 Hz; some of it lies near zero.
    assert 3.2 * RATE <= loud <= 4.2 * RATE, f"  {loud / RATE:.2f} s of it were heard"
    return f"{len(samples) / RATE:.1f} s on standard output"


@scenario
def a_sound_server_carries_both_ends(lab):
    if not shutil.which("pulseaudio") or not shutil.which("parec"):
        return "skipped: no pulseaudio (tools/setup --sound)"
    socket = lab.path("sound.socket")
    modules = [
        f"module-native-protocol-unix auth-anonymous=1 socket={socket}",
        "module-null-sink sink_name=mic rate=48000",
        "module-null-sink sink_name=ear rate=48000",
    ]
    loads = [word for module in modules for word in ("-L", module)]
    home = dict(os.environ, HOME=lab.folder, XDG_RUNTIME_DIR=lab.folder)
    with open(lab.path("pulse.err"), "wb") as errors:
        server = subprocess.Popen(
            ["pulseaudio", "-n", "--daemonize=no", "--exit-idle-time=-1", "--use-pid-file=no",
             "--disable-shm=yes", *loads], env=home, stderr=errors, stdout=errors,
        )  # fmt: skip
    programs = [server]
    try:
        return through_server(lab, socket, programs)
    finally:
        for program in reversed(programs):
            program.kill()
            program.wait()


def through_server(lab, socket, programs):
    end = time.monotonic() + 10
    while not os.path.exists(socket):
        assert time.monotonic() < end, f"  pulseaudio did not start: {text(lab, 'pulse.err')}"
        time.sleep(0.05)

    def sound(program, device, **streams):
        words = [program, f"--server=unix:{socket}", f"--device={device}", "--raw",
                 "--format=s16le", "--rate=48000", "--channels=1", "--latency-msec=20"]  # fmt: skip
        programs.append(start(lab, None, *words, label=program + device, **streams))
        return programs[-1]

    lab.rendezvous()
    bob = listener(lab, "--save", "-")
    programs.append(bob)
    sound("pacat", "ear", stdin=bob.stdout)
    recorder = sound("parec", "ear.monitor")
    heard = []
    ear = threading.Thread(target=hear, args=(recorder.stdout, heard))
    ear.start()
    microphone = sound("parec", "mic.monitor")
    alice = talker(lab, "--play", "-", "--duration", "10", stdin=microphone.stdout)
    programs.append(alice)
    mouth = sound("pacat", "mic", stdin=subprocess.PIPE)
    written = speak(mouth.stdin, 11)
    equal(alice.wait(10), 0, f"exit code of alice ({text(lab, 'alice.err')})")
    equal(bob.wait(10), 0, f"exit code of bob ({text(lab, 'bob.err')})")
    recorder.kill()
    ear.join()
    found = [delay * 1000 for delay in delays(written, heard)]
    assert len(found) >= 15, f"  bursts heard: {len(found)} of {len(written)}"
    ear_ms = summary(lab, "bob")["audio"]["received"]["mouthToEarMs"]["p50"]
    return (
        f"{len(found)} of {len(written)} bursts; {statistics.median(found):.0f} ms from program to"
        f" program through PulseAudio twice, of which mouth to ear {ear_ms:.0f} ms"
    )


@scenario
def pictures_come_through_a_pipe(lab):
    lab.rendezvous()
    bob = listener(lab, "--save-video", lab.path("seen.ivf"), "--play", quiet(lab))
    alice = talker(lab, "--video", "-", "--play", quiet(lab))
    picture = bytes(range(240)) * 320 + b"\x80" * (320 * 240 // 2)
    alice.stdin.write(b"YUV4MPEG2 W320 H240 F15:1 Ip A1:1 C420\n")
    try:
        for number in range(75):
            alice.stdin.write(b"FRAME\n" + bytes([number]) * 320 + picture[320:])
            alice.stdin.flush()
            time.sleep(1 / 15)
    except BrokenPipeError:
        pass  # The call is over.
    equal(alice.wait(15), 0, f"exit code of alice ({text(lab, 'alice.err')})")
    equal(bob.wait(10), 0, f"exit code of bob ({text(lab, 'bob.err')})")
    with open(lab.path("seen.ivf"), "rb") as file:
        frames = int.from_bytes(file.read(28)[24:28], "little")
    assert frames >= 30, f"  pictures seen: {frames} in 4 s of 15 a second"
    return f"{frames} pictures seen"


def quiet(lab):
    with wave.open(lab.path("quiet.wav"), "wb") as file:
        file.setnchannels(1), file.setsampwidth(2), file.setframerate(RATE)
        file.writeframes(bytes(2 * 4 * RATE))
    return lab.path("quiet.wav")
