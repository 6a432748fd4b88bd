"""H4: what a peer says, in everything that is printed or written."""

import json
import re
import subprocess

import earshot_bodies as bodies
from client import accepting
from earshot_calling import Phone
from earshot_client import Client
from earshot_wire import Identity
from field import Row
from programs import BIN

FORGED = '{"type":"event","name":"forged"}'
WORDS = {
    "new line and JSON": "no\n" + FORGED + "\n",
    "ESC": "a\x1b[2Jb\x1b]0;title\x07",
    "OSC 52": "a\x1b]52;c;aGVsbG8=\x07b",
    "U+009B": "a\u009b2Jb",
    "U+202E": "a\u202egnp.exe",
    "U+2028": "a\u2028b\u2029c",
}
EVERYTHING = "".join(WORDS.values())  # at most 128 bytes, as a reason text is
EXTENSIONS = {
    "new line and JSON": '{"a":1}\n' + FORGED + "\n",
    "forged keys": '1,"name":"forged","x":1',
    "ESC": '{"a":"\x1b[2J"}',
    "ESC, escaped": '{"a":"\\u001b]52;c;aGVsbG8=\\u0007"}',
    "U+009B": '{"a":"\u009b2J"}',
    "U+202E": '{"a":"\u202e"}',
    "U+2028": '{"a":"\u2028"}',
}
# Controls of C0 but tab, line feed and return; DEL and C1; separators; marks of direction.
RAW = re.compile(
    "[\x00-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u2028\u2029\u200e\u200f\u061c\u202a-\u202e\u2066-\u2069]"
)
OURS = re.compile("\x1b\\[[0-9;]*[mK]")  # colours and line ends of a program's own


def raw_controls(data, is_console=False):
    """The control characters in what was printed, by name."""
    text = data.decode("utf-8", "replace")
    if is_console:
        text = OURS.sub("", text)
    return {f"U+{ord(c):04X}" for c in RAW.findall(text)}


def bad_lines(data):
    """Lines that are no JSON object, or that a peer has forged."""
    bad = 0
    for line in data.split(b"\n")[:-1]:
        try:
            value = json.loads(line)
            bad += not isinstance(value, dict) or value.get("name") == "forged"
            bad += len(json.loads(line, object_pairs_hook=list)) != len(value)
        except ValueError:
            bad += 1
    return bad


class Outputs:
    """What one program said in all its ways."""

    def __init__(self, field, program, label):
        self.field, self.program, self.label = field, program, label
        self.findings = {}

    def look(self, is_json):
        """Looks into standard output and error, events, report, and inspect of the events."""
        out = self.program.raw()
        self._judge("JSON" if is_json else "text", out, is_json)
        self._judge("stderr", self.program.errors(), False)
        for name in ("events", "report"):
            path = self.field.programs.path(f"{self.label}.{name}")
            try:
                with open(path, "rb") as file:
                    self._judge(name, file.read(), name == "events")
            except FileNotFoundError:
                self.findings[name] = {"is missing"}
        inspected = subprocess.run(
            [f"{BIN}/earshot", "inspect", self.field.programs.path(f"{self.label}.events")],
            capture_output=True,
            timeout=20,
        )
        self._judge("inspect", inspected.stdout + inspected.stderr, False)
        return self.findings

    def _judge(self, what, data, is_json):
        found = raw_controls(data, not is_json)
        bad = bad_lines(data) if is_json else (FORGED.encode() in data.split(b"\n"))
        found |= {"forged or broken lines"} if bad else set()
        if found:
            self.findings[what] = found


def _files(field, label):
    return (
        "--events",
        field.programs.path(f"{label}.events"),
        "--report",
        field.programs.path(f"{label}.report"),
    )


def _row(what, findings, reached, wanted):
    """`findings`: what was found in each output; a call that did not come to be proves nothing."""
    words = "; ".join(f"{name}: {' '.join(sorted(findings[name]))}" for name in sorted(findings))
    if reached < wanted:
        words = f"only {reached} of {wanted} calls ended; {words}"
    return Row(
        "H4", what, words or "nothing raw", "nothing raw", not findings and reached == wanted
    )


