"""Calls, as caller and as callee (docs/protocol/calling.md)."""

import os
import time

import earshot_bodies as bodies
import earshot_frames as frames
import earshot_rekey
import earshot_wire as wire
from earshot_link import Link
from earshot_path import PathChecks
from earshot_rekey import Rekey
from earshot_session import PacketKeys, SealedWay, Session, connection_id
from earshot_wire import WireError, blake

REPEATS, DELIVERY_FAILS = (0, 0.5, 1.5, 3.5, 7.5), 8.0
CONTROL = 2  # the stream of call control, ordered
SILENCE = bytes([0xF8, 0xFF, 0xFE])  # Opus: 20 ms of silence, mono, full band
KEEP_ALIVE = 1.0
OPEN_BODIES = (bodies.INVITE, bodies.ACCEPT, bodies.REJECT)


class Delivery:
    """A body that is repeated until it has its receipt."""

    def __init__(self, body, now):
        self.body, self.began, self.sent = body, now, 0

    def is_due(self, now):
        return self.sent < len(REPEATS) and now - self.began >= REPEATS[self.sent]


class Call:
    """One call. `state`: inviting, ringing, accepted, connected, ended."""

    def __init__(self, client, peer, call, is_caller, ring):
        self.client, self.peer, self.id, self.is_caller = client, peer, call, is_caller
        self.state, self.reason, self.text, self.ended_by = "inviting", None, "", None
        self.deliveries, self.statuses = {}, []
        self.checks, self.ring, self.ring_link, self.link = PathChecks(), ring, None, None
        self.confirmed = False
        self.sound_received, self.sound_sent, self.last_sound = 0, 0, b""
        self.sound_at = None
        self.rings_prepared = None
        self.code = None
        self.silence = SILENCE
        # The callee's program, and where bodies go: from the callee the caller's program.
        self.program = wire.EVERY if is_caller else client.program
        self.to_program = wire.EVERY
        self.said_nothing = False

    # Signalling.

    @property
    def direction(self):
        return bodies.FROM_CALLER if self.is_caller else bodies.FROM_CALLEE

    def deliver(self, kind, body):
        """Sends a body until it has its receipt."""
        self.deliveries[kind] = Delivery(body, time.monotonic())

    def read(self, body):
        """A body of this call, from its peer."""
        kind = body[1]
        if kind == bodies.RINGING and self.is_caller:
            self._read_ringing(body)
        elif kind in (bodies.ACCEPT, bodies.REJECT) and self.is_caller:
            self._read_answer(body)
        elif kind in (bodies.CANCEL, bodies.TIMEOUT):
            before = bodies.check_mac(self.secrets.mac_key, 1 - self.direction, body)
            if not self.is_caller and before[19:] not in (wire.EVERY, self.program):
                return  # for another program of ours
            self._receipt(kind)
            self._end(before[18], "peer")
        elif kind == bodies.HANGUP and self.link is not None:
            key = self.hangup_key
            before = bodies.check_mac(key, 1 - self.direction, body)
            self._receipt(kind)
            self._end(before[18], "peer", before[20:])
        elif kind == bodies.RECEIPT:
            before = bodies.check_mac(self.secrets.mac_key, 1 - self.direction, body)
            self.deliveries.pop(before[18], None)

    def _receipt(self, kind):
        body = bodies.head(bodies.RECEIPT, self.id) + bytes([kind]) + self.program
        self._forward(bodies.with_mac(self.secrets.mac_key, self.direction, body))

    def _forward(self, body):
        return self.client.forward(self.peer, body, self.to_program)

    def _read_ringing(self, body):
        connection, program, candidates, prepared = bodies.read_ringing(self.secrets, body)
        self.deliveries.pop(bodies.INVITE, None)
        if self.state == "inviting":
            self.program = self.to_program = program
            self.rings_prepared = prepared
            self.state = "ringing"
            self.offered_early = candidates
            self._ring_on(connection)
            self.checks.offer([address for _, address in candidates])

    def _ring_on(self, connection):
        """Path checks may begin, under the ring keys."""
        callee_ring = connection if self.is_caller else self.ring
        ways = [SealedWay(*k) for k in self.secrets.path_keys(self.program, callee_ring)]
        ways = ways if self.is_caller else ways[::-1]
        keys = PacketKeys(*ways, self.ring, connection)
        self.ring_link = Link(keys, self._transmit)
        self.ring_link.on_frame = self._read_ring_frame
        self.checks.link = self.ring_link

    def _read_ring_frame(self, frame, source):
        self.checks.handle(frame, source)
        if frame.kind == frames.SIGNAL and frame.data[2:18] == self.id:
            self.read(frame.data)

    def _read_answer(self, body):
        if self.link is not None or self.state == "ended":
            self._receipt(body[1])
            return
        answer = self.invitation.read_answer(body)
        self.deliveries.pop(bodies.INVITE, None)
        self.answer, self.program, self.to_program = answer, answer.program, answer.program
        self._receipt(body[1])
        if answer.verdict == bodies.REJECTED:
            self._end(answer.reason, "peer", answer.text.encode())
            return
        self._stand(
            Session(self.invitation.handshake, True, self.invitation.connection, answer.connection)
        )
        self.checks.link = self.link
        self.checks.offer([address for _, address in answer.candidates])
        self.code = bodies.short_code(
            self.link.session, self.invitation.r_a, answer.r_b, self.client.identity.id, self.peer
        )
        self._control(bytes([bodies.CONFIRM]) + self.invitation.r_a)

    def _stand(self, session):
        self.link = Link(session, self._transmit)
        self.link.on_message = self._read_control
        self.link.on_frame = self._read_frame
        handshake = (self.invitation if self.is_caller else self.invite).handshake
        self.rekey = Rekey(
            self.link,
            handshake.static,
            self.client.identity.id,
            handshake.remote,
            self.peer,
            self.is_caller,
        )
        self.state, self.queued = "accepted", []
        self.hangup_key = session.exporter(b"hangup")

    # The path.

    def _transmit(self, packet, address):
        address = address or self.checks.path
        if address is not None:
            self.client.transmit(packet, address)

    def _control(self, body):
        self.queued.append(body)

    def receive(self, packet, source, now):
        """A packet from the path; says whether it was one of this call."""
        for link in (self.link, self.ring_link):
            if link is not None and link.owns(packet):
                link.receive(packet, source, now)
                return True
        return False

    def _read_frame(self, frame, source):
        self.checks.link = self.link  # the peer has the session's keys
        self.checks.handle(frame, source)
        if frame.kind == frames.AUDIO:
            self.sound_received, self.last_sound = self.sound_received + 1, frame.data
            if self.state == "accepted" and (self.is_caller or self.confirmed):
                self.state = "connected"
        elif frame.kind == frames.CLOSE and self.state != "ended":
            self._end(bodies.NONE, "peer")

    def _read_control(self, stream, body):
        if stream == earshot_rekey.STREAM:
            self.rekey.read(body, time.monotonic())
        if stream != CONTROL:
            return
        if body[0] == bodies.CONFIRM and not self.is_caller:
            if blake(32, b"EST1 sas" + body[1:]) != self.invite.commit:
                raise WireError("a CONFIRM that opens another commitment")
            self.deliveries.pop(bodies.ACCEPT, None)
            self.confirmed = True
            self.code = bodies.short_code(
                self.link.session, body[1:], self.r_b, self.peer, self.client.identity.id
            )
        elif body[0] == bodies.PATH_HANGUP:
            self._end(body[1], "peer", body[3:])

    # What the user does.

    def ring_back(self, candidates):
        """Callee: RINGING, with candidates if they are to be told early."""
        self.ring_candidates = list(candidates)
        self._forward(self.invite.ringing(self.ring, self.ring_candidates, self.program))
        self._ring_on(self.invite.ring)
        self.state = "ringing"
        if candidates:
            self.checks.offer([address for _, address in self.invite.candidates])

    def accept(self, candidates):
        """Callee: takes the call."""
        connection, self.r_b = connection_id(), os.urandom(16)
        body = self.invite.answer(
            self.client.identity,
            bodies.ACCEPTED,
            connection=connection,
            r_b=self.r_b,
            candidates=candidates,
            program=self.program,
        )
        self._stand(Session(self.invite.handshake, False, connection, self.invite.connection))
        self.checks.offer([address for _, address in self.invite.candidates])
        self.deliver(bodies.ACCEPT, body)

    def reject(self, reason=bodies.DECLINED, text=None):
        """Callee: refuses the call."""
        body = self.invite.answer(
            self.client.identity, bodies.REJECTED, reason, text=text, program=self.program
        )
        self.deliver(bodies.REJECT, body)
        self._end(reason, "own")

    def cancel(self, reason=bodies.USER_CANCELLED, user_data=None):
        """Caller: takes the invitation back."""
        self.deliveries.clear()
        content = bytes([reason]) + self.program
        if user_data is not None:
            head = bodies.head(bodies.CANCEL, self.id)
            content += bodies.sealed_words(self.secrets.details, head, user_data)
        self._send_final(bodies.CANCEL, content, self.secrets.mac_key)
        self._end(reason, "own")

    def hang_up(self, reason=bodies.USER_HUNG_UP, text=b"", user_data=None):
        """Ends a call that was accepted, on the path and by the rendezvous; user data on the path."""
        content = bytes([reason, len(text)]) + text
        words = b"" if user_data is None else bodies.words(user_data)
        self.link.send(CONTROL, bytes([bodies.PATH_HANGUP]) + content + words, time.monotonic())
        self._send_final(bodies.HANGUP, content, self.hangup_key)
        self._end(reason, "own")

    def _send_final(self, kind, content, key):
        self.deliver(
            kind, bodies.with_mac(key, self.direction, bodies.head(kind, self.id) + content)
        )

    def _end(self, reason, by, text=b""):
        if self.state != "ended":
            self.state, self.reason, self.ended_by = "ended", reason, by
            self.text = text.decode("utf-8", "replace")
            self.deliveries.pop(bodies.INVITE, None)
            if by == "peer":
                self.deliveries.clear()

    # Time.

    def tick(self, now):
        """Sends what time makes due."""
        for delivery in list(self.deliveries.values()):
            if delivery.is_due(now):
                delivery.sent += 1
                self.statuses.append(self._forward(delivery.body))
                if delivery.body[1] == bodies.ACCEPT and self.checks.path and self.ring_link:
                    self.ring_link.send_frames(frames.signal(delivery.body), now)
        if self.state in ("ringing", "accepted", "connected"):
            self.checks.tick(now)
        if self.link is not None:
            self._tick_link(now)

    def _tick_link(self, now):
        if self.checks.path is not None:
            while self.queued:
                self.link.send(CONTROL, self.queued.pop(0), now)
            self._speak(now)
            if self.state in ("accepted", "connected") and now - self.link.spoke_at > KEEP_ALIVE:
                self.link.ping(now)
        self.link.tick(now)

    def _speak(self, now):
        if self.state not in ("accepted", "connected") or self.said_nothing:
            return
        if not self.is_caller and not self.confirmed:
            return
        self.sound_at = self.sound_at or now
        while self.sound_at <= now:
            data = frames.audio(2 * self.sound_sent, self.silence, self.sound_sent == 0)
            self.link.send_frames(data, now)
            self.sound_sent += 1
            self.sound_at += 0.02


