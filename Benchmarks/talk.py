"""talk.py PEER say|hear FOLDER SPEECH.wav SECONDS: one end of a call in one direction, for tools/listen-peers.

`say` gives SPEECH, as a microphone would, 20 ms at a time; `hear` keeps what comes out, and when. Both leave
a JSON file in FOLDER with the time of their first sample, by CLOCK_BOOTTIME in seconds: `say` when its first
sample would have met the microphone, `hear` when the first sample of heard.wav met the ear.
"""

import asyncio
import fractions
import json
import os
import subprocess
import sys
import threading
import time
import wave

import chromium_end
import toxav_end

RATE = 48000
BLOCK = 960
PORT = 7500


def now():
    return time.clock_gettime(time.CLOCK_BOOTTIME)


def note(folder, name, **values):
    path = os.path.join(folder, name + ".json")
    with open(path + ".part", "w") as file:
        json.dump(values, file)
    os.rename(path + ".part", path)


def speech(path):
    with wave.open(path) as file:
        assert file.getframerate() == RATE and file.getnchannels() == 1
        return file.readframes(file.getnframes())


class Ear:
    """Puts blocks of sound where they sounded: each as soon as it came and the one before was over."""

    def __init__(self, folder):
        self.folder = folder
        self.start = None
        self.sound = bytearray()

    def take(self, block, at):
        if self.start is None:
            self.start = at
        behind = int((at - self.start) * RATE) - len(self.sound) // 2
        # A player that has run dry is silent until there is something again.
        if behind > BLOCK + BLOCK // 2:
            self.sound += bytes(2 * behind)
        self.sound += block

    def finish(self):
        with wave.open(os.path.join(self.folder, "heard.wav"), "wb") as file:
            file.setparams((1, 2, RATE, 0, "NONE", ""))
            file.writeframes(bytes(self.sound))
        note(self.folder, "hear", start=self.start)


# MARK: - GStreamer

CAPS = "application/x-rtp,media=audio,clock-rate=48000,encoding-name=OPUS,payload=96"
OPUS = "opusenc bitrate=32000 bitrate-type=vbr complexity=10 frame-size=20 audio-type=voice"
# name: (the encoder, what follows the payloader, caps, what precedes the depayloader, the decoder)
GSTREAMER = {
    "gstreamer": (OPUS, "", CAPS, "rtpjitterbuffer do-lost=true", "opusdec plc=true"),
    "gstreamer-60": (OPUS, "", CAPS, "rtpjitterbuffer latency=60 do-lost=true", "opusdec plc=true"),
    "gstreamer-fec": (
        OPUS + " inband-fec=true packet-loss-percentage=10",
        "",
        CAPS,
        "rtpjitterbuffer latency=120 do-lost=true",
        "opusdec plc=true use-inband-fec=true",
    ),
}


