"""aiortc_end.py offer|answer FOLDER SPEECH.wav SECONDS: one end of an audio call with aiortc.

The two ends pass their descriptions through files in FOLDER, talk for SECONDS, and decode what they
hear. tools/bench --peers starts two of them and reads their CPU time.
"""

import asyncio
import os
import sys

from aiortc import RTCPeerConnection, RTCSessionDescription
from aiortc.contrib.media import MediaBlackhole, MediaPlayer


def put(path, text):
    with open(path + ".part", "w") as file:
        file.write(text)
    os.rename(path + ".part", path)


async def take(path):
    for _ in range(400):
        if os.path.exists(path):
            with open(path) as file:
                return file.read()
        await asyncio.sleep(0.05)
    sys.exit(f"aiortc_end: nothing came in {path}")


async def main(role, folder, speech, seconds):
    connection = RTCPeerConnection()
    ear = MediaBlackhole()
    connection.on("track", lambda track: ear.addTrack(track))
    player = MediaPlayer(speech, loop=True)
    connection.addTrack(player.audio)
    offer, answer = os.path.join(folder, "offer"), os.path.join(folder, "answer")
    if role == "offer":
        await connection.setLocalDescription(await connection.createOffer())
        put(offer, connection.localDescription.sdp)
        await connection.setRemoteDescription(RTCSessionDescription(await take(answer), "answer"))
    else:
        await connection.setRemoteDescription(RTCSessionDescription(await take(offer), "offer"))
        await connection.setLocalDescription(await connection.createAnswer())
        put(answer, connection.localDescription.sdp)
    await ear.start()
    await asyncio.sleep(seconds)
    await ear.stop()
    await connection.close()


if __name__ == "__main__":
    asyncio.run(main(*sys.argv[1:4], float(sys.argv[4])))
