"""Pictures by Janus' videoroom on the lines of the step `pictures` of report.py.

Wants janus and chromium (apt). Chromium in namespace a publishes for all hosts, with three layers of VP8 and Opus
each. Janus runs in r. One Chromium in b watches behind the shaped line, and one in r by a wide line. Janus is asked
by a Unix socket and Chromium by pipes, so that signalling takes nothing of the line.
"""

import json
import os
import shutil
import signal
import socket
import subprocess
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "tools", "acceptance"))
sys.path.insert(0, os.path.join(ROOT, "Benchmarks"))
import chromium_end  # noqa: E402
import probes  # noqa: E402
from janus_page import PATIENCE, Page, until  # noqa: E402
from janus_room import others  # noqa: E402
from lab import Lab, sh  # noqa: E402

BASE = "/usr/lib/x86_64-linux-gnu/janus"
CONFIG = """
general: {{
  configs_folder = "{folder}"
  plugins_folder = "{base}/plugins"
  transports_folder = "{base}/transports"
  events_folder = "{folder}"
  loggers_folder = "{folder}"
  debug_level = 3
  server_name = "measured"
  session_timeout = 0
}}
nat: {{ ice_enforce_list = "eth0" ignore_mdns = true }}
plugins: {{ disable = "{plugins}" }}
transports: {{ disable = "{transports}" }}
"""
SOCKET = """
general: {{ enabled = true json = "compact" path = "{path}" type = "SOCK_SEQPACKET" }}
admin: {{ admin_enabled = false }}
"""
#: Bit/s and halvings of 1280x720 of each substream, as Janus counts them. Together 2.5 Mbit/s, as our hosts send.
SUBSTREAMS = [(100_000, 2), (500_000, 1), (1_900_000, 0)]
#: Share of the bits and pictures a second of VP8's three temporal layers, as libwebrtc gives them out.
TEMPORAL = [(0.4, 7.5), (0.6, 15), (1, 30)]
#: The ladder of what is asked for, (substream, temporal layer) or no pictures. A viewer could ask for (1, 0) and (2, 0) too.
STEPS = [None, (0, 0), (0, 1), (0, 2), (1, 1), (1, 2), (2, 1), (2, 2)]


class Room:
    """A room of Janus in namespace r."""

    def __init__(self, lab):
        folder, path = lab.path("janus"), lab.path("socket")
        os.mkdir(folder)
        texts = {
            "janus": CONFIG.format(
                folder=folder,
                base=BASE,
                plugins=others(BASE + "/plugins", "videoroom"),
                transports=others(BASE + "/transports", "pfunix"),
            ),
            "janus.transport.pfunix": SOCKET.format(path=path),
            "janus.plugin.videoroom": "general: { }\n",
        }
        for name, text in texts.items():
            with open(os.path.join(folder, name + ".jcfg"), "w") as file:
                file.write(text)
        start(lab, folder, path)
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET)
        self.socket.settimeout(PATIENCE)
        self.socket.connect(path)
        self.count, self.session = 0, None
        self.session = self.ask("create")["data"]["id"]
        room = {"request": "create", "room": 5, "publishers": 6, "opus_dtx": True, "bitrate": 0}
        self.message(self.handle(), room)

    def ask(self, what, **words):
        self.count += 1
        words.update(janus=what, transaction=str(self.count))
        if self.session:
            words["session_id"] = self.session
        self.socket.send(json.dumps(words).encode())
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            text = self.socket.recv(1 << 20)
            if not text:
                raise OSError("Janus ended")
            told = json.loads(text)
            if told.get("transaction") == str(self.count) and told["janus"] != "ack":
                wrong = told.get("error", {}).get("reason")
                wrong = wrong or told.get("plugindata", {}).get("data", {}).get("error")
                if wrong:
                    raise OSError(f"Janus: {wrong}")
                return told
        raise OSError(f"Janus did not answer within {PATIENCE} s")

    def close(self):
        self.socket.close()

    def handle(self):
        return self.ask("attach", plugin="janus.plugin.videoroom")["data"]["id"]

    def message(self, handle, body, jsep=None):
        words = {"jsep": jsep} if jsep else {}
        return self.ask("message", handle_id=handle, body=body, **words)

    def publish(self, page, number):
        """Host `number`, from 1: the first one plays a tone, and the others silence, with few packets (DTX)."""
        encodings = [
            {"rid": rid, "maxBitrate": bits, "scaleResolutionDownBy": 1 << halvings,
             "scalabilityMode": "L1T3"}
            for rid, (bits, halvings) in zip("hml", reversed(SUBSTREAMS))
        ]  # fmt: skip
        handle = self.handle()
        body = {"request": "join", "ptype": "publisher", "room": 5, "id": number}
        self.message(handle, body)
        sdp = page.call(f"publish({440 if number == 1 else 0}, {json.dumps(encodings)})")
        if number > 1:
            sdp = sdp.replace("useinbandfec=1", "useinbandfec=1;usedtx=1")
        body = {"request": "publish", "audiocodec": "opus", "videocodec": "vp8"}
        told = self.message(handle, body, {"type": "offer", "sdp": sdp})
        page.call(f"answered({json.dumps(told['jsep']['sdp'])})")

    def watch(self, page, picked):
        """Subscribes to each host's sound (mid 0) and to the layers that were picked of its pictures (mid 1)."""
        streams = []
        for number, step in enumerate(picked, 1):
            streams.append({"feed": number, "mid": "0"})
            if step:
                words = {"substream": step[0], "temporal": step[1]}
                streams.append({"feed": number, "mid": "1", **words})
        handle = self.handle()
        body = {"request": "join", "ptype": "subscriber", "room": 5, "streams": streams}
        sdp = page.call(f"watch({json.dumps(self.message(handle, body)['jsep']['sdp'])})")
        self.message(handle, {"request": "start", "room": 5}, {"type": "answer", "sdp": sdp})


