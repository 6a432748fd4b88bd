#!/usr/bin/env python3
"""upper-band.py CLIP.wav...: what voices have above 8 kHz, as UpperBandDetector hears it.

For each clip (48 kHz): how loud each 10 ms are above 9 kHz, in dB below the loudest 10 ms of late;
the loudest of them, and the level that every hundredth passes. The detector's limit is -42 dB: the
figures of docs/decisions/0021. Needs numpy, scipy, soundfile.
"""

import os
import sys

sys.path.pop(0)  # This folder holds a script that bears a library's name.

import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from scipy.signal import ellip, sosfilt  # noqa: E402

LIMIT, SILENCE, TRIAL = -42, 3.2e-7, 50
FILTER = ellip(8, 0.5, 62, 9000, "high", fs=48000, output="sos")


def levels(samples):
    """dB above 9 kHz, of each 10 ms of sound after the first half second."""
    count = len(samples) // 480
    whole = np.mean(samples[: count * 480].reshape(count, 480) ** 2, axis=1)
    upper = np.mean(sosfilt(FILTER, samples)[: count * 480].reshape(count, 480) ** 2, axis=1)
    loudest, found = 0.0, []
    for energy, above in zip(whole, upper):
        loudest = max(energy, loudest * 0.998)
        if energy > SILENCE:
            found.append(10 * np.log10(above / loudest + 1e-12))
    return np.array(found[TRIAL:])


def main(paths):
    if not paths or paths[0].startswith("-"):
        print(__doc__.strip())
        return 0 if paths == ["--help"] else 2
    print("| voice | loudest dB | 99 of 100 below | above the limit % |\n| --- | --- | --- | --- |")
    for path in paths:
        samples, rate = soundfile.read(path, dtype="float64", always_2d=True)
        if rate != 48000:
            print(f"upper-band: {path} is not at 48 kHz: convert it first", file=sys.stderr)
            return 2
        found = levels(samples[:, 0])
        name = os.path.splitext(os.path.basename(path))[0]
        print(
            f"| {name} | {found.max():.1f} | {np.percentile(found, 99):.1f} "
            f"| {100 * np.mean(found > LIMIT):.1f} |"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
