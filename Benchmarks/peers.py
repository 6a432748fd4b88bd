"""The same call with other programs, for tools/bench --peers: what installs is measured beside us."""

import os
import re
import shutil
import subprocess
import sys
import tempfile
import time
import wave

TICKS = os.sysconf("SC_CLK_TCK")
KEY = "key=(buffer)" + "0123456789abcdef" * 3 + "0123456789ab"
CAPS = (
    "application/x-srtp,media=audio,encoding-name=OPUS,payload=96,clock-rate=48000,"
    f"ssrc=(uint)1356955624,srtp-{KEY},srtp-cipher=aes-128-icm,srtp-auth=hmac-sha1-80,"
    "srtcp-cipher=aes-128-icm,srtcp-auth=hmac-sha1-80"
)


def measure(seconds, speech):
    """`speech`: ten seconds of raw s16le at 48 kHz, the same that our call ends say."""
    figures = aiortc(seconds, speech)
    for rate in ("cbr", "vbr"):
        figures.update(gstreamer(seconds, speech, rate))
    return figures


def aiortc(seconds, speech):
    """Two peers of aiortc's own making; the cheaper one counts."""
    with tempfile.TemporaryDirectory() as folder:
        python = os.path.join(folder, "venv", "bin", "python")
        try:
            subprocess.run(
                [sys.executable, "-m", "venv", os.path.join(folder, "venv")],
                check=True,
                capture_output=True,
                timeout=60,
            )
            subprocess.run(
                [python, "-m", "pip", "-q", "install", "aiortc"],
                check=True,
                capture_output=True,
                timeout=180,
            )
        except (subprocess.SubprocessError, OSError):
            print("   aiortc: skipped, it does not install here within 3 minutes")
            return {}
        sound = os.path.join(folder, "speech.wav")
        with wave.open(sound, "wb") as file:
            file.setparams((1, 2, 48000, 0, "NONE", ""))
            file.writeframes(speech)
        script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "aiortc_end.py")
        ends = [
            launch_quietly([python, script, role, folder, sound, str(seconds + 30)])
            for role in ("answer", "offer")
        ]
        try:
            time.sleep(10)
            if any(end.poll() is not None for end in ends):
                print("   aiortc: skipped, an end did not start")
                return {}
            before = [cpu_seconds(end.pid) for end in ends]
            time.sleep(seconds)
            share = [100 * (cpu_seconds(end.pid) - b) / seconds for end, b in zip(ends, before)]
            memory = [resident_mib(end.pid) for end in ends]
        finally:
            for end in ends:
                end.terminate()
                end.wait(10)
    print(
        f"   aiortc: {share[0]:.2f} and {share[1]:.2f} % of a core; "
        f"{memory[0]:.1f} and {memory[1]:.1f} MiB"
    )
    return {
        "peers.aiortc.cpuPercent": round(min(share), 3),
        "peers.aiortc.rssMiB": round(min(memory), 1),
    }


def gstreamer(seconds, speech, rate):
    """A sender and a receiver: together one call end. `cbr` is what its encoder does unasked."""
    if shutil.which("gst-launch-1.0") is None:
        print("   GStreamer: skipped, it is not installed (tools/setup --measure)")
        return {}
    port = 41000 + os.getpid() % 1000
    key = KEY.split(")")[1]
    with tempfile.NamedTemporaryFile(suffix=".raw", delete=False) as file:
        file.write(speech * (seconds // 10 + 3))
    send = (
        f"filesrc location={file.name} blocksize=1920 ! rawaudioparse use-sink-caps=false "
        "format=pcm pcm-format=s16le sample-rate=48000 num-channels=1 ! "
        "identity sync=true ! opusenc bitrate=32000 complexity=9 "
        f"bitrate-type={rate} inband-fec=true packet-loss-percentage=0 frame-size=20 "
        "audio-type=voice ! rtpopuspay pt=96 ssrc=1356955624 ! srtpenc "
        f"key={key} ! udpsink host=127.0.0.1 port={port}"
    )
    receive = (
        f'udpsrc port={port} address=127.0.0.1 caps="{CAPS}" ! srtpdec ! '
        "rtpjitterbuffer latency=60 ! rtpopusdepay ! opusdec use-inband-fec=true ! "
        "audioconvert ! fakesink sync=true"
    )
    processes = [launch(receive), launch(send)]
    try:
        time.sleep(5)
        if any(process.poll() is not None for process in processes):
            print("   GStreamer: skipped, a pipeline did not start")
            return {}
        before = [cpu_seconds(process.pid) for process in processes]
        time.sleep(seconds)
        used = [cpu_seconds(p.pid) - b for p, b in zip(processes, before)]
        memory = [resident_mib(process.pid) for process in processes]
    finally:
        for process in processes:
            process.terminate()
            process.wait(10)
        os.unlink(file.name)
    share = [100 * part / seconds for part in used]
    print(
        f"   GStreamer, {rate}: receive {share[0]:.2f} %, send {share[1]:.2f} % of a core; "
        f"{memory[0]:.1f} + {memory[1]:.1f} MiB"
    )
    return {
        f"peers.gstreamer.{rate}.cpuPercent": round(sum(share), 3),
        f"peers.gstreamer.{rate}.rssMiB": round(sum(memory), 1),
    }


def launch_quietly(command):
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def launch(pipeline):
    command = [
        "sh",
        "-c",
        "exec gst-launch-1.0 -q " + pipeline.replace("(", "\\(").replace(")", "\\)"),
    ]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)


def cpu_seconds(pid):
    with open(f"/proc/{pid}/stat") as file:
        fields = file.read().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def resident_mib(pid):
    with open(f"/proc/{pid}/status") as file:
        return int(re.search(r"VmRSS:\s*(\d+)", file.read()).group(1)) / 1024
