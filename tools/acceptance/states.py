"""The states of streams as both programs tell them (scenarios 9 and 11 of the engine), and the echo."""

import array
import math
import wave

from scenarios import equal, outcome, ready, scenario, speech


def course(program, stream):
    """What was told of one stream: (old state, state, reason), in order."""
    return [
        (line["oldState"], line["state"], line["reason"])
        for line in program.lines()
        if line.get("name") == "streamChanged" and line["stream"] == stream
    ]


SENT = [
    ("idle", "publishing", "started"),
    ("publishing", "published", "firstFrame"),
    ("published", "idle", "callEnded"),
]
HEARD = [
    ("idle", "subscribing", "started"),
    ("subscribing", "subscribed", "firstFrame"),
    ("subscribed", "idle", "callEnded"),
]


@scenario
def streams_tell_their_states_once_and_in_order(lab):
    lab.rendezvous()
    speech(lab.path("talk.wav"), 3)
    bob = ready(lab, "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--play", lab.path("talk.wav"))
    outcome(alice, "completed", 0, 20)
    outcome(bob, "completed", 0)
    for program in (alice, bob):
        equal(course(program, "audioPublish"), SENT, f"what {program.label} sends")
        equal(course(program, "audioSubscribe"), HEARD, f"what {program.label} hears")
        equal(
            course(program, "remoteAudio"),
            [
                ("stopped", "starting", "started"),
                ("starting", "decoding", "firstFrame"),
                ("decoding", "stopped", "remoteOffline"),
            ],
            f"the other's audio at {program.label}",
        )
        for stream in ("localVideo", "remoteVideo", "videoPublish", "videoSubscribe"):
            equal(course(program, stream), [], f"{stream} of {program.label}")
    begin = [("stopped", "capturing", "started"), ("capturing", "encoding", "firstFrame")]
    equal(course(bob, "localAudio"), begin + [("encoding", "stopped", "callEnded")], "bob's audio")
    # The file of the caller ends before the call does.
    equal(
        course(alice, "localAudio"),
        begin + [("encoding", "stopped", "sourceEnded")],
        "alice's audio",
    )
    first = [
        line["elapsedMs"]
        for line in alice.lines()
        if line.get("name") == "streamChanged" and line["state"] == "decoding"
    ]
    assert len(first) == 1 and first[0] <= 1000, f"  first packet to first sound: {first} ms"
    return f"first packet to first sound: {first[0]} ms"


@scenario
def a_side_that_starts_muted_does_not_publish(lab):
    lab.rendezvous()
    speech(lab.path("talk.wav"), 3)
    bob = ready(lab, "--mute", "--calls", "1")
    alice = lab.peer("a", "call", "bob", "--play", lab.path("talk.wav"))
    outcome(alice, "completed", 0, 20)
    equal(
        course(bob, "audioPublish"),
        [("idle", "notPublished", "localMuted"), ("notPublished", "idle", "callEnded")],
        "what bob sends",
    )
    equal(course(bob, "localAudio"), [], "bob's audio")
    equal(course(alice, "remoteAudio"), [], "the other's audio at alice")
    equal(
        course(alice, "audioSubscribe")[-2:],
        [("subscribing", "notSubscribed", "remoteMuted"), ("notSubscribed", "idle", "callEnded")]
        if len(course(alice, "audioSubscribe")) == 3
        else [("idle", "notSubscribed", "remoteMuted"), ("notSubscribed", "idle", "callEnded")],
        "what alice hears",
    )


@scenario
def an_echo_says_it_again(lab):
    lab.rendezvous()
    speech(lab.path("talk.wav"), 3)
    ready(lab, "--echo", "--echo-delay", "2", "--calls", "1")
    alice = lab.peer(
        "a",
        "call",
        "bob",
        "--play",
        lab.path("talk.wav"),
        "--duration",
        "5",
        "--save",
        lab.path("heard.wav"),
    )
    outcome(alice, "completed", 0, 20)
    with wave.open(lab.path("heard.wav")) as file:
        rate, channels = file.getframerate(), file.getnchannels()
        samples = array.array("h", file.readframes(file.getnframes()))[::channels]

    def level(since, until):
        part = samples[int(since * rate) : int(until * rate)]
        return math.sqrt(sum(value * value for value in part) / max(1, len(part)))

    before, after = level(0.2, 1.8), level(2.4, 4.4)
    assert before < 30 < 500 < after, f"  level before the echo {before:.0f}, in it {after:.0f}"
    return f"level before the echo {before:.0f}, in it {after:.0f}"