def start(lab, folder, path):
    """Starts Janus. About one time in ten its transport by Unix sockets is not there, and it ends at once."""
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end:
        words = ("-F", folder, "-C", os.path.join(folder, "janus.jcfg"))
        program = lab.run("r", "janus", *words)
        while time.monotonic() < end and program.process.poll() is None:
            if os.path.exists(path):
                return
            time.sleep(0.1)
    raise OSError(f"Janus did not start within {PATIENCE} s: {program.describe()}")


def write_picture(path):
    """A second of 1280x720 that can be played again and again: waves that move, with noise."""
    import numpy

    noise = numpy.random.default_rng(1)
    across, down = numpy.arange(1280)[None, :], numpy.arange(720)[:, None]
    with open(path, "wb") as file:
        file.write(b"YUV4MPEG2 W1280 H720 F30:1 Ip A1:1 C420\n")
        for number in range(30):
            turn = 2 * numpy.pi * number / 30
            waves = 60 * numpy.sin(across / 40 + turn) * numpy.cos(down / 30 - turn)
            luma = 128 + waves + noise.normal(0, 4, (720, 1280))
            file.write(b"FRAME\n" + luma.astype("uint8").tobytes())
            file.write(bytes([110]) * (640 * 360) + bytes([150]) * (640 * 360))


def picks(hosts, rate):
    """The most of the ladder that the line holds beside 32 kbit/s of sound, with a twentieth left free.

    Hosts are no more than one step apart.
    """

    def cost(step):
        bits = SUBSTREAMS[step[0]][0] * TEMPORAL[step[1]][0] if step else 0
        return bits * (1 + 80 / (1150 if bits > 100_000 else 400))

    left, most = 0.95 * rate - 32_000 - 50 * 80 * 8, [STEPS[0]] * hosts
    for level in range(hosts * (len(STEPS) - 1) + 1):
        every, more = divmod(level, hosts)
        after = STEPS[min(every + 1, len(STEPS) - 1)]
        tried = [after] * more + [STEPS[every]] * (hosts - more)
        if sum(map(cost, tried)) <= left:
            most = tried
    return most


def words_of(step):
    if not step:
        return "none"
    return f"{720 >> SUBSTREAMS[step[0]][1]}p at {TEMPORAL[step[1]][1]:g} a second"