def gstreamer_say(peer, folder, path, seconds):
    encoder, after, _, _, _ = GSTREAMER[peer]
    pipeline = (
        f"fdsrc fd=0 blocksize={2 * BLOCK} ! rawaudioparse use-sink-caps=false format=pcm pcm-format=s16le "
        f"sample-rate={RATE} num-channels=1 ! {encoder} ! rtpopuspay pt=96 ! {after} "
        f"udpsink host={os.environ['B_ADDR']} port={PORT} sync=false async=false"
    )
    program = subprocess.Popen(["gst-launch-1.0", "-q"] + pipeline.split(), stdin=subprocess.PIPE)
    sound = speech(path)
    time.sleep(1)
    start = now()
    note(folder, "say", start=start)
    for number in range(min(len(sound) // (2 * BLOCK), int(seconds * 50))):
        # A frame can be had when its last sample was spoken.
        time.sleep(max(0, start + (number + 1) * BLOCK / RATE - now()))
        program.stdin.write(sound[2 * BLOCK * number : 2 * BLOCK * (number + 1)])
        program.stdin.flush()
    time.sleep(2)
    program.kill()


def gstreamer_hear(peer, folder, path, seconds):
    _, _, caps, before, decoder = GSTREAMER[peer]
    pipeline = (
        f"udpsrc port={PORT} caps={caps} ! {before} ! rtpopusdepay ! {decoder} ! "
        f"audio/x-raw,format=S16LE,channels=1,rate={RATE} ! fdsink fd=1 sync=true"
    )
    program = subprocess.Popen(["gst-launch-1.0", "-q"] + pipeline.split(), stdout=subprocess.PIPE)
    ear = Ear(folder)
    threading.Timer(seconds + 6, program.terminate).start()
    while True:
        block = os.read(program.stdout.fileno(), 1 << 16)
        if not block:
            break
        ear.take(block, now())
    program.wait()
    ear.finish()


# MARK: - aiortc


def put(path, text):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


async def take(path):
    while not os.path.exists(path):
        await asyncio.sleep(0.02)
    with open(path) as file:
        return file.read()


async def aiortc_end(role, folder, path, seconds):
    from aiortc import MediaStreamTrack, RTCPeerConnection, RTCSessionDescription
    from av import AudioFrame

    class Voice(MediaStreamTrack):
        kind = "audio"

        def __init__(self):
            super().__init__()
            self.sound = speech(path) if role == "say" else b""
            self.number = 0

        async def recv(self):
            if self.number == 0:
                self.start = now()
                note(folder, role + "-track", start=self.start)
                if role == "say":
                    note(folder, "say", start=self.start)
            await asyncio.sleep(max(0, self.start + (self.number + 1) * BLOCK / RATE - now()))
            block = self.sound[2 * BLOCK * self.number : 2 * BLOCK * (self.number + 1)]
            frame = AudioFrame(format="s16", layout="mono", samples=BLOCK)
            frame.planes[0].update(block.ljust(2 * BLOCK, b"\0"))
            frame.sample_rate, frame.pts = RATE, self.number * BLOCK
            frame.time_base = fractions.Fraction(1, RATE)
            self.number += 1
            return frame

    connection = RTCPeerConnection()
    ear = Ear(folder)

    async def listen(track):
        while True:
            try:
                frame = await track.recv()
            except Exception:  # The track is over.
                return
            samples = frame.to_ndarray()
            channels = len(frame.layout.channels)
            ear.take(samples.reshape(-1)[::channels].astype("<i2").tobytes(), now())

    if role == "hear":
        connection.on("track", lambda track: asyncio.ensure_future(listen(track)))
    connection.addTrack(Voice())
    offer, answer = os.path.join(folder, "offer"), os.path.join(folder, "answer")
    if role == "say":
        await connection.setLocalDescription(await connection.createOffer())
        put(offer, connection.localDescription.sdp)
        await connection.setRemoteDescription(RTCSessionDescription(await take(answer), "answer"))
    else:
        await connection.setRemoteDescription(RTCSessionDescription(await take(offer), "offer"))
        await connection.setLocalDescription(await connection.createAnswer())
        put(answer, connection.localDescription.sdp)
    await asyncio.sleep(seconds + 6)
    if role == "hear":
        ear.finish()
    await connection.close()


# MARK: - Earshot


def pulls(path):
    """Times of the pulls in a recording of arrivals (Sources/Audio/Playout/ArrivalRecording.swift)."""
    data = open(path, "rb").read()
    place, clock, found = 6, 0, []

    def number():
        nonlocal place
        value = shift = 0
        while True:
            byte = data[place]
            place += 1
            value |= (byte & 127) << shift
            shift += 7
            if byte < 128:
                return value

    def signed():
        value = number()
        return (value >> 1) ^ -(value & 1)

    while place < len(data):
        kind = data[place] & 7
        place += 1
        if kind == 0:
            clock += signed()
            found.append(clock / 1e9)
        elif kind == 5:
            number()
        elif kind != 6:
            if kind in (2, 3):
                number()
            clock += signed()
            signed()
            length = number()
            place += length
    return found


def began(path):
    """When the first 10 ms were given out: the ticks are even, so the least late of them says it."""
    times = pulls(path)
    return min(time - index // 2 * 0.02 for index, time in enumerate(times[:1000]))


def earshot_say(peer, folder, path, seconds):
    program = os.path.join(os.environ["EARSHOT_BIN"], "earshot")
    time.sleep(1.5)
    subprocess.run(
        [
            program,
            "call",
            "bob",
            "--rendezvous",
            f"{os.environ['B_ADDR']}:7400",
            "--identity",
            f"{folder}/alice",
            "--name",
            "alice",
            "--play",
            path,
            "--capture",
            f"{folder}/a.arrivals",
            "--quiet",
        ],
        timeout=seconds + 40,
        check=True,
    )
    # A frame is read when it is encoded: its first sample met the microphone 20 ms before.
    note(folder, "say", start=began(f"{folder}/a.arrivals") - 0.02)


def earshot_hear(peer, folder, path, seconds):
    binaries = os.environ["EARSHOT_BIN"]
    rendezvous = subprocess.Popen(
        [
            os.path.join(binaries, "earshot-rendezvous"),
            "--listen",
            "0.0.0.0:7400",
            "--data",
            f"{folder}/rendezvous",
        ],
        stdout=subprocess.DEVNULL,
    )
    time.sleep(0.5)
    with open(f"{folder}/summary.jsonl", "w") as lines:
        subprocess.run(
            [
                os.path.join(binaries, "earshot"),
                "answer",
                "--rendezvous",
                "127.0.0.1:7400",
                "--identity",
                f"{folder}/bob",
                "--name",
                "bob",
                "--accept",
                "--calls",
                "1",
                "--save",
                f"{folder}/heard.wav",
                "--capture",
                f"{folder}/b.arrivals",
                "--json",
            ],
            timeout=seconds + 40,
            stdout=lines,
        )
    rendezvous.terminate()
    rendezvous.wait()
    note(folder, "hear", start=began(f"{folder}/b.arrivals"))


def main(peer, role, folder, path, seconds):
    if peer in GSTREAMER:
        {"say": gstreamer_say, "hear": gstreamer_hear}[role](peer, folder, path, seconds)
    elif peer == "aiortc":
        asyncio.run(aiortc_end(role, folder, path, seconds))
    elif peer == "chromium":
        chromium_end.end(role, folder, path, seconds, Ear(folder), note, now)
    elif peer == "toxav" and role == "say":
        toxav_end.say(folder, speech(path), seconds, note, now)
    elif peer == "toxav":
        toxav_end.hear(folder, seconds, Ear(folder), now)
    else:
        {"say": earshot_say, "hear": earshot_hear}[role](peer, folder, path, seconds)


if __name__ == "__main__":
    main(*sys.argv[1:5], float(sys.argv[5]))
