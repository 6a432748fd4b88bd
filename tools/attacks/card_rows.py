"""N4: contact cards of somebody who means ill: import, rename, call and probe."""

import os
import random
import subprocess

from earshot_wire import Card, Identity, WireError, card_text
from field import Row
from programs import BIN, free_port
from word_rows import raw_controls

USAGE, CHANGED = (1, 2), 7
HOSTS = {
    "new line": b"127.0.0.1\n\x1b[31mred",
    "ESC": b"a\x1b]52;c;aGVsbG8=\x07b",
    "U+202E": "a\u202eb.example".encode(),
    "NUL": b"127.0.0.1\0.example",
    "options": b"--identity=/etc/passwd",
    "shell": b"$(touch pwned);`touch pwned`",
    "slashes": b"../../../../etc/passwd",
    "spaces": b" " * 64,
}


def _run(field, *words, identity, seconds=15):
    """(exit code, what was printed) of a command; code None if it did not end."""
    try:
        done = subprocess.run(
            [f"{BIN}/earshot", *words, "--identity", field.programs.path(identity)],
            capture_output=True,
            timeout=seconds,
            cwd=field.programs.folder,
        )
    except subprocess.TimeoutExpired:
        return None, b""
    return done.returncode, done.stdout + done.stderr


def _pins(field, identity):
    """The bytes of the file of pins; empty without one."""
    try:
        with open(field.programs.path(identity) + ".known-peers", "rb") as file:
            return file.read()
    except FileNotFoundError:
        return b""


def _kept(field, identity="me"):
    """Somebody with one contact, and the bytes of its pins."""
    card = card_text(Identity("bob").card)
    code, said = _run(field, "contacts", "import", card, identity=identity)
    if code:
        raise RuntimeError(f"import: {said.decode(errors='replace')}")
    return _pins(field, identity)


def _broken(count):
    """Texts that are almost cards."""
    dice = random.Random(7)
    data = Identity("eve").card.bytes
    texts = ["earshot:", "earshot:" + "A" * 100_000, "earshot:\u202e", "earshot:\x1b[2J"]
    while len(texts) < count:
        changed = bytearray(data)
        changed[dice.randrange(len(changed))] ^= 1 << dice.randrange(8)
        cut = bytes(changed) if dice.random() < 0.7 else data[: dice.randrange(len(data))]
        try:
            card = Card(cut)
            texts.append(card_text(card))
        except (WireError, UnicodeDecodeError, ValueError):
            texts.append(card_text(_Bytes(cut)))
    return texts


class _Bytes:
    """What is no card, to be written as one."""

    def __init__(self, data):
        self.bytes = data


def broken(field, quick):
    """Cards that are cut, changed, endless or no cards at all."""
    before = _kept(field)
    texts, codes, controls = _broken(12 if quick else 60), set(), set()
    host, port = field.server
    online = ("--rendezvous", f"{host}:{port}", "--bind", f"{field.source()}:0")
    for number, text in enumerate(texts):
        for words in (
            ("contacts", "import", text, "--as", f"n{number}"),
            ("call", text, *online),
            ("probe", text, *online),
        ):
            code, said = _run(field, *words, identity="me")
            codes.add(code)
            controls |= raw_controls(said, is_console=True)
    same = _pins(field, "me") == before
    return [
        Row(
            "N4",
            f"{len(texts)} broken cards to import, call and probe",
            f"exit {sorted(map(str, codes))}, {len(controls)} control characters, "
            f"pins {'as they were' if same else 'changed'}",
            "exit 1 or 2, none, as they were",
            codes <= set(USAGE) and not controls and same,
        )
    ]


def homes(field, quick):
    """Signed cards whose rendezvous is text for a terminal, a shell, a file."""
    controls, codes = set(), set()
    for name, host in HOSTS.items():
        eve = Identity("eve")
        card = card_text(eve.make_card(home=(Identity("r").id, host, free_port("127.0.0.1"))))
        who = f"me-{name.replace(' ', '-').replace('+', '')}"
        for words in (("contacts", "import", card), ("contacts", "list"), ("call", card)):
            code, said = _run(field, *words, identity=who, seconds=30)
            codes.add((words[0], code))
            controls |= raw_controls(said, is_console=True)
    made = [x for x in os.listdir(field.programs.folder) if "pwned" in x]
    stuck = [words for words, code in codes if code is None or code < 0]
    called = [code for words, code in codes if words == "call"]
    return [
        Row(
            "N4",
            f"{len(HOSTS)} signed cards with a hostile rendezvous: import, list, call",
            f"{len(controls)} control characters, {len(stuck)} crashed or stuck, "
            f"{len(made)} files made, {called.count(0)} calls",
            "0, 0, 0 and 0",
            not controls and not stuck and not made and 0 not in called,
        )
    ]


def pins(field, quick):
    """A card and a name that would take a contact's place."""
    before = _kept(field)
    eve = Identity("bob")
    codes = [_run(field, "contacts", "import", card_text(eve.card), identity="me")[0]]
    codes.append(
        _run(
            field,
            "contacts",
            "import",
            card_text(eve.make_card(name="eve")),
            "--as",
            "bob",
            identity="me",
        )[0]
    )
    same = _pins(field, "me") == before
    # Another one of the same identity, whose rendezvous is eve's: the ID still decides.
    other = _run(field, "contacts", "import", card_text(Identity("carol").card), identity="me")[0]
    renamed = _run(field, "contacts", "rename", "carol", "bob", identity="me")[0]
    listed = _run(field, "contacts", "list", identity="me")[1]
    both = listed.count(b"bob") >= 1 and listed.count(b"carol") >= 1
    return [
        Row(
            "N4",
            "cards of another one that say bob, or are imported as bob; carol renamed to bob",
            f"exit {codes}, pins {'as they were' if same else 'changed'}; rename {renamed}",
            "exit 7 twice, as they were; rename refused",
            codes == [CHANGED, CHANGED] and same and other == 0 and renamed != 0 and both,
        )
    ]