def end_all(lab):
    """Chromium has many processes: all that run in the namespaces of the lab end."""
    for _ in range(50):
        told = [sh("ip", "netns", "pids", lab.ns(host), check=False).stdout for host in "abr"]
        pids = [int(word) for word in " ".join(told).split()]
        if not pids:
            return
        for pid in pids:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        time.sleep(0.1)


def busy():
    """Ticks that the processors worked, and all their ticks."""
    with open("/proc/stat") as file:
        ticks = [int(word) for word in file.readline().split()[1:9]]
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def watched(hosts, rate, picked, seconds, backlog):
    """What the viewers got, how long packets waited for the line, and how busy the processors were."""
    pages, rooms = [], []
    with Lab() as lab:
        try:
            probes.shape(lab, "b", "tbf", 1_000_000, rate)
            write_picture(lab.path("picture.y4m"))
            room = Room(lab)
            rooms.append(room)
            for host, name in zip("abr", ("all", "narrow", "wide")):
                pages.append(Page(lab, host, name))
            publisher, narrow, wide = pages
            for number in range(1, hosts + 1):
                room.publish(publisher, number)
            until(lambda: publisher.call("sending()"), "the hosts did not send all layers")
            room.watch(wide, [STEPS[-1]] * hosts)
            room.watch(narrow, picked)
            for page in (narrow, wide):
                page.call(f"measure({seconds * 1000 // 3}, {(seconds - 1) * 1000})")
            before = busy()
            waits = backlog(lab, rate, seconds)
            after = busy()
            found = [page.call("found") for page in (narrow, wide)]
            if not found[1]["bits"]:
                raise OSError("the viewer by the wide line had no pictures")
            return found, waits, (after[0] - before[0]) / (after[1] - before[1])
        finally:
            for open_ in pages + rooms:
                open_.close()
            end_all(lab)


def measure(row, backlog, lines, quick):
    """Each line twice: with the top layers, which Janus passes on by itself, and with layers picked for the line."""
    absent = [
        name
        for name, there in (
            ("janus", shutil.which("janus")),
            ("chromium", chromium_end.browser()),
        )
        if not there
    ]
    if absent:
        raise OSError(f"{' and '.join(absent)} not installed here (apt)")
    for hosts in (1, 3):
        for rate in lines:
            whole, fitting = [STEPS[-1]] * hosts, picks(hosts, rate)
            for picked in [whole] if whole == fitting else [whole, fitting]:
                tell(row, hosts, rate, picked, 15 if quick else 60, backlog)


def tell(row, hosts, rate, picked, seconds, backlog):
    measured = f"pictures of {hosts} by Janus' videoroom to a line of {rate / 1000:.0f} kbit/s"
    if all(step == STEPS[-1] for step in picked):
        measured += ", the top layers"
    else:
        measured += ", layers picked for it: " + ", ".join(map(words_of, picked))
    try:
        found, waits, used = watched(hosts, rate, picked, seconds, backlog)
    except (AssertionError, KeyError, OSError, subprocess.SubprocessError, probes.Skip) as error:
        row(measured, "", f"not measured: {str(error).strip().splitlines()[0]}")
        return
    narrow, wide = found
    sound = 100 * narrow["came"] / max(1, narrow["came"] + max(0, narrow["lost"]))
    ending = "" if narrow["state"] == "connected" else f", {narrow['state']} at the end"
    wait = sorted(waits)[len(waits) * 95 // 100] if waits else 0
    row(
        measured,
        "",
        f"{narrow['bits'] / 1000:.0f} kbit/s, {narrow['pictures'] / hosts:.0f} a second of each, "
        f"wait {wait:.0f} ms, at most {narrow['longest']:.0f} ms between two pictures, "
        f"{sound:.1f} % of the frames of sound{ending}",
        f"a wide line at the same time: {wide['bits'] / 1000:.0f} kbit/s, "
        f"{wide['pictures'] / hosts:.0f} a second of each; processors {used * 100:.0f} % busy",
    )
