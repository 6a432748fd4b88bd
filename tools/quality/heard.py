#!/usr/bin/env python3
"""heard.py PLAYED.wav HEARD.wav: what became of PLAYED, in numbers (one JSON object).

Sample 0 of both files is the same instant, so the lag of HEARD is the delay from mouth to ear.

  pesq_wb             ITU-T P.862.2, mean over pieces of at most 15 s
  pieces              the score of each
  delay_p50, _p95     ms: lag of each 320 ms of speech, by cross-correlation at 8 kHz
  delay_p95_settled   ms: the same from the second second on
  delay_first_minute, delay_last_minute  ms: median there, of what lasts two minutes or more
  gap_ms              speech of which nothing is heard: 10 ms blocks more than 25 dB below PLAYED
  zeros_ms            runs of 5 ms and more of digital silence within speech
  clicks_per_minute   blocks of 2 ms above 3 kHz that stand alone: 8 times as high as their
                      neighbourhood of 50 ms, and 4 times as high as anything in PLAYED there

Needs: pip install pesq numpy scipy soundfile. `heard.py --self-test` puts known clicks, gaps and
lags into noise and finds them again.
"""

import json
import sys
import warnings

sys.path.pop(0)  # pesq.py beside this file bears the library's name: do not find it here.

import numpy as np  # noqa: E402
import soundfile  # noqa: E402
from pesq import PesqError, pesq  # noqa: E402
from scipy.signal import butter, fftconvolve, resample_poly, sosfilt  # noqa: E402

warnings.filterwarnings("ignore")
RATE = 48000


def load(path):
    samples, rate = soundfile.read(path, dtype="float64", always_2d=True)
    mono = samples.mean(axis=1)
    return mono if rate == RATE else resample_poly(mono, RATE, rate)


def piece_of(samples, start, count):
    """`count` samples from `start`, zeros where there are none."""
    piece = np.zeros(count)
    low, high = max(0, start), min(len(samples), start + count)
    if high > low:
        piece[low - start : high - start] = samples[low:high]
    return piece


def block_levels(samples, size):
    count = len(samples) // size
    return np.sqrt(np.mean(samples[: count * size].reshape(count, size) ** 2, axis=1))


def best_lag(reference, degraded, start, count, low, high):
    """Lag in [low, high) at which reference[start:start+count] fits best, and how well (0..1)."""
    part = reference[start : start + count]
    around = piece_of(degraded, start + low, count + high - low - 1)
    products = fftconvolve(around, part[::-1], mode="valid")
    squares = np.concatenate([[0.0], np.cumsum(around**2)])
    energy = np.maximum(squares[count:] - squares[:-count], 0)
    fit = products / np.sqrt(energy * np.sum(part**2) + 1e-9)
    index = int(np.argmax(fit))
    return low + index, float(fit[index])


def lags(reference, degraded, whole):
    """(time in s, lag in s) of each 320 ms of speech that can be told."""
    rate = 8000
    low = resample_poly(reference, 1, 6)
    heard = resample_poly(degraded, 1, 6)
    size, hop = 2560, 640
    loud = np.sqrt(np.mean(low**2))
    found = []
    centre = int(whole * rate)
    for start in range(0, len(low) - size, hop):
        if np.sqrt(np.mean(low[start : start + size] ** 2)) < loud * 0.3:
            continue
        # First near the last lag, so that voices are not taken one pitch period off.
        near, fit = best_lag(low, heard, start, size, centre - 48, centre + 49)
        if fit < 0.8:
            far, better = best_lag(
                low, heard, start, size, int(whole * rate) - 2400, int(whole * rate) + 4800
            )
            if better > fit + 0.15:
                near, fit = far, better
        if fit > 0.6:
            found.append(((start + size / 2) / rate, near / rate))
            centre = near
    return found


def whole_lag(reference, degraded):
    low = resample_poly(reference, 1, 6)
    heard = resample_poly(degraded, 1, 6)
    fits = fftconvolve(heard, low[::-1])
    values = np.arange(len(fits)) - (len(low) - 1)
    near = (values > -800) & (values < 16000)
    return values[near][int(np.argmax(fits[near]))] / 8000


def follow(degraded, count, track, whole):
    """`degraded` on the time line of the reference, block by block of 10 ms."""
    times = np.array([time for time, _ in track]) if track else np.array([0.0])
    values = np.array([lag for _, lag in track]) if track else np.array([whole])
    moved = np.zeros(count)
    for start in range(0, count - 480, 480):
        nearest = int(np.argmin(np.abs(times - start / RATE)))
        moved[start : start + 480] = piece_of(degraded, start + int(values[nearest] * RATE), 480)
    return moved


def gaps(reference, moved):
    """Milliseconds of speech of which nothing is heard."""
    spoken, heard = block_levels(reference, 480), block_levels(moved, 480)
    least = spoken.copy()
    for shift in (-2, -1, 1, 2):
        least = np.minimum(least, np.roll(spoken, shift))
    is_speech = least > np.percentile(spoken, 95) * 0.03
    return 10 * int(np.sum(is_speech & (heard < least * 0.056)))


def zeros(reference, degraded, whole):
    """Milliseconds of digital silence, in runs of at least 5, where there is speech."""
    spoken = block_levels(reference, 480)
    is_speech = spoken > np.percentile(spoken, 95) * 0.03
    silent = np.abs(degraded) < 1.01 / 32768
    edges = np.flatnonzero(np.diff(np.concatenate([[0], silent.astype(int), [0]])))
    total = 0
    for start, end in zip(edges[::2], edges[1::2]):
        block = int(((start + end) / 2 - whole * RATE) / 480)
        near = is_speech[max(0, block - 3) : block + 4]
        if end - start >= 240 and 3 <= block < len(is_speech) - 3 and near.all():
            total += (end - start) / 48
    return round(total, 1)


