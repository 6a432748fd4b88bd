"""A router that opens a port by NAT-PMP after 0.7 s, and says what it was asked.

usage: patient_router.py ADDRESS
"""

import json
import socket
import struct
import sys
import time

EXTERNAL = socket.inet_aton("203.0.113.5")


def main():
    router = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    router.bind((sys.argv[1], 5351))
    hesitates = True
    while True:
        question, asker = router.recvfrom(64)
        if len(question) == 2:
            router.sendto(struct.pack(">BBHI4s", 0, 128, 0, 1, EXTERNAL), asker)
        if len(question) == 12:
            _, _, _, inner, outer, seconds = struct.unpack(">BBHHHI", question)
            print(json.dumps({"type": "asked", "seconds": seconds}), flush=True)
            if seconds and hesitates:
                hesitates = False
                time.sleep(0.7)
            router.sendto(struct.pack(">BBHIHHI", 0, 129, 0, 1, inner, outer, seconds), asker)


main()
