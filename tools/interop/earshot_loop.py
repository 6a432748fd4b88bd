"""One thread's sockets and clock."""

import selectors
import socket
import time

TICK = 0.005  # s


class Loop:
    """Runs members: each has `receive(packet, source, now)` and `tick(now)`."""

    def __init__(self):
        self.selector = selectors.DefaultSelector()
        self.members = []

    def open(self, member, bind=("127.0.0.1", 0)):
        """A UDP socket for a member."""
        family = socket.AF_INET6 if ":" in bind[0] else socket.AF_INET
        udp = socket.socket(family, socket.SOCK_DGRAM)
        udp.bind(bind)
        udp.setblocking(False)
        self.selector.register(udp, selectors.EVENT_READ, member)
        self.members.append(member)
        return udp

    def close(self, member, udp):
        """Forgets a member and closes its socket."""
        self.selector.unregister(udp)
        self.members.remove(member)
        udp.close()

    def run(self, seconds, until=None):
        """Runs until `until()` is true, at most so long; says whether it came true."""
        end = time.monotonic() + seconds
        tick_at = 0.0
        while True:
            now = time.monotonic()
            if now >= tick_at:
                for member in list(self.members):
                    member.tick(now)
                tick_at = now + TICK
            if until is not None and until():
                return True
            if now >= end:
                return False
            self._wait(max(0.0, min(tick_at, end) - time.monotonic()))

    def _wait(self, seconds):
        for key, _ in self.selector.select(seconds):
            for _ in range(64):
                try:
                    packet, source = key.fileobj.recvfrom(2048)
                except (BlockingIOError, ValueError):
                    break
                except OSError:
                    continue
                key.data.receive(packet, source[:2], time.monotonic())
