"""Many programs that answer, at one address, when the rendezvous is killed and comes back."""

import signal
import time

from town import Town

BACK = 10  # seconds after the rendezvous listens again, at most


def registrations(program):
    """How often it has said that it is registered."""
    return sum(line.get("name") == "registered" for line in program.lines())


def until_all(programs, times, limit):
    """Seconds after which each one was registered so often; those that were not are missing."""
    began, waiting, took = time.monotonic(), list(programs), []
    while waiting and time.monotonic() - began < limit:
        still = [program for program in waiting if registrations(program) < times]
        took += [time.monotonic() - began] * (len(waiting) - len(still))
        waiting = still
        time.sleep(0.1)
    return took


def crowd(many, away):
    """All behind one address-restricted translator; the rendezvous is away for so many seconds."""
    rows, wrong = [], []
    with Town("address", "none") as town:
        service = town.server()
        answerers = [town.peer("a", "answer", "--accept", name=f"n{n}") for n in range(many)]
        first = until_all(answerers, 1, 120)
        for seconds in away:
            times = max(registrations(program) for program in answerers) + 1
            service.signal(signal.SIGKILL)
            service.wait(5)
            time.sleep(seconds)
            service = town.server()
            took = sorted(until_all(answerers, times, 6 * BACK))
            word = f"{len(took)} of {many}, the last after {took[-1] if took else 0:.1f} s"
            rows.append([f"{many}, away for {seconds} s", word, f"all in {BACK} s"])
            if len(took) < many or took[-1] > BACK:
                wrong.append(f"away for {seconds} s: {word}")
        gone = [program for program in answerers if program.process.poll() is not None]
        if len(first) < many or gone:
            wrong.append(f"{len(first)} registered at first, {len(gone)} gave up")
    return ["who", "registered again", "goal"], rows, wrong
