"""A router that means ill: it answers each search many times, and sends without end whatever it is asked by TCP.

usage: hostile_router.py ADDRESS
"""

import socket
import struct
import sys
import threading

ADDRESS = sys.argv[1]


def flood(connection):
    """Valid XML that never ends."""
    try:
        connection.recv(4096)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Type: text/xml\r\n\r\n<root>")
        while True:
            connection.sendall(b"<service><controlURL>/c</controlURL></service>" * 1000)
    except OSError:
        connection.close()


def listen():
    server = socket.create_server((ADDRESS, 5000))
    while True:
        connection, _ = server.accept()
        threading.Thread(target=flood, args=[connection], daemon=True).start()


def main():
    threading.Thread(target=listen, daemon=True).start()
    search = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
    search.bind(("0.0.0.0", 1900))
    group = struct.pack("4s4s", socket.inet_aton("239.255.255.250"), socket.inet_aton(ADDRESS))
    search.setsockopt(socket.IPPROTO_IP, socket.IP_ADD_MEMBERSHIP, group)
    answer = f"HTTP/1.1 200 OK\r\nLOCATION: http://{ADDRESS}:5000/root.xml\r\n\r\n".encode()
    while True:
        _, asker = search.recvfrom(4096)
        for _ in range(1000):
            search.sendto(answer, asker)


main()
