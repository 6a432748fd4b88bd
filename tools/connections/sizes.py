"""Paths that carry no long packets: from the beginning of a call, and from its middle on."""

import time

from lab import sh
from tables import Call
from town import Town

HEADERS = 28  # IPv4 and UDP
NEEDED = 1200  # the longest datagram of a registration, without them
BACK = 2000  # ms without a picture after the path has become narrower


def limit(town, most, is_on=True):
    """Drops what is longer than `most` bytes of datagram, wherever it arrives, and tells nobody."""
    for host in "abr":
        sh(
            "ip",
            "netns",
            "exec",
            town.outer(host),
            "iptables",
            "-w",
            "-t",
            "raw",
            "-A" if is_on else "-D",
            "PREROUTING",
            "-m",
            "length",
            "--length",
            f"{most + HEADERS + 1}:65535",
            "-j",
            "DROP",
        )


def sizes(starts, falls):
    """Rows: the longest datagram that passes; what becomes of a call."""
    rows, wrong = [], []
    for most in starts:
        cell, problem = beginning(most)
        rows.append([most, "from the beginning", cell])
        wrong += [f"{most} from the beginning: {problem}"] if problem else []
    for most in falls:
        cell, problem = falling(most)
        rows.append([most, "from the 6th second to the 16th", cell])
        wrong += [f"{most} in mid-call: {problem}"] if problem else []
    return ["longest datagram, bytes", "when", "call"], rows, wrong


def beginning(most):
    with Town("port", "port") as town:
        town.server()
        limit(town, most)
        if most < NEEDED:
            program = town.peer("a", "call", "bob", "--duration", "1", name="nobody")
            code = program.wait(20)
            said = " ".join(program.stderr().split())
            is_right = code == 3 and "long" in said
            return f"exit {code}: {said[:160]}", None if is_right else f"exit {code}: {said}"
        call = Call(town, 4)
        alice, bob = call.wait()
        whole = alice and bob and alice["outcome"] == bob["outcome"] == "completed"
        gaps = {host: gap[2] for host, gap in call.gaps().items()}
        return f"sound missing {max(gaps.values())} ms", None if whole and max(
            gaps.values()
        ) <= 200 else f"{gaps}"


def falling(most):
    with Town("port", "port") as town:
        town.server()
        call = Call(town, 22, "--video", "test", "--save-video", town.path("{n}-seen.ivf"))
        call.alice.wait_event("connected")
        time.sleep(5)
        limit(town, most)
        time.sleep(10)
        limit(town, most, False)
        alice, bob = call.wait(30)
        whole = alice and bob and alice["outcome"] == bob["outcome"] == "completed"
        if not whole:
            return "ended", f"{alice and alice['outcome']}, {bob and bob['outcome']}"
        sound = max(gap[2] for gap in call.gaps().values())
        freezes = [side["video"]["received"]["totalFreezesMs"] for side in (alice, bob)]
        pictures = max(freezes)
        cell = f"sound missing {sound} ms, pictures frozen {pictures} ms in all"
        problems = [f"sound missing {sound} ms"] if sound > 200 else []
        problems += [f"frozen {pictures} ms"] if pictures > BACK else []
        return cell, "; ".join(problems) or None
