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
    """What each line says, without its time and what it brings, by what it is about, in order."""
    found = {}
    for line in text.splitlines():
        words = line.split(" s  ", 1)[1]
        change = re.match(r"fallback.*(direction: \S+ isAudioOnly: \w+)", words)
        said = change[1] if change else words.split("(", 1)[0]
        # How good the sound is in each two seconds is the host's to say as well.
        if said != "audioQualityChanged":
            found.setdefault(re.split(r"\W", words, maxsplit=1)[0], []).append(said)
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
