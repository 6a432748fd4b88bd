#!/usr/bin/env python3
"""late-frame-cost.py CLIP.wav...: what a frame that comes too late costs, by what is done about it.

Speech through libopus (32 kbit/s, 20 ms frames); every three seconds or so, within speech, a frame
is late. What is missing is made up by the codec; then

  in place   sound goes on where it would be without the wait: what came late is left out
  whole      the late frame is played from its start, and the delay given back in the next pause
             of which 100 ms were heard

from the decoder's state of before either way, after a fade of 5 ms. Prints for each wait the loss of
PESQ-WB that one such frame in 14.5 s makes (decision 0020). Mono files of 48 kHz; the first 14.5 s of
each count. Needs libopus and, in a virtual environment: pip install pesq numpy scipy soundfile
"""

import ctypes
import sys

sys.path.pop(0)  # pesq.py beside this file bears the library's name: do not find it here.

import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from pesq import pesq  # noqa: E402
from scipy.signal import resample_poly  # noqa: E402

FRAME, FADE, LOOKAHEAD, LENGTH = 960, 240, 312, int(14.5 * 48000)
OPUS = ctypes.CDLL("libopus.so.0")
OPUS.opus_encoder_create.restype = OPUS.opus_decoder_create.restype = ctypes.c_void_p
OPUS.opus_encoder_ctl.argtypes = [ctypes.c_void_p, ctypes.c_int, ctypes.c_int]


def encode(samples):
    code, room = ctypes.c_int(), ctypes.create_string_buffer(1500)
    encoder = ctypes.c_void_p(OPUS.opus_encoder_create(48000, 1, 2048, ctypes.byref(code)))
    OPUS.opus_encoder_ctl(encoder, 4002, 32000)  # OPUS_SET_BITRATE
    packets = []
    for start in range(0, len(samples) - FRAME + 1, FRAME):
        frame = np.ascontiguousarray(samples[start : start + FRAME])
        count = OPUS.opus_encode(encoder, ctypes.c_void_p(frame.ctypes.data), FRAME, room, 1500)
        packets.append(room.raw[:count])
    return packets


class Decoder:
    def __init__(self):
        code = ctypes.c_int()
        self.state = ctypes.c_void_p(OPUS.opus_decoder_create(48000, 1, ctypes.byref(code)))
        self.size = OPUS.opus_decoder_get_size(1)

    def decode(self, packet):
        return self.run(packet, len(packet), FRAME)

    def conceal(self, count):
        steps = -(-count // 480)
        return np.concatenate([self.run(None, 0, 480) for _ in range(steps)])

    def run(self, packet, length, count):
        room = np.zeros(count, np.int16)
        OPUS.opus_decode(self.state, packet, length, ctypes.c_void_p(room.ctypes.data), count, 0)
        return room.astype(float)

    def keep(self):
        return ctypes.string_at(self.state, self.size)

    def restore(self, kept):
        ctypes.memmove(self.state, kept, self.size)


def fade(old, new):
    weight = (np.arange(len(old)) + 0.5) / len(old)
    return old * (1 - weight) + new * weight


def play(packets, late, wait, whole, is_quiet):
    """What is heard when the frames `late` come `wait` samples too late."""
    decoder, heard, number, owed, quiet = Decoder(), [], 0, 0, 0
    while number < len(packets):
        if number in late:
            kept = decoder.keep()
            made_up = decoder.conceal(wait + FADE)
            decoder.restore(kept)
            count = 1 if whole else wait // FRAME + 1
            frames = [decoder.decode(packet) for packet in packets[number : number + count]]
            rest = np.concatenate(frames)[0 if whole else wait :]
            rest[:FADE] = fade(made_up[wait : wait + FADE], rest[:FADE])
            heard += [made_up[:wait], rest]
            owed += wait if whole else 0
            number += count
            continue
        quiet = quiet + 1 if is_quiet[number] else 0
        frame = decoder.decode(packets[number])
        cut = min(owed, 480) if quiet >= 5 else 0
        if cut:
            frame = np.concatenate(
                [frame[: -cut - FADE], fade(frame[-cut - FADE : -cut], frame[-FADE:])]
            )
            owed -= cut
        heard.append(frame)
        number += 1
    return np.concatenate(heard)


def score(spoken, heard):
    count = min(len(spoken), len(heard) - LOOKAHEAD)
    parts = (spoken[:count].astype(float), heard[LOOKAHEAD:][:count])
    return pesq(16000, *(resample_poly(part, 1, 3).astype(np.float32) for part in parts), "wb")


def main(paths):
    waits, seeds = (5, 10, 15, 20, 30, 40, 60, 100), (1, 2, 3)
    losses = {(whole, wait): [] for whole in (False, True) for wait in waits}
    for path in paths:
        spoken = soundfile.read(path, dtype="int16")[0][:LENGTH]
        packets = encode(spoken)
        clean = play(packets, (), 0, False, [False] * len(packets))
        power = np.mean(clean.reshape(-1, FRAME) ** 2, axis=1)
        is_quiet = power <= 8 * np.percentile(power, 10) + 1074
        best = score(spoken, clean)
        for seed in seeds:
            chance, late, number = np.random.default_rng(seed), [], 0
            number = 25 + int(chance.integers(0, 150))
            while number < len(packets) - 20:
                if power[number] > 0.02 * np.percentile(power, 90):
                    late.append(number)
                    number += 150 + int(chance.integers(0, 40))
                number += 1
            for whole, wait in losses:
                heard = play(packets, late, wait * 48, whole, is_quiet)
                losses[whole, wait].append((best - score(spoken, heard)) / len(late))
    print("| ms late | " + " | ".join(str(wait) for wait in waits) + " |")
    print("| --- |" + " --- |" * len(waits))
    for whole, name in ((False, "in place"), (True, "whole")):
        cells = (f"{np.mean(losses[whole, wait]):.2f}" for wait in waits)
        print(f"| {name} | " + " | ".join(cells) + " |")


if __name__ == "__main__":
    main(sys.argv[1:]) if sys.argv[1:] else sys.exit(__doc__)
