#!/usr/bin/env python3
"""opus-modes.py CLIP.wav...: what libopus makes of speech at 32 kbit/s, by its ways to spend bits.

For each mode: PESQ-WB of every clip (48 kHz) encoded and decoded again, mean and greatest length of
a packet, and thread CPU time to encode a frame. "classes" is variable bitrate at 29/32 of the rate,
at most 5/4 of the mean length, padded to 4/5, 1 or 5/4 of it (docs/decisions/0011); "up to 8 kHz"
codes nothing above, which is right where nothing is there (docs/decisions/0021).

Needs, in a virtual environment of the caller's: pip install pesq numpy scipy soundfile
"""

import ctypes
import ctypes.util
import os
import sys
import time

sys.path.pop(0)  # This folder holds a script that bears a library's name.

import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from pesq import pesq  # noqa: E402
from scipy.signal import resample_poly  # noqa: E402

OPUS = ctypes.CDLL(ctypes.util.find_library("opus") or "libopus.so.0")
VOIP, FRAME, LOOKAHEAD = 2048, 960, 312
SET_BITRATE, SET_VBR, SET_COMPLEXITY, SET_FEC, SET_CONSTRAINT = 4002, 4006, 4010, 4012, 4020
MAX_BANDWIDTH, WIDEBAND, FULLBAND = 4004, 1103, 1105
# name: bit/s asked for, variable, most bytes, lengths padded to, what band at most
MODES = {
    "constant": (32_000, 0, 1275, (), FULLBAND),
    "variable": (32_000, 1, 1275, (), FULLBAND),
    "variable, padded": (32_000, 1, 1275, (64, 80, 100), FULLBAND),
    "one length": (28_000, 1, 80, (80,), FULLBAND),
    "classes": (29_000, 1, 100, (64, 80, 100), FULLBAND),
    "constant, up to 8 kHz": (32_000, 0, 1275, (), WIDEBAND),
    "variable, up to 8 kHz": (32_000, 1, 1275, (), WIDEBAND),
    "classes, up to 8 kHz": (29_000, 1, 100, (64, 80, 100), WIDEBAND),
    "24 kbit/s, classes, up to 8 kHz": (21_750, 1, 75, (48, 60, 75), WIDEBAND),
}
OPUS.opus_encoder_create.restype = ctypes.c_void_p
OPUS.opus_decoder_create.restype = ctypes.c_void_p


def through(samples, rate, variable, most, classes, band):
    """-> what is heard, lengths, seconds of CPU a frame"""
    error = ctypes.c_int()
    encoder = ctypes.c_void_p(OPUS.opus_encoder_create(48000, 1, VOIP, ctypes.byref(error)))
    decoder = ctypes.c_void_p(OPUS.opus_decoder_create(48000, 1, ctypes.byref(error)))
    for request, value in (
        (SET_BITRATE, rate),
        (SET_VBR, variable),
        (SET_COMPLEXITY, 9),
        (SET_FEC, 1),
        (SET_CONSTRAINT, 0),
        (MAX_BANDWIDTH, band),
    ):
        OPUS.opus_encoder_ctl(encoder, request, ctypes.c_int(value))
    packet, heard, lengths, spent = ctypes.create_string_buffer(1500), [], [], 0.0
    output = np.zeros(FRAME, dtype=np.int16)
    for start in range(0, len(samples) - FRAME + 1, FRAME):
        frame = np.ascontiguousarray(samples[start : start + FRAME])
        before = time.thread_time()
        length = OPUS.opus_encode(
            encoder, frame.ctypes.data_as(ctypes.c_void_p), FRAME, packet, most
        )
        spent += time.thread_time() - before
        fitting = [size for size in classes if size >= length]
        if fitting and OPUS.opus_packet_pad(packet, length, fitting[0]) == 0:
            length = fitting[0]
        lengths.append(length)
        OPUS.opus_decode(decoder, packet, length, output.ctypes.data_as(ctypes.c_void_p), FRAME, 0)
        heard.append(output.copy())
    OPUS.opus_encoder_destroy(encoder)
    OPUS.opus_decoder_destroy(decoder)
    return np.concatenate(heard)[LOOKAHEAD:], lengths, spent / len(lengths)


def score(played, heard):
    length = min(len(played), len(heard))
    return pesq(
        16000,
        resample_poly(played[:length].astype(float), 1, 3),
        resample_poly(heard[:length].astype(float), 1, 3),
        "wb",
    )


def main(paths):
    if not paths or paths[0].startswith("-"):
        print(__doc__.strip())
        return 0 if paths == ["--help"] else 2
    clips = []
    for path in paths:
        samples, rate = soundfile.read(path, dtype="int16", always_2d=True)
        if rate != 48000:
            print(f"opus-modes: {path} is not at 48 kHz: convert it first", file=sys.stderr)
            return 2
        clips.append(samples[:, 0])
    names = [os.path.splitext(os.path.basename(path))[0] for path in paths]
    print(
        "| mode | "
        + " | ".join(f"PESQ {name}" for name in names)
        + " | bytes, mean | most | µs a frame |"
    )
    print("|" + " --- |" * (len(names) + 4))
    for mode, settings in MODES.items():
        results = [through(clip, *settings) for clip in clips]
        lengths = [length for result in results for length in result[1]]
        scores = " | ".join(f"{score(c, r[0]):.3f}" for c, r in zip(clips, results))
        cost = 1e6 * sum(r[2] for r in results) / len(results)
        print(
            f"| {mode} | {scores} | {np.mean(lengths):.1f} | {max(lengths)} | {cost:.0f} |",
            flush=True,
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
