#!/usr/bin/env python3
"""pesq.py PLAYED.wav SAVED.wav [--reference DECODED.wav]: how good what was heard sounds.

Prints PESQ-WB (ITU-T P.862.2) of SAVED against PLAYED: the mean over pieces of 8 to 14 s, cut at
pauses and each aligned for itself. With --reference, a file that went through the codec alone
(encoded and decoded without a network), prints its score too, and what the network cost.

Needs, in a virtual environment of the caller's: pip install pesq numpy scipy soundfile
Exit status: 0 scored, 1 not scorable (too short, or nothing in common), 2 usage.
"""

import argparse
import math
import sys

sys.path.pop(0)  # This file bears the library's name: do not find it here.

import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from pesq import PesqError, pesq  # noqa: E402
from scipy.signal import correlate, resample_poly  # noqa: E402

RATE = 16000
SHORTEST, LONGEST = 8, 14


def load(path):
    samples, rate = soundfile.read(path, dtype="float64", always_2d=True)
    mono = samples.mean(axis=1)
    common = math.gcd(rate, RATE)
    return resample_poly(mono, RATE // common, rate // common)


def offset(reference, degraded):
    """By how many samples `degraded` is behind `reference`."""
    lags = correlate(degraded, reference, mode="full", method="fft")
    return int(np.argmax(np.abs(lags))) - (len(reference) - 1)


def pieces(reference):
    """Boundaries in samples, cut where 200 ms are quietest."""
    hop = RATE // 50
    count = len(reference) // hop
    energy = np.mean(reference[: count * hop].reshape(count, hop) ** 2, axis=1)
    smooth = np.convolve(energy, np.ones(10) / 10, mode="same")
    cuts = [0]
    while count - cuts[-1] > 50 * (LONGEST + SHORTEST // 2):
        first, last = cuts[-1] + 50 * SHORTEST, cuts[-1] + 50 * LONGEST
        cuts.append(first + int(np.argmin(smooth[first:last])))
    cuts.append(count)
    return [(a * hop, b * hop) for a, b in zip(cuts, cuts[1:])]


def score(reference, degraded):
    """The scores of all pieces, and the delay of each in milliseconds."""
    whole = offset(reference, degraded)
    scores, delays = [], []
    for start, end in pieces(reference):
        piece = reference[start:end]
        # Half a second around where the piece should be, for a delay that moves during a call.
        slack = RATE // 2
        low = max(0, start + whole - slack)
        near = degraded[low : max(low, end + whole + slack)]
        if len(near) < RATE // 4:
            continue
        begin = low + offset(piece, near)
        found = degraded[max(0, begin) : begin + len(piece)]
        if begin < 0:
            found = np.concatenate([np.zeros(min(-begin, len(piece))), found])
        found = np.pad(found, (0, len(piece) - len(found)))
        try:
            scores.append(pesq(RATE, piece.astype(np.float32), found.astype(np.float32), "wb"))
            delays.append((begin - start) * 1000 / RATE)
        except PesqError:
            continue  # A piece without speech has no score.
    return scores, delays


def report(name, reference, degraded):
    scores, delays = score(reference, degraded)
    if not scores:
        print(f"{name}: no piece could be scored (silent, or shorter than 250 ms)", file=sys.stderr)
        sys.exit(1)
    listed = " ".join(f"{value:.3f}" for value in scores)
    print(
        f"{name}: pesq_wb={np.mean(scores):.3f} min={np.min(scores):.3f} "
        f"offset_ms={np.median(delays):.1f} pieces={listed}"
    )
    return float(np.mean(scores))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("played")
    parser.add_argument("saved")
    parser.add_argument("--reference", help="the played file, encoded and decoded directly")
    options = parser.parse_args()
    played = load(options.played)
    heard = report("saved", played, load(options.saved))
    if options.reference:
        ceiling = report("reference", played, load(options.reference))
        print(f"cost: {ceiling - heard:+.3f}")


if __name__ == "__main__":
    main()
