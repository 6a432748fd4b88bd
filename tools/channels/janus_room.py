"""Janus' videoroom on loopback with one publisher and some subscribers, made with aiortc: what its process uses.

Wants /usr/bin/janus (apt) and aiortc, aiohttp (pip) in the Python that runs this.
"""

import asyncio
import fractions
import os
import subprocess
import tempfile
import time
import uuid

PORT = 18188
CONFIG = """
general: {{
  configs_folder = "{folder}"
  plugins_folder = "/usr/lib/x86_64-linux-gnu/janus/plugins"
  transports_folder = "/usr/lib/x86_64-linux-gnu/janus/transports"
  events_folder = "{folder}"
  loggers_folder = "{folder}"
  debug_level = 2
  server_name = "measured"
}}
media: {{ rtp_port_range = "20000-30000" }}
nat: {{ nice_debug = false ice_enforce_list = "lo" ignore_mdns = true }}
plugins: {{ disable = "{plugins}" }}
transports: {{ disable = "{transports}" }}
"""
HTTP = f"""
general: {{ json = "compact" base_path = "/janus" http = true port = {PORT} interface = "lo" https = false }}
admin: {{ admin_http = false admin_https = false }}
"""


def others(folder, wanted):
    return ",".join(
        name for name in sorted(os.listdir(folder)) if name.endswith(".so") and wanted not in name
    )


def start(folder):
    base = "/usr/lib/x86_64-linux-gnu/janus"
    with open(os.path.join(folder, "janus.jcfg"), "w") as file:
        file.write(
            CONFIG.format(
                folder=folder,
                plugins=others(base + "/plugins", "videoroom"),
                transports=others(base + "/transports", "janus_http.")
                if os.path.exists(base + "/transports")
                else "",
            )
        )
    with open(os.path.join(folder, "janus.transport.http.jcfg"), "w") as file:
        file.write(HTTP)
    with open(os.path.join(folder, "janus.plugin.videoroom.jcfg"), "w") as file:
        file.write("general: { }\n")
    return subprocess.Popen(
        ["janus", "-F", folder, "-C", os.path.join(folder, "janus.jcfg")],
        stdout=open(os.path.join(folder, "out"), "w"),
        stderr=subprocess.STDOUT,
    )


class Handle:
    """One plugin handle in a session of its own."""

    def __init__(self, http):
        self.http, self.events = http, []

    async def post(self, path, body):
        body["transaction"] = uuid.uuid4().hex
        url = f"http://127.0.0.1:{PORT}/janus{path}"
        async with self.http.post(url, json=body) as answer:
            return await answer.json()

    async def open(self):
        self.session = (await self.post("", {"janus": "create"}))["data"]["id"]
        body = {"janus": "attach", "plugin": "janus.plugin.videoroom"}
        self.id = (await self.post(f"/{self.session}", body))["data"]["id"]

    async def ask(self, body, jsep=None):
        message = {"janus": "message", "body": body}
        if jsep:
            message["jsep"] = jsep
        found = await self.post(f"/{self.session}/{self.id}", message)
        while found["janus"] != "success" and "plugindata" not in found:
            url = f"http://127.0.0.1:{PORT}/janus/{self.session}?maxev=1"
            async with self.http.get(url) as answer:
                found = await answer.json()
        if "error" in found.get("plugindata", {}).get("data", {}):
            raise OSError(found["plugindata"]["data"]["error"])
        return found


async def run(count, seconds, pid):
    import aiohttp
    from aiortc import MediaStreamTrack, RTCPeerConnection, RTCSessionDescription
    from aiortc.contrib.media import MediaBlackhole
    from av import AudioFrame
    from report_cpu import cpu_nanoseconds, resident

    class Noise(MediaStreamTrack):
        kind = "audio"

        def __init__(self):
            super().__init__()
            self.place, self.began = 0, time.monotonic()
            self.samples = [os.urandom(1920 // 8) * 8 for _ in range(16)]

        async def recv(self):
            await asyncio.sleep(max(0, self.began + self.place / 48000 - time.monotonic()))
            frame = AudioFrame(format="s16", layout="mono", samples=960)
            frame.planes[0].update(self.samples[self.place // 960 % 16])
            frame.pts, frame.sample_rate = self.place, 48000
            frame.time_base = fractions.Fraction(1, 48000)
            self.place += 960
            return frame

    async with aiohttp.ClientSession() as http:
        maker = Handle(http)
        for _ in range(100):
            try:
                await maker.open()
                break
            except (aiohttp.ClientError, OSError):
                await asyncio.sleep(0.1)
        idle = resident(pid)
        room = {"request": "create", "room": 5, "publishers": 6, "permanent": False}
        await maker.ask(room)
        publisher, ends = RTCPeerConnection(), []
        publisher.addTrack(Noise())
        await maker.ask({"request": "join", "ptype": "publisher", "room": 5, "id": 7})
        await publisher.setLocalDescription(await publisher.createOffer())
        local = publisher.localDescription
        found = await maker.ask(
            {"request": "publish", "audio": True, "video": False},
            {"type": local.type, "sdp": local.sdp},
        )
        await publisher.setRemoteDescription(RTCSessionDescription(**found["jsep"]))
        while publisher.connectionState != "connected":
            await asyncio.sleep(0.1)
        await asyncio.sleep(1)
        for _ in range(count):
            handle, end, sink = Handle(http), RTCPeerConnection(), MediaBlackhole()
            end.on("track", sink.addTrack)
            await handle.open()
            body = {"request": "join", "ptype": "subscriber", "room": 5, "streams": [{"feed": 7}]}
            found = await handle.ask(body)
            await end.setRemoteDescription(RTCSessionDescription(**found["jsep"]))
            await end.setLocalDescription(await end.createAnswer())
            local = end.localDescription
            await handle.ask(
                {"request": "start", "room": 5}, {"type": local.type, "sdp": local.sdp}
            )
            await sink.start()
            ends.append((end, handle))
        await asyncio.sleep(3)

        async def received():
            total = 0
            for end, _ in ends:
                for entry in (await end.getStats()).values():
                    if entry.type == "inbound-rtp":
                        total += entry.packetsReceived
            return total

        memory = (resident(pid) - idle) / 1024 / count
        before, cpu = await received(), cpu_nanoseconds(pid)
        await asyncio.sleep(seconds)
        cpu, came = cpu_nanoseconds(pid) - cpu, await received() - before
        for end, _ in ends:
            await end.close()
        await publisher.close()
        if came < count * seconds * 40:
            raise OSError(f"{came} packets came, not {count * seconds * 50}")
        return {"us": cpu / 1000 / came, "kib": memory}


def measure(count, seconds):
    with tempfile.TemporaryDirectory(prefix="earshot-janus-") as folder:
        process = start(folder)
        try:
            found = asyncio.run(run(count, seconds, process.pid))
        finally:
            process.terminate()
            process.wait(10)
    version = subprocess.run(
        ["dpkg-query", "-W", "-f", "${Version}", "janus"], capture_output=True, text=True
    )
    found["version"] = version.stdout or "of this host"
    return found


if __name__ == "__main__":
    print(measure(10, 10))