def clicks(reference, degraded, whole, track=()):
    """Times in s. What PLAYED has itself is looked for where `track` says that it is heard."""
    times = np.array([time + lag for time, lag in track] or [0.0])
    delays = np.array([lag for _, lag in track] or [whole])
    sections = butter(4, 3000, "high", fs=RATE, output="sos")

    def peaks(samples):
        steps = np.abs(np.diff(sosfilt(sections, samples), prepend=0.0))
        count = len(steps) // 96
        return steps[: count * 96].reshape(count, 96).max(axis=1)

    heard, spoken = peaks(degraded), peaks(reference)
    found = []
    for index in np.flatnonzero(heard > 0.006):
        low, high = max(0, index - 12), index + 13
        around = np.concatenate([heard[low : max(low, index - 1)], heard[index + 2 : high]])
        if len(around) == 0 or heard[index] < 8 * np.median(around):
            continue
        nearest = int(np.argmin(np.abs(times - index * 0.002)))
        shift = int(round(delays[nearest] * 500))
        there = spoken[max(0, low - shift - 15) : max(0, high - shift + 15)]
        if len(there) and heard[index] < 4 * there.max():
            continue
        if not found or index - found[-1] > 5:
            found.append(index)
    return [index * 0.002 for index in found]


def bounds(reference, given):
    """Pieces in samples: between `given`, cut at the quietest 200 ms where longer than 15 s."""
    levels = np.convolve(block_levels(reference, 960), np.ones(10) / 10, mode="same")
    cuts = []
    for start, end in zip(given, given[1:]):
        cuts.append(start)
        while end - cuts[-1] > 15 * RATE:
            low, high = cuts[-1] // 960 + 8 * 50, min(cuts[-1] // 960 + 14 * 50, end // 960 - 100)
            cuts.append((low + int(np.argmin(levels[low:high]))) * 960)
    cuts.append(given[-1])
    return list(zip(cuts, cuts[1:]))


def score(reference, degraded, track, whole, given):
    scores = []
    for start, end in bounds(reference, given):
        inside = [lag for time, lag in track if start <= time * RATE < end]
        lag = int((np.median(inside) if inside else whole) * RATE)
        played = resample_poly(reference[start:end], 1, 3)
        heard = resample_poly(piece_of(degraded, start + lag, end - start), 1, 3)
        try:
            scores.append(pesq(16000, played.astype(np.float32), heard.astype(np.float32), "wb"))
        except PesqError:
            continue  # A piece without speech has no score.
    return [round(float(value), 3) for value in scores]


def settled_delays(track, seconds):
    """Of delays in ms: the 95th percentile after the first second, and medians of both ends."""

    def of(low, high, percentile):
        values = [1000 * lag for time, lag in track if low <= time < high]
        return round(float(np.percentile(values, percentile)), 1) if values else None

    found = {"delay_p95_settled": of(1, seconds, 95)}
    if seconds >= 120:
        found["delay_first_minute"] = of(0, 60, 50)
        found["delay_last_minute"] = of(seconds - 60, seconds, 50)
    return found


def measure(reference, degraded, given=None):
    """All numbers; `given` are the boundaries of the sounds that PLAYED is made of, in samples."""
    whole = whole_lag(reference, degraded)
    track = lags(reference, degraded, whole)
    values = [1000 * lag for _, lag in track] or [1000 * whole]
    moved = follow(degraded, len(reference), track, whole)
    scores = score(reference, degraded, track, whole, given or [0, len(reference)])
    found = clicks(reference, degraded, whole, track)
    return {
        "pesq_wb": round(float(np.mean(scores)), 3) if scores else None,
        "pieces": scores,
        "delay_p50": round(float(np.percentile(values, 50)), 1),
        "delay_p95": round(float(np.percentile(values, 95)), 1),
        **settled_delays(track, len(reference) / RATE),
        "gap_ms": gaps(reference, moved),
        "zeros_ms": zeros(reference, degraded, whole),
        "clicks_per_minute": round(len(found) * 60 * RATE / len(reference), 2),
        "clicks_at": [round(time, 3) for time in found[:10]],
    }


def self_test():
    random = np.random.default_rng(7)
    time = np.arange(8 * RATE) / RATE
    sound = np.convolve(random.normal(size=len(time)), np.ones(24) / 24, mode="same") * 0.1
    sound = sound * (0.6 + 0.4 * np.sin(2 * np.pi * 3 * time))
    heard = np.concatenate([np.zeros(3120), sound])
    for second in (1, 3, 5):
        heard[second * RATE + 777] += 0.3
    heard[6 * RATE : 6 * RATE + 4800] = 0
    whole = whole_lag(sound, heard)
    track = lags(sound, heard, whole)
    expected = abs(whole - 0.065) < 0.001 and all(abs(lag - 0.065) < 0.001 for _, lag in track)
    found = clicks(sound, heard, whole)
    assert expected and len(track) > 50, (whole, len(track))
    assert [round(value) for value in found[:3]] == [1, 3, 5], found
    assert len(clicks(sound, np.concatenate([np.zeros(3120), sound]), whole)) == 0
    assert 70 <= gaps(sound, follow(heard, len(sound), track, whole)) <= 110
    assert 99 <= zeros(sound, heard, whole) <= 101
    print("found again")


if __name__ == "__main__":
    if sys.argv[1:] == ["--self-test"]:
        self_test()
    elif len(sys.argv) == 3:
        print(json.dumps(measure(load(sys.argv[1]), load(sys.argv[2]))))
    else:
        sys.exit(__doc__)
