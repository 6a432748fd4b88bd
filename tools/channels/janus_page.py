"""A page of Chromium in a namespace of the lab that publishes to Janus or watches by it; see janus_pictures.py."""

import json
import os
import select
import sys
import time

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
sys.path.insert(0, os.path.join(ROOT, "Benchmarks"))
import chromium_end  # noqa: E402

#: Seconds that any one question to Janus or Chromium may take.
PATIENCE = 30

PAGE = """<!doctype html><script>
const pause = ms => new Promise(done => setTimeout(done, ms))
const publishers = []
// Of each stream of pictures, by its mid: bytes by RTP timestamp of all frames that came whole, and when each
// picture that could be decoded came out, with its RTP timestamp.
const sizes = {}, pictures = {}
let camera, viewer, found
const counter = `onrtctransform = ({transformer}) => {
  const transform = (frame, out) => {
    postMessage([transformer.options, frame.getMetadata().rtpTimestamp, frame.data.byteLength])
    out.enqueue(frame)
  }
  transformer.readable.pipeThrough(new TransformStream({transform})).pipeTo(transformer.writable)
}`
const worker = new Worker(URL.createObjectURL(new Blob([counter])))
worker.onmessage = ({data: [mid, stamp, size]}) => sizes[mid][stamp] = size
async function gathered(connection) {
  for (let turn = 0; turn < 100 && connection.iceGatheringState != "complete"; turn++)
    await pause(50)
  return connection.localDescription.sdp
}
// A page that may not use a camera is not told the addresses of the host.
async function allowed(video) {
  camera = camera || await navigator.mediaDevices.getUserMedia({video, audio: true})
}
async function sound(hertz) {
  const context = new AudioContext({sampleRate: 48000})
  await context.resume()
  const destination = new MediaStreamAudioDestinationNode(context, {channelCount: 1})
  const loudness = new GainNode(context, {gain: hertz ? 0.27 : 0})
  const tone = new OscillatorNode(context, {frequency: hertz || 440})
  tone.connect(loudness).connect(destination)
  tone.start()
  return destination.stream.getAudioTracks()[0]
}
async function publish(hertz, sendEncodings) {
  await allowed({width: 1280, height: 720, frameRate: 30})
  const connection = new RTCPeerConnection()
  publishers.push(connection)
  const only = (kind, names) =>
    RTCRtpSender.getCapabilities(kind).codecs.filter(one => names.includes(one.mimeType))
  connection.addTransceiver(await sound(hertz), {direction: "sendonly"})
    .setCodecPreferences(only("audio", ["audio/opus"]))
  connection.addTransceiver(camera.getVideoTracks()[0].clone(), {direction: "sendonly", sendEncodings})
    .setCodecPreferences(only("video", ["video/VP8", "video/rtx"]))
  await connection.setLocalDescription(await connection.createOffer())
  return await gathered(connection)
}
async function answered(sdp) {
  await publishers.at(-1).setRemoteDescription({type: "answer", sdp})
}
// Whether each host sends all its layers.
async function sending() {
  for (const connection of publishers) {
    const all = [...(await connection.getStats()).values()]
    const layers = all.filter(one => one.type == "outbound-rtp" && one.kind == "video")
    if (layers.length < 3 || !layers.every(one => one.framesSent > 30)) return false
  }
  return true
}
async function look(mid, track) {
  pictures[mid] = []
  const reader = new MediaStreamTrackProcessor({track, maxBufferSize: 30}).readable.getReader()
  while (true) {
    const {value, done} = await reader.read()
    if (done) return
    pictures[mid].push([performance.now(), value.metadata().rtpTimestamp])
    value.close()
  }
}
async function watch(sdp) {
  await allowed(false)
  viewer = new RTCPeerConnection()
  viewer.ontrack = ({track, transceiver}) => {
    if (track.kind == "video") {
      sizes[transceiver.mid] = {}
      transceiver.receiver.transform = new RTCRtpScriptTransform(worker, transceiver.mid)
      return look(transceiver.mid, track)
    }
    const ear = new Audio()
    ear.srcObject = new MediaStream([track])
    ear.play()
  }
  await viewer.setRemoteDescription({type: "offer", sdp})
  await viewer.setLocalDescription(await viewer.createAnswer())
  return await gathered(viewer)
}
// Packets of sound that came, and that were lost.
async function packets() {
  const all = [...(await viewer.getStats()).values()]
  const sounds = all.filter(one => one.type == "inbound-rtp" && one.kind == "audio")
  const sum = name => sounds.reduce((total, one) => total + one[name], 0)
  return [sum("packetsReceived"), sum("packetsLost")]
}
// What comes between two moments, in ms from now.
function measure(first, last) {
  found = (async () => {
    await pause(first)
    const before = await packets(), began = performance.now()
    await pause(last - first)
    const after = await packets(), ended = performance.now()
    let longest = 0, bytes = 0, count = 0
    for (const [mid, all] of Object.entries(pictures)) {
      const within = all.filter(([at]) => at > began && at < ended)
      count += within.length
      bytes += within.reduce((sum, [, stamp]) => sum + (sizes[mid][stamp] || 0), 0)
      const times = [began, ...within.map(([at]) => at), ended]
      times.slice(1).forEach((at, index) => longest = Math.max(longest, at - times[index]))
    }
    const seconds = (ended - began) / 1000, state = viewer.connectionState
    const [came, lost] = after.map((value, index) => value - before[index])
    return {bits: bytes * 8 / seconds, pictures: count / seconds, longest, came, lost, state}
  })()
}
</script>"""


