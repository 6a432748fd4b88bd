"""The lines of tools/listen-peers: what linkemu is told, and in what words a table says it."""

import freshlines

#: Of the fixed table: what the line turns into when the speech begins. 20 ms one way.
USUAL = {
    "clean": "",
    "5 % random": "loss=5%",
    "10 % random": "loss=10%",
    "20 % random": "loss=20%",
    "10 % bursty (3)": "ge=0.037,0.3333,1,0",
    "jitter p95 50": "jitter=exp:16.7,400",
    "jitter p95 50, 10 % random": "jitter=exp:16.7,400 loss=10%",
}
#: Irregular trouble, as far as it needs a line of its own.
IRREGULAR = {
    "freezes of 300 ms, mean 5 s": "stall=every:5000,300",
    "jitter Pareto, p95 50, at most 400": "jitter=pareto:11.2,2,400",
    "10 % bursty (8)": "ge=0.0139,0.125,1,0",
    "40 % random": "loss=40%",
    "Wi-Fi: 100 ms each 1 s, 2 %": "loss=2% stall="
    + ",".join(f"{second}-{second}.1" for second in range(6, 120)),
    "40 kbit/s, queue 300 ms": "rate=40k queue=300ms",
}
LINES = USUAL | IRREGULAR
DELAY = 20


def bursty(share, length):
    """Gilbert and Elliott's, per packet: so large a share is lost, so many in a row on average."""
    back = 1 / length
    return f"ge={back * share / (1 - share):.5f},{back:.5f},1,0"


def timed(share, milliseconds):
    return f"getime={milliseconds * (1 - share) / share:.0f},{milliseconds},1,0"


def translated(words, speech):
    """Words of tools/listening as those of linkemu, where the speech begins at `speech` s."""
    found, told = dict(word.split("=", 1) for word in words.split(",")), []
    found.pop("delay")
    loss = float(found.pop("loss", 0)) / 100
    if "burst" in found:
        told.append(bursty(loss, float(found.pop("burst"))))
    elif "spell" in found:
        told.append(timed(loss, float(found.pop("spell"))))
    elif loss:
        told.append(f"loss={loss * 100:g}%")
    if "jitter95" in found:
        told.append(f"jitter=exp:{float(found.pop('jitter95')) / 2.996:.1f},400")
    if "pareto95" in found:
        scale = float(found.pop("pareto95")) / 20**0.5
        told.append(f"jitter=pareto:{scale:.1f},2,{found.pop('most')}")
    if "stall" in found:
        length, gap = found.pop("stall").split("/")
        told.append(f"stall=every:{gap},{length}")
    if "from" in found:
        begin, end = (speech + float(found.pop(word)) for word in ("from", "until"))
        told.append(f"rate=0:100M,{begin:g}:{found.pop('rate')}k,{end:g}:100M")
    elif "rate" in found:
        told.append(f"rate={found.pop('rate')}k")
    if "queue" in found:
        told.append(f"queue={found.pop('queue')}ms")
    assert not found, found
    return " ".join(told)


def drawn(seed):
    """{title: words of tools/listening} of a draw."""
    return {
        f"{family}: {words.replace(',', ', ')}": words for family, words, _ in freshlines.draw(seed)
    }


def delay(words):
    """One way, in ms."""
    return int(words.split(",")[0].removeprefix("delay=")) if words.startswith("delay=") else DELAY
