"""Lines and voices drawn by a seed: what no constant can have been chosen with.

A draw has one line of each family. The words are those of tools/listening/LineWords.swift."""

import random


def near(source, low, high, digits=0):
    """Even in the logarithm: as often small as large."""
    value = low * (high / low) ** source.random()
    return round(value, digits) if digits else round(value)


def random_losses(source):
    return f"loss={near(source, 1, 35)}"


def bursts(source):
    return f"loss={near(source, 3, 20)},burst={near(source, 2, 7, 1)}"


def spells(source):
    return f"loss={near(source, 3, 15)},spell={near(source, 30, 250)}"


def exponential_jitter(source):
    loss = source.choice(["", f",loss={near(source, 1, 15)}"])
    return f"jitter95={near(source, 10, 120)}{loss}"


def heavy_tail(source):
    p95 = near(source, 10, 80)
    return f"pareto95={p95},most={round(p95 * source.uniform(3, 10))}"


def stalls(source):
    loss = source.choice(["", f",loss={near(source, 0.5, 4, 1)}"])
    return f"stall={near(source, 60, 450)}/{near(source, 1000, 8000)}{loss}"


def rate_drop(source):
    start = source.randint(3, 12)
    end = start + source.randint(4, 12)
    rate, queue = near(source, 28, 80), near(source, 100, 600)
    return f"rate={rate},queue={queue},from={start},until={end}"


def narrow(source):
    return f"rate={near(source, 36, 120)},queue={near(source, 100, 500)},jitter95={near(source, 3, 30)}"


def mixture(source):
    return (
        f"loss={near(source, 1, 12)},jitter95={near(source, 5, 60)},"
        f"stall={near(source, 50, 250)}/{near(source, 2000, 9000)}"
    )


#: title: what draws one.
FAMILIES = {
    "random losses": random_losses,
    "losses in bursts": bursts,
    "spells of loss": spells,
    "exponential jitter": exponential_jitter,
    "heavy-tailed jitter": heavy_tail,
    "stalls at random": stalls,
    "a drop of the rate": rate_drop,
    "a narrow line": narrow,
    "loss, jitter and stalls": mixture,
}
LANGUAGES = "en-gb en-us en-gb-scotland de fr-fr es it nl pl pt sv cs fi hu ro da nb".split()
VARIANTS = "m1 m2 m3 m4 m5 m6 m7 m8 f1 f2 f3 f4 f5".split()


def draw(seed):
    """[(family, words, voice)] of a draw: a round trip of 6 to 200 ms each."""
    drawn = []
    for family, make in FAMILIES.items():
        # Each family has a source of its own: a new family changes no other one's line.
        source = random.Random(f"{seed}/{family}")
        words = f"delay={near(source, 3, 100)},{make(source)}"
        drawn.append((family, words, f"{source.choice(LANGUAGES)}+{source.choice(VARIANTS)}"))
    return drawn
