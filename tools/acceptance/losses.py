"""What a call says it lost, wherever it says it: receiver, sender, capture and line agree (decision 0034)."""

import re
import subprocess

from lab import BIN
from lined import LinedLab, ensure_possible
from probes import Skip
from scenarios import equal, scenario


def inspected(path, direction):
    """(packets, lost) of the sound in a capture: 1 for what was sent, 2 for what came."""
    text = subprocess.run(
        [f"{BIN}/earshot", "inspect", path], capture_output=True, text=True, check=True
    ).stdout
    packets, lost = re.search(
        rf"RTP 0x4553000{direction}, Opus.*?: (\d+) packets .*? lost (\d+) of", text
    ).groups()
    return int(packets), int(lost)


def objects(program, kind):
    """The objects of that type in the program's last line of statistics."""
    last = [line for line in program.lines() if line.get("type") == "stats"][-1]
    assert all(entry["timestamp"] > 1.6e12 for entry in last["stats"]), (
        "  an object has no timestamp"
    )
    return [
        entry for entry in last["stats"] if entry["type"] == kind and entry.get("kind") == "audio"
    ]


@scenario
def loss_is_the_same_wherever_it_is_told(_):
    import time

    if reason := ensure_possible():
        raise Skip(reason)
    with LinedLab() as lab:
        lab.rendezvous()
        line = lab.line(["--up", "delay=10ms,loss=8%", "--down", "delay=10ms,loss=5%"])
        bob = lab.peer(
            "b", "answer", "--accept", "--calls", "1", "--pcap", lab.path("bob.pcapng"), name="bob"
        )
        bob.wait_event("registered")
        alice = lab.caller(
            "--pcap", lab.path("alice.pcapng"), "--frame", "10", "--bitrate", "32000"
        )
        lab.begin(line, alice)
        time.sleep(20)
        one, two, _ = lab.end(line, alice, bob)
        notes = []
        for speaker, hearer, program, files in [
            (one, two, alice, ("alice", "bob")),
            (two, one, bob, ("bob", "alice")),
        ]:
            heard = hearer["audio"]["received"]
            sent, lost = speaker["audio"]["sent"], heard["lost"]
            repaired = heard["recoveredByFec"] + heard["recoveredByRetransmission"]
            equal(repaired + heard["residualLost"], lost, "fates of the lost")
            # The capture has what the player had not yet taken at the end.
            packets, missed = inspected(lab.path(f"{files[1]}.pcapng"), 2)
            assert 0 <= packets - heard["packets"] <= 4 and 0 <= missed - lost <= 2, (
                f"  {packets}, {missed}: {heard}"
            )
            # What is on its way at the end, and lost before the first that came.
            missing = sent["packets"] - heard["packets"] - lost
            assert -2 <= missing <= 12, (
                f"  sent {sent['packets']}, came {heard['packets']}, lost {lost}"
            )
            reported = [entry["packetsLost"] for entry in objects(program, "remote-inbound-rtp")][
                -1
            ]
            assert lost * 0.75 <= reported <= lost, f"  {reported} reported of {lost}"
            assert lost > 15 and heard["residualLostFraction"] < heard["lostFraction"] / 2, (
                f"  {heard}"
            )
            agora = heard["remoteAudioStats"]
            assert agora["frozenRate"] < 20 and agora["totalActiveTime"] > 10_000, f"  {agora}"
            notes.append(
                f"{lost} of {lost + heard['packets']}, {heard['residualLost']} not repaired"
            )
        # Frames of 10 ms stay what they were asked to be.
        assert one["audio"]["sent"]["packets"] > 1800, (
            f"  {one['audio']['sent']['packets']} packets of 10 ms in 20 s"
        )
        return "; ".join(notes)
