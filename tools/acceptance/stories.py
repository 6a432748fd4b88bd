"""A call's whole story as an embedder's program of 60 lines prints it, held against docs/call-story.md."""

import os
import re
import time

from lab import ADDRESS, BIN, PORT, ROOT, sh
from probes import shape
from scenarios import ready, scenario
from videos import change

PAGE = os.path.join(ROOT, "docs", "call-story.md")
SECONDS = 76


def told(text):
    """The words of each line, without time and numbers, by what they are about, in order."""
    found = {}
    for line in text.splitlines():
        words = re.sub(r"[0-9]+(\.[0-9]+)?", "#", line.split(" s  ", 1)[1])
        found.setdefault(re.match(r"\w+", words)[0], []).append(words)
    return found


def play(lab):
    """Mute from 4 s to 6 s; 60 kbit/s from 10 s to 22 s; nothing at all from 40 s to 62 s."""
    lab.rendezvous()
    shape(lab, "a", "tbf", 2_000_000, 5_000_000, queue_ms=300)
    bob = ready(
        lab, "--accept", "--calls", "1", "--rejoin", "1", "--save-video", lab.path("seen.ivf")
    )
    program = lab.run(
        "a", f"{BIN}/CallStory", f"{ADDRESS['r']}:{PORT}", "bob", str(SECONDS), name="story"
    )
    bob.wait_event("connected")
    began = time.monotonic()

    def at(seconds):
        time.sleep(max(0, began + seconds - time.monotonic()))

    at(10)
    change(lab, "a", 60_000)
    at(22)
    change(lab, "a", 2_000_000)
    at(40)
    sh("ip", "-n", lab.ns("s"), "link", "set", "pa", "down")
    at(62)
    sh("ip", "-n", lab.ns("s"), "link", "set", "pa", "up")
    assert program.wait(30) == 0, program.describe()
    return open(program.out.name).read()


@scenario
def the_story_of_a_call_is_as_documented(lab):
    text = play(lab)
    with open(PAGE) as file:
        page = file.read()
    head, rest = page.split("```text\n", 1)
    before, tail = rest.split("```", 1)
    if os.environ.get("EARSHOT_RECORD"):
        with open(PAGE, "w") as file:
            file.write(f"{head}```text\n{text}```{tail}")
        return f"written: {len(text.splitlines())} lines"
    expected, found = told(before), told(text)
    for subject in sorted(set(expected) | set(found)):
        assert expected.get(subject) == found.get(subject), (
            f"  {subject}: documented {expected.get(subject)}, told {found.get(subject)}\n{text}"
        )
    return f"{len(text.splitlines())} lines, {len(found)} subjects"
