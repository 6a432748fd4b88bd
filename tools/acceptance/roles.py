"""Scenarios 24 and 26 of the list in docs/scenarios.md: one channel to publish to, and roles."""

import signal
import time
import wave

from channels import joined, level, named, seconds_loud, summary, tone
from lab import ADDRESS, BIN, PORT
from scenarios import equal, scenario


def changes_role(program, result, count=1, seconds=3):
    """Asks a program for its other role; the line that says what became of it."""
    program.signal(signal.SIGUSR2)
    program.wait_line(lambda _: len(named(program, result)) == count, seconds)
    return named(program, result)[-1]


def refused(lab, *words):
    """What `earshot join` says of arguments that it does not take."""
    program = lab.run(
        "a", f"{BIN}/earshot", "join", *words, "--rendezvous", f"{ADDRESS['r']}:{PORT}",
        "--identity", lab.path("identity-refused"),
    )  # fmt: skip
    equal(program.wait(5), 2, f"exit code of {words}")
    with open(lab.path(program.label + ".err")) as file:
        return file.read()


@scenario
def scenario_24_one_publish_slot(lab):
    """Who is host of one channel and listens in another is heard in the first alone; further
    wishes are refused, and change nothing."""
    lab.rendezvous()
    for words, text in (
        (("tea", "--also", "milk:host"), "Only one channel can be published to."),
        (("tea", "--also", "tea"), "A channel is named twice."),
        (("",), "is not the name of a channel."),
    ):
        said = refused(lab, *words)
        equal(text in said, True, f"what is said of {words}: {said!r}")
    tone(lab.path("low.wav"), 440, 30)
    others = {
        room: joined(
            lab, "b", "--role", "audience", "--save", lab.path(room + ".wav"), "--duration", "10",
            identity=room, room=room,
        )
        for room in ("tea", "milk")
    }  # fmt: skip
    for program in others.values():
        program.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    alice = joined(
        lab, "a", "--role", "audience", "--also", "milk:host", "--play", lab.path("low.wav"),
        "--duration", "12", identity="alice",
    )  # fmt: skip
    others["milk"].wait_line(lambda line: line.get("name") == "firstFrameReceived", 5)
    time.sleep(2)
    # The slot is milk's: tea's is refused by the program itself.
    refusal = changes_role(alice, "roleChangeFailed")
    equal((refusal["channel"], refusal["role"]), ("tea", "audience"), f"the refusal ({refusal})")
    for room, program in others.items():
        equal(program.wait(15), 0, f"exit code ({program.describe()})")
        heard = summary(program)["membersHeard"]
        equal(heard, 1 if room == "milk" else 0, f"hosts that {room} heard")
    equal(alice.wait(15), 0, f"exit code ({alice.describe()})")
    equal(named(alice, "roleChanged"), [], "roles that changed")
    equal([line["uid"] for line in named(others["tea"], "userJoined")], [], "hosts of tea")
    loud = seconds_loud(lab.path("milk.wav"), 440, range(3, 9))
    equal(loud, [True] * 6, "seconds in which milk heard alice, after the refusal as well")


@scenario
def scenario_26_roles(lab):
    """Audience, host, audience; then the channel has as many hosts as may be."""
    lab.rendezvous(options=("--limit-channel-hosts", "2"))
    tone(lab.path("low.wav"), 440, 40)
    tone(lab.path("high.wav"), 700, 40)
    alice = joined(
        lab, "b", "--save", lab.path("alice.wav"), "--duration", "22", "--play",
        lab.path("low.wav"), identity="alice",
    )  # fmt: skip
    alice.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    carol = joined(
        lab, "a", "--role", "audience", "--play", lab.path("high.wav"), identity="carol",
    )  # fmt: skip
    carol.wait_line(lambda line: line.get("name") == "firstFrameReceived", 5)
    uid = named(carol, "channelJoined")[0]["uid"]
    time.sleep(2)
    found = changes_role(carol, "roleChanged")
    equal((found["oldRole"], found["role"]), ("audience", "host"), "the first change")
    alice.wait_line(lambda line: line.get("name") == "userJoined" and line["uid"] == uid, 2)
    time.sleep(4)
    found = changes_role(carol, "roleChanged", 2)
    equal((found["oldRole"], found["role"]), ("host", "audience"), "the second change")
    alice.wait_line(lambda line: line.get("name") == "userOffline" and line["uid"] == uid, 2)
    equal(named(alice, "userOffline")[-1]["reason"], "becameAudience", "how carol went")
    bob = joined(lab, "b", "--play", lab.path("low.wav"), identity="bob")
    alice.wait_line(lambda _: len(named(alice, "userJoined")) == 2, 5)
    found = changes_role(carol, "roleChangeFailed")
    equal((found["reason"], found["role"]), ("tooManyHosts", "audience"), "the third")
    for program in (carol, bob):
        time.sleep(1)
        program.signal(signal.SIGTERM)
        equal(program.wait(5), 0, f"exit code ({program.describe()})")
    equal(alice.wait(25), 0, f"exit code ({alice.describe()})")
    equal(len(named(carol, "roleChanged")), 2, "roles that carol changed to")
    with wave.open(lab.path("alice.wav")) as file:
        length = file.getnframes() // 48000
    loud = [
        "#" if level(lab.path("alice.wav"), 700, second) > 4000 else "." for second in range(length)
    ]
    pattern = "".join(loud).strip(".")
    equal(3 <= len(pattern) <= 5 and "." not in pattern, True, "".join(loud))
    return f"heard for about {len(pattern)} s as host, and not as audience"
