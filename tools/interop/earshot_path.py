"""Path checks of a call (docs/protocol/calling.md §4)."""

import os

import earshot_frames as frames

SPACING, FIRST_REPEAT, LONGEST_REPEAT, MOST = 0.05, 0.1, 1.6, 100


class Check:
    """A candidate and its challenges."""

    def __init__(self):
        self.next_at, self.repeat = 0.0, FIRST_REPEAT


class PathChecks:
    """Challenges candidates under whichever link is current; knows which addresses are valid."""

    def __init__(self):
        self.checks, self.tokens = {}, {}
        self.valid = []
        self.spaced_at, self.sent = 0.0, 0
        self.link = None

    def offer(self, addresses):
        """Adds candidates."""
        for address in addresses:
            self.checks.setdefault(address, Check())

    def tick(self, now):
        """Sends a challenge if one is due."""
        if self.link is None or now < self.spaced_at or self.sent >= MOST:
            return
        due = [a for a, c in self.checks.items() if now >= c.next_at and a not in self.valid]
        if not due:
            return
        check = self.checks[due[0]]
        check.next_at, check.repeat = now + check.repeat, min(2 * check.repeat, LONGEST_REPEAT)
        value = os.urandom(8)
        self.tokens[value] = due[0]
        # As long as the answer, so that the answer is no longer than the question.
        challenge = frames.token(frames.CHALLENGE, value).ljust(28, b"\0")
        self.link.send_frames(challenge, now, due[0])
        self.spaced_at, self.sent = now + SPACING, self.sent + 1

    def handle(self, frame, source):
        """Reads PATH_CHALLENGE and PATH_RESPONSE."""
        if frame.kind == frames.CHALLENGE:
            self.offer([source])
        elif frame.kind == frames.RESPONSE and self.tokens.get(frame.token) == source:
            if source not in self.valid:
                self.valid.append(source)

    @property
    def path(self):
        """The address that media go to, or None."""
        return self.valid[0] if self.valid else None