def extensions(field, quick):
    """Extensions of an INVITE, at `answer` with and without --json."""
    rows = []
    for is_json in (True, False):
        label = "answer-json" if is_json else "answer-text"
        bob = field.programs.earshot(
            "answer",
            "--reject",
            "no",
            "--calls",
            str(len(EXTENSIONS)),
            *_files(field, label),
            identity=label,
            name=label,
            json_lines=is_json,
            bind=field.source(),
        )
        reached = 0
        for text in EXTENSIONS.values():
            phone = _phone(field)
            card = field.found(phone.client, label)
            call = phone.call(card, extension=text.encode())
            reached += field.wait(lambda c=call: c.state == "ended", 3)
        if bob.exit_code is None:
            bob.end()
        found = Outputs(field, bob, label).look(is_json)
        rows.append(
            _row(f"{len(EXTENSIONS)} extensions, at {label}", found, reached, len(EXTENSIONS))
        )
    return rows


def endings(field, quick):
    """User data of CANCEL and HANGUP, at `answer` with and without --json."""
    rows = []
    for is_json in (True, False):
        for kind in ("CANCEL", "HANGUP"):
            label = f"{kind.lower()}-{'json' if is_json else 'text'}"
            bob = field.programs.earshot(
                "answer",
                "--accept",
                *(("--ring-for", "20") if kind == "CANCEL" else ()),
                *("--calls", str(len(EXTENSIONS) + 1)),
                *_files(field, label),
                identity=label,
                name=label,
                json_lines=is_json,
                bind=field.source(),
            )
            reached = 0
            for text in EXTENSIONS.values():
                reached += _end_with(field, label, kind, text.encode())
            # What is good comes through: or the rest would prove nothing.
            reached += _end_with(field, label, kind, b'{"said":"goodbye"}')
            field.wait(lambda p=bob: p.exit_code is not None, 4)
            if bob.exit_code is None:
                bob.end()
            found = Outputs(field, bob, label).look(is_json)
            if is_json and b'"said":"goodbye"' not in bob.raw():
                found["JSON"] = found.get("JSON", set()) | {"good user data is missing"}
            how = "with --json" if is_json else "without --json"
            what = f"{kind}, hostile user data: {len(EXTENSIONS)}, at answer {how}"
            rows.append(_row(what, found, reached, len(EXTENSIONS) + 1))
    return rows


def _end_with(field, label, kind, data):
    phone = _phone(field)
    call = phone.call(field.found(phone.client, label))
    awaited = "ringing" if kind == "CANCEL" else "connected"
    if not field.wait(lambda: call.state == awaited, 5):
        return False
    field.loop.run(0.3)
    if kind == "CANCEL":
        call.cancel(user_data=data)
    else:
        call.hang_up(user_data=data)
    field.loop.run(0.7)
    return True


def _phone(field):
    client = Client(field.loop, field.server, identity=Identity(""), bind=(field.source(), 0))
    client.register()
    return Phone(client)


def reasons(field, quick):
    """Texts of REJECT and HANGUP, at `call` with and without --json."""
    rows, texts = [], [EVERYTHING] if quick else [*WORDS.values(), EVERYTHING]
    for is_json in (True, False):
        for kind in ("REJECT", "HANGUP"):
            found, reached = {}, 0
            for number, text in enumerate(texts):
                label = f"{kind.lower()}{number}-{'json' if is_json else 'text'}"
                program = _call_that_ends(field, label, kind, text, is_json)
                reached += program.exit_code is not None
                if program.exit_code is None:
                    program.end()
                for name, what in Outputs(field, program, label).look(is_json).items():
                    found[name] = found.get(name, set()) | what
            how = "with --json" if is_json else "without --json"
            rows.append(
                _row(
                    f"{kind}, hostile texts: {len(texts)}, at call {how}",
                    found,
                    reached,
                    len(texts),
                )
            )
    return rows


def _call_that_ends(field, label, kind, text, is_json):
    client = Client(field.loop, field.server, name=label, bind=(field.source(), 0))
    client.register()
    phone, calls = Phone(client), []

    def policy(call):
        calls.append(call)
        if kind == "REJECT":
            call.reject(bodies.DECLINED, text.encode())
        else:
            accept(call)

    accept = accepting(phone)
    phone.policy = policy
    program = field.programs.earshot(
        "call",
        label,
        *_files(field, label),
        identity="caller",
        json_lines=is_json,
        bind=field.source(),
    )
    if kind == "HANGUP":
        field.wait(lambda: calls and calls[0].state == "connected", 5)
        if calls and calls[0].link is not None:
            calls[0].hang_up(text=text.encode())
    field.wait(lambda: program.exit_code is not None, 4)
    return program
