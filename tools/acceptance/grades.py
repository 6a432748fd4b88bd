"""Scenarios of the grades that a call gives its line, every two seconds and both ways."""

import signal
import time

from lined import LinedLab, ensure_possible
from probes import Skip
from scenarios import equal, scenario
from videos import at


def grades(program, zero):
    """(seconds, sending, receiving) of each report."""
    return [
        (at(line) - zero, numbers["earshotQualityTx"], numbers["earshotQualityRx"])
        for line in program.lines()
        if line.get("type") == "stats"
        for numbers in line["stats"]
        if numbers.get("id") == "path"
    ]


@scenario
def grades_fall_with_the_line_and_never_rise(_):
    if reason := ensure_possible():
        raise Skip(reason)
    lossy, cut, end = 8, 22, 29
    with LinedLab() as lab:
        lab.rendezvous()
        line = lab.line(
            [
                "--both",
                "rate=5M,queue=300ms,delay=30ms",
                "--at",
                f"{lossy}:both:loss=20%",
                "--at",
                f"{cut}:both:loss=100%",
            ]
        )
        bob = lab.peer("b", "answer", "--accept", "--calls", "1", name="bob")
        bob.wait_event("registered")
        alice = lab.caller()
        zero = lab.begin(line, alice)
        time.sleep(max(0, zero + end - time.time()))
        notes = []
        for program in (alice, bob):
            found = grades(program, zero)
            for way, place in (("sending", 1), ("receiving", 2)):
                course = [entry[place] for entry in found]
                equal(
                    course, sorted(course), f"grades of {program.label}'s {way} from best to worst"
                )

                def by_time(since, until, found=found, place=place):
                    return [entry[place] for entry in found if since <= entry[0] < until]

                assert max(by_time(4, lossy)) <= 2, (
                    f"  {program.label}'s {way} while the line was clean: {course}"
                )
                assert by_time(cut - 2, cut)[-1] in (4, 5), (
                    f"  {program.label}'s {way} with a fifth lost: {course}"
                )
                # Nothing at all in two seconds: by the second report.
                equal(set(by_time(cut + 4.1, end)), {6}, f"{program.label}'s {way} without a line")
            notes.append("".join(str(entry[2]) for entry in found))
        # Neither hears the other any more: a second signal does not wait for an answer.
        for program in (alice, bob):
            program.signal(signal.SIGINT)
    return f"received: {notes[0]}, {notes[1]}"
