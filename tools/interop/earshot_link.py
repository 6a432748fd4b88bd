"""What runs on a session: reliable messages, FEEDBACK, PING, path checks (frames.md §2 to §4)."""

import os
from collections import defaultdict

import earshot_frames as frames
from earshot_wire import WireError

PEER_GRANT, SERVER_GRANT = 131072, 32768
LIFE, PREVIOUS_LIFE = 8.0, 5.0
FIRST_PATIENCE, LONGEST_PATIENCE = 0.3, 2.0
FRAME_ROOM = 1175


class Outgoing:
    """A message under way."""

    def __init__(self, stream, sequence, body, now):
        count = max(1, -(-len(body) // frames.LONGEST_FRAGMENT))
        size = -(-len(body) // count)
        self.stream, self.sequence, self.size = stream, sequence, len(body)
        self.parts = [
            frames.fragment(stream, sequence, i, count, body[i * size : (i + 1) * size])
            for i in range(count)
        ]
        self.missing = set(range(count))
        self.unsent = list(range(count))
        self.ends = now + LIFE


class Incoming:
    """What came on one stream."""

    def __init__(self, ordered):
        self.ordered = ordered
        self.next = 0
        self.parts = defaultdict(dict)
        self.done = {}

    def add(self, piece):
        """The messages that may be delivered now, in order, with the bytes that they return."""
        if piece.sequence < self.next or piece.sequence in self.done:
            return [], 0
        if piece.count == 0:
            self.parts.pop(piece.sequence, None)
            self.done[piece.sequence] = None
            returned = int.from_bytes(piece.data, "little") if len(piece.data) == 4 else 0
        else:
            parts = self.parts[piece.sequence]
            parts[piece.index] = piece.data
            if len(parts) < piece.count:
                return [], 0
            body = b"".join(parts[i] for i in range(piece.count))
            del self.parts[piece.sequence]
            self.done[piece.sequence], returned = body, len(body)
        delivered = [] if self.ordered else [self.done[piece.sequence]]
        while self.next in self.done:
            body = self.done.pop(self.next)
            self.next += 1
            if self.ordered:
                delivered.append(body)
        return [body for body in delivered if body is not None], returned


class Link:
    """One session's packets. `transmit(packet, address)` sends; a None address is the path."""

    def __init__(self, session, transmit, grant=PEER_GRANT):
        self.session, self.transmit, self.initial = session, transmit, grant
        self.on_message = lambda stream, body: None
        self.on_frame = lambda frame, source: None
        self.queue, self.sequences, self.carried = [], defaultdict(int), {}
        self.allowed, self.spent = grant, 0
        self.streams = {}
        self.returned, self.told, self.owes_credit = 0, grant, False
        self.arrivals, self.largest, self.reported = {}, -1, [-1, -1]
        self.soon_at = self.report_at = None
        self.patience, self.repeat_at = FIRST_PATIENCE, None
        self.sent_at, self.rtt, self.pings, self.pongs = {}, None, {}, {}
        self.heard_at, self.spoke_at = None, 0.0
        self.closed, self.closings = None, []
        self.invalid = 0
        self.epoch, self.next, self.previous, self.previous_ends = 0, None, None, 0.0

    def send(self, stream, body, now):
        """Queues a reliable message."""
        self.queue.append(Outgoing(stream, self.sequences[stream], body, now))
        self.sequences[stream] += 1
        self.flush(now)

    def send_frames(self, data, now, address=None):
        """Sends frames in a packet of their own; the packet's number is returned."""
        number = self.session.number
        self.transmit(self.session.seal(data), address)
        self.spoke_at = now
        return number

    def ping(self, now):
        """Sends PING; the answer appears in `pongs` as token: (round trip in s, seen as)."""
        value = os.urandom(8)
        self.pings[value] = now
        self.send_frames(frames.ping(value), now)
        return value

    def finish(self, code, now):
        """Ends the session in order: CLOSE three times."""
        self.closed = self.closed or ("own", code)
        self.closings = [(now, code), (now + 0.05, code), (now + 0.1, code)]
        self.tick(now)

    def owns(self, packet):
        """Whether a packet is for this link, under any of its keys."""
        return any(
            packet[1:5] == keys.own
            for keys in (self.session, self.next, self.previous)
            if keys is not None
        )

    def use(self, session, now):
        """New keys are current; the ones before still open for a while."""
        self.previous, self.previous_ends = self.session, now + PREVIOUS_LIFE
        self.session, self.next, self.epoch = session, None, self.epoch + 1
        self.arrivals, self.largest, self.reported = {}, -1, [-1, -1]
        self.report_at = None
        self.carried.clear()
        self.sent_at.clear()
        for message in self.queue:
            message.unsent = sorted(message.missing)
        self.flush(now)

    def flush(self, now):
        """Sends the fragments that are due and that the credit allows."""
        for message in self.queue:
            while message.unsent:
                part = message.parts[message.unsent[0]]
                if message.unsent[0] in message.missing:
                    fresh = not hasattr(message, "counted")
                    if fresh and self.spent + message.size > self.allowed:
                        return
                    if fresh:
                        message.counted, self.spent = True, self.spent + message.size
                    number = self.send_frames(part, now)
                    self.carried[number] = message, message.unsent[0]
                    self.sent_at[number] = now
                    self.repeat_at = self.repeat_at or now + self.patience
                message.unsent.pop(0)

    def receive(self, packet, source, now):
        """Reads a packet of this session; raises WireError where it does not open."""
        if self.next is not None and packet[1:5] == self.next.own:
            number, data = self.next.open(packet)
            self.use(self.next, now)
        elif self.previous is not None and packet[1:5] == self.previous.own:
            number, data = None, self.previous.open(packet)[1]
        else:
            number, data = self.session.open(packet)
        self.heard_at = now
        if number is not None:
            self._note_arrival(number, now)
        try:
            found = frames.parse(data)
        except WireError:
            self.invalid += 1
            return
        for frame in found:
            self._handle(frame, source, now)
        kinds = {frame.kind for frame in found}
        if number is None:
            return
        if kinds & set(frames.ASKS_SOON):
            self.report_at = min(self.report_at or now + 0.02, now + 0.02)
        elif kinds & set(frames.ELICITS):
            self.report_at = self.report_at or now + 0.1

    def _note_arrival(self, number, now):
        self.arrivals[number] = now
        self.largest = max(self.largest, number)
        if len(self.arrivals) > 2048:
            self.arrivals = {n: t for n, t in self.arrivals.items() if n > self.largest - 512}

    def _handle(self, frame, source, now):
        if frame.kind == frames.PING:
            self.send_frames(frames.seen(frames.PONG, frame.token, source), now)
        elif frame.kind == frames.PONG:
            if frame.token in self.pings:
                self.pongs[frame.token] = now - self.pings.pop(frame.token), frame.address
        elif frame.kind == frames.CHALLENGE:
            self.send_frames(frames.seen(frames.RESPONSE, frame.token, source), now, source)
        elif frame.kind == frames.FEEDBACK:
            self._read_report(frame, now)
        elif frame.kind == frames.CREDIT:
            self.allowed = max(self.allowed, int.from_bytes(frame.data, "little"))
            self.flush(now)
        elif frame.kind == frames.MSG:
            self._read_fragment(frame)
        elif frame.kind == frames.CLOSE:
            self.closed = self.closed or ("peer", frame.data[0])
        self.on_frame(frame, source)

    def _read_fragment(self, piece):
        stream = self.streams.setdefault(piece.stream, Incoming(piece.stream < 0x80))
        bodies, returned = stream.add(piece)
        self.returned += returned
        self.owes_credit |= self.returned + self.initial - self.told >= self.initial // 4
        for body in bodies:
            self.on_message(piece.stream, body)

    def _read_report(self, report, now):
        if report.epoch != self.epoch % 4 or report.largest >= self.session.number:
            return
        if report.largest in self.sent_at:
            self.rtt = now - self.sent_at[report.largest] - report.delay
        for back, age in enumerate(report.ages):
            carried = self.carried.get(report.largest - back)
            if carried is None:
                continue
            message, part = carried
            if age is not None:
                message.missing.discard(part)
                del self.carried[report.largest - back]
            elif back >= 3:
                message.unsent.append(part)
                del self.carried[report.largest - back]
        self.queue = [message for message in self.queue if message.missing]
        if not self.queue:
            self.carried.clear()
            self.repeat_at, self.patience = None, FIRST_PATIENCE
        self.sent_at = {n: t for n, t in self.sent_at.items() if n > report.largest - 1000}
        self.flush(now)

    def tick(self, now):
        """Sends what time makes due."""
        while self.closings and now >= self.closings[0][0]:
            self.send_frames(frames.close(self.closings.pop(0)[1]), now)
        if self.previous is not None and now >= self.previous_ends:
            self.previous = None
        if self.closed:
            return
        if self.report_at is not None and now >= self.report_at:
            self._report(now)
        if self.repeat_at is not None and now >= self.repeat_at:
            self._repeat(now)

    def _report(self, now):
        self.report_at = None
        count = min(255, max(1, self.largest - self.reported[0]))
        data = frames.feedback(self.arrivals, self.largest, count, now, self.epoch)
        self.reported = [self.reported[1], self.largest]
        if self.owes_credit:
            self.told = self.initial + self.returned
            data += frames.credit(self.told)
        self.send_frames(data, now)

    def _repeat(self, now):
        for message in [message for message in self.queue if now > message.ends]:
            self.queue.remove(message)
            sent = message.size if hasattr(message, "counted") else 0
            self.send_frames(
                frames.fragment(message.stream, message.sequence, 0, 0, sent.to_bytes(4, "little")),
                now,
            )
        for message in self.queue[:4]:
            message.unsent = sorted(message.missing)
        self.patience = min(2 * self.patience, LONGEST_PATIENCE)
        self.repeat_at = now + self.patience if self.queue else None
        self.flush(now)
