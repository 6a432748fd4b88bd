"""One end of a call by Chromium (its own WebRTC: NetEQ, Opus as it comes), for talk.py.

Headless, on a page that this program serves: the speech goes in by Web Audio in place of a microphone, and what
the peer connection plays is kept by a MediaStreamTrackProcessor, each block with the time at which it came out.
The two ends pass their descriptions through files in the run's folder.
"""

import http.server
import os
import shutil
import struct
import subprocess
import sys
import threading
import time

PAGE = """<!doctype html><audio id="ear" autoplay></audio><script>
const role = location.hash.slice(1)
const say = (what, body) => fetch("/" + what, {method: "POST", body})
addEventListener("unhandledrejection", event => say("failed", String(event.reason)))
// Seconds of the program's clock at `performance.now()` = 0, by the quickest of some questions.
async function clock() {
  let best = [1e9, 0]
  for (let turn = 0; turn < 30; turn++) {
    const asked = performance.now()
    const there = Number(await (await fetch("/clock")).text())
    const back = performance.now()
    if (back - asked < best[0]) best = [back - asked, there - (asked + back) / 2000]
  }
  return best[1]
}
function gathered(connection) {
  return new Promise(done => {
    if (connection.iceGatheringState == "complete") return done()
    connection.onicegatheringstatechange = () =>
      connection.iceGatheringState == "complete" && done()
  })
}
async function speak(context, destination, zero) {
  const sound = await (await fetch("/speech")).arrayBuffer()
  const source = context.createBufferSource()
  source.buffer = await context.decodeAudioData(sound)
  source.connect(destination)
  const start = context.currentTime + 0.3
  source.start(start)
  // A sample is given to the encoder when the clock of the context passes it; that goes in steps,
  // so the least late look at it says when.
  let late = 1e9
  for (let turn = 0; turn < 200; turn++) {
    await new Promise(done => setTimeout(done, 7))
    late = Math.min(late, performance.now() / 1000 - context.currentTime)
  }
  await say("start", String(zero + late + start))
}
async function listen(track, zero) {
  document.getElementById("ear").srcObject = new MediaStream([track])
  const reader = new MediaStreamTrackProcessor({track}).readable.getReader()
  let waiting = []
  setInterval(() => {
    if (waiting.length) say("heard", new Blob(waiting.splice(0)))
  }, 500)
  while (true) {
    const {value, done} = await reader.read()
    if (done) return
    const at = zero + performance.now() / 1000
    const plane = new Float32Array(value.numberOfFrames)
    value.copyTo(plane, {planeIndex: 0, format: "f32-planar"})
    const head = new DataView(new ArrayBuffer(16))
    head.setFloat64(0, at, true)
    head.setUint32(8, value.sampleRate, true)
    head.setUint32(12, value.numberOfFrames, true)
    waiting.push(head.buffer, plane.buffer)
    value.close()
  }
}
async function main() {
  const zero = await clock()
  // Who may not hear the microphone is not told the addresses of the host.
  await navigator.mediaDevices.getUserMedia({audio: true})
  const context = new AudioContext({sampleRate: 48000})
  await context.resume()
  const destination = new MediaStreamAudioDestinationNode(context, {channelCount: 1})
  const silence = new ConstantSourceNode(context, {offset: 0})
  silence.connect(destination)
  silence.start()
  const connection = new RTCPeerConnection()
  connection.addTrack(destination.stream.getAudioTracks()[0], destination.stream)
  if (role == "hear") connection.ontrack = event => listen(event.track, zero)
  connection.onconnectionstatechange = () => {
    say("state", connection.connectionState)
    if (connection.connectionState == "connected" && role == "say")
      speak(context, destination, zero)
  }
  if (role == "say") {
    await connection.setLocalDescription(await connection.createOffer())
    await gathered(connection)
    await say("offer", connection.localDescription.sdp)
    const sdp = await (await fetch("/answer")).text()
    await connection.setRemoteDescription({type: "answer", sdp})
  } else {
    const sdp = await (await fetch("/offer")).text()
    await connection.setRemoteDescription({type: "offer", sdp})
    await connection.setLocalDescription(await connection.createAnswer())
    await gathered(connection)
    await say("answer", connection.localDescription.sdp)
  }
}
main()
</script>"""

WORDS = """--headless --no-sandbox --disable-gpu --disable-dev-shm-usage --no-first-run --mute-audio
  --use-fake-ui-for-media-stream --use-fake-device-for-media-stream
  --autoplay-policy=no-user-gesture-required --disable-background-timer-throttling
  --disable-renderer-backgrounding --disable-backgrounding-occluded-windows
  --disable-features=WebRtcHideLocalIpsWithMdns""".split()


def browser():
    """The program, or None."""
    found = map(shutil.which, ["chromium", "chromium-browser", "google-chrome"])
    return next(filter(None, found), None)


class End:
    """The page of one end, and what it has said."""

    def __init__(self, role, folder, path, ear, note, now):
        self.role, self.folder, self.path = role, folder, path
        self.ear, self.note, self.now = ear, note, now
        end = self

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def answer(self, body, kind="text/plain"):
                self.send_response(200)
                self.send_header("Content-Type", kind)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def do_GET(self):
                end.get(self)

            def do_POST(self):
                body = self.rfile.read(int(self.headers["Content-Length"]))
                end.post(self.path[1:], body)
                self.answer(b"")

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def get(self, request):
        what = request.path[1:]
        if what == "clock":
            request.answer(repr(self.now()).encode())
        elif what == "speech":
            with open(self.path, "rb") as file:
                request.answer(file.read(), "audio/wav")
        elif what in ("offer", "answer"):
            path = os.path.join(self.folder, what)
            while not os.path.exists(path):
                time.sleep(0.02)
            with open(path, "rb") as file:
                request.answer(file.read())
        else:
            request.answer(PAGE.encode() if what == "" else b"", "text/html")

    def post(self, what, body):
        if what in ("offer", "answer"):
            path = os.path.join(self.folder, what)
            with open(path + ".part", "wb") as file:
                file.write(body)
            os.rename(path + ".part", path)
        elif what == "start":
            self.note(self.folder, "say", start=float(body))
        elif what == "heard":
            self.hear(body)
        else:
            print(f"chromium: {self.role}: {what} {body.decode()[:300]}", file=sys.stderr)

    def hear(self, body):
        place = 0
        while place < len(body):
            at, rate, count = struct.unpack_from("<dII", body, place)
            assert rate == 48000, rate
            samples = struct.unpack_from(f"<{count}f", body, place + 16)
            whole = [int(max(-1, min(1, sample)) * 32767) for sample in samples]
            self.ear.take(struct.pack(f"<{count}h", *whole), at)
            place += 16 + 4 * count

    def run(self, seconds):
        profile = os.path.join(self.folder, f"chromium-{self.role}")
        page = f"http://127.0.0.1:{self.server.server_address[1]}/#{self.role}"
        words = [browser(), *WORDS, f"--user-data-dir={profile}", page]
        program = subprocess.Popen(words, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(seconds + 8)
        program.terminate()
        program.wait()
        shutil.rmtree(profile, ignore_errors=True)


def end(role, folder, path, seconds, ear, note, now):
    End(role, folder, path, ear, note, now).run(seconds)
    if role == "hear":
        ear.finish()