def until(condition, words):
    end = time.monotonic() + PATIENCE
    while not condition():
        if time.monotonic() > end:
            raise OSError(f"{words} within {PATIENCE} s")
        time.sleep(0.1)


class Page:
    """The page in a Chromium of one namespace, asked by the DevTools protocol."""

    def __init__(self, lab, host, name):
        for way in ("in", "out"):
            os.mkfifo(lab.path(f"{name}.{way}"))
        self.into = os.open(lab.path(name + ".in"), os.O_RDWR)
        self.out = os.open(lab.path(name + ".out"), os.O_RDWR | os.O_NONBLOCK)
        with open(lab.path("page.html"), "w") as file:
            file.write(PAGE)
        self.program = lab.run(
            host, "sh", "-c", 'into="$1" out="$2"; shift 2; exec "$@" 3<"$into" 4>"$out"', "sh",
            lab.path(name + ".in"), lab.path(name + ".out"), chromium_end.browser(),
            *chromium_end.WORDS, "--remote-debugging-pipe", "--no-proxy-server",
            f"--use-file-for-fake-video-capture={lab.path('picture.y4m')}",
            f"--user-data-dir={lab.path('profile-' + name)}", "file://" + lab.path("page.html"),
            name="chromium-" + name,
        )  # fmt: skip
        self.count, self.rest, self.session = 0, b"", None
        self.session = self.attach()
        until(lambda: self.call("typeof measure") == "function", "the page did not load")

    def attach(self):
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            for target in self.ask("Target.getTargets")["targetInfos"]:
                if target["url"].startswith("file:"):
                    words = {"targetId": target["targetId"], "flatten": True}
                    return self.ask("Target.attachToTarget", **words)["sessionId"]
            time.sleep(0.1)
        raise OSError("Chromium shows no page")

    def ask(self, method, **words):
        self.count += 1
        message = {"id": self.count, "method": method, "params": words}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.into, json.dumps(message).encode() + b"\0")
        end = time.monotonic() + PATIENCE
        while time.monotonic() < end:
            while b"\0" in self.rest:
                text, self.rest = self.rest.split(b"\0", 1)
                told = json.loads(text)
                if told.get("id") == self.count:
                    if "error" in told:
                        raise OSError(f"Chromium: {method}: {told['error']['message']}")
                    return told["result"]
            if select.select([self.out], [], [], 0.2)[0]:
                self.rest += os.read(self.out, 1 << 16)
            elif self.program.process.poll() is not None:
                raise OSError(f"Chromium ended: {self.program.stderr()[-200:]}")
        raise OSError(f"Chromium did not answer within {PATIENCE} s")

    def call(self, expression):
        words = {"expression": expression, "awaitPromise": True, "returnByValue": True}
        told = self.ask("Runtime.evaluate", **words)
        if "exceptionDetails" in told:
            details = told["exceptionDetails"]
            raise OSError(
                f"page: {details.get('exception', {}).get('description', details['text'])}"
            )
        return told["result"].get("value")

    def close(self):
        self.program.kill()
        os.close(self.into)
        os.close(self.out)