class Phone:
    """The calls of a client. `policy(call)` is asked once for each call that comes in."""

    def __init__(self, client, policy=lambda call: None):
        self.client, self.policy = client, policy
        self.calls, self.inner_tick = {}, client.tick
        client.on_body, client.on_packet, client.tick = self._read, self._receive, self._tick

    def candidates(self):
        """Our addresses: host, and as the server sees us."""
        addresses = [(1, self.client.address), (2, self.client.seen_as)]
        return [addresses[0]] if addresses[0][1] == addresses[1][1] else addresses

    def call(self, card, prepared=True, **options):
        """Invites the owner of a card."""
        candidates = self.candidates() if prepared else ()
        invitation = bodies.Invitation(
            self.client.identity, card, self.client.clock_ms(), candidates, **options
        )
        call = Call(self.client, card.id, invitation.call, True, invitation.ring)
        call.invitation, call.secrets = invitation, invitation.secrets
        self.calls[call.id] = call
        call.deliver(bodies.INVITE, invitation.body)
        return call

    def _read(self, sender, program, body):
        if len(body) < 18 or body[0] != 1:
            return
        call = self.calls.get(body[2:18])
        if call is not None and call.peer == sender:
            call.read(body)
        elif call is None and body[1] == bodies.INVITE:
            self._invited(sender, program, body)

    def _invited(self, sender, program, body):
        invite = bodies.ReceivedInvite(self.client.identity, sender, body)
        if abs(self.client.clock_ms() - invite.created_ms) > 60000:
            raise WireError("an INVITE of another time")
        call = Call(self.client, sender, invite.call, False, connection_id())
        call.invite, call.secrets, call.to_program = invite, invite.secrets, program
        self.calls[call.id] = call
        self.policy(call)

    def _receive(self, packet, source, now):
        for call in self.calls.values():
            if call.receive(packet, source, now):
                return

    def _tick(self, now):
        self.inner_tick(now)
        for call in list(self.calls.values()):
            call.tick(now)
