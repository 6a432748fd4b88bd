"""An identity that is sealed in a file, lost, and made again."""

import json
import os
import subprocess

from lab import BIN
from scenarios import equal, outcome, ready, scenario, speech


def earshot(lab, *words):
    return subprocess.run(
        [f"{BIN}/earshot", *words], capture_output=True, text=True, stdin=subprocess.DEVNULL
    )


def sealed(lab, *words, file):
    return earshot(lab, *words, "--passphrase-file", lab.path(file), "--json")


@scenario
def an_identity_comes_back_from_its_backup(lab):
    for name, words in (("right", "four words of mine\n"), ("wrong", "four words of yours\n")):
        with open(lab.path(name), "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as f:
            f.write(words)
    lab.rendezvous()
    speech(lab.path("talk.wav"), 1)
    ready(lab, "--calls", "1")
    call = ("call", "bob", "--play", lab.path("talk.wav"))
    outcome(lab.peer("a", *call), "completed", 0, 20)
    identity, copy = lab.path("identity-bob"), lab.path("backup")
    made = sealed(lab, "backup", copy, "--identity", identity, file="right")
    equal(made.returncode, 0, f"exit code of backup ({made.stderr})")
    equal(os.stat(copy).st_mode & 0o777, 0o600, "mode of the backup")
    again = sealed(lab, "backup", copy, "--identity", identity, file="right")
    equal(again.returncode, 8, "exit code of a backup over a file")
    for file in (identity, identity + ".known-peers"):
        os.remove(file)
    wrong = sealed(lab, "restore", copy, "--identity", identity, file="wrong")
    equal(wrong.returncode, 7, f"exit code with a wrong passphrase ({wrong.stderr})")
    assert "The passphrase is not the one" in wrong.stderr and not os.path.exists(identity)
    restored = sealed(lab, "restore", copy, "--identity", identity, file="right")
    equal(restored.returncode, 0, f"exit code of restore ({restored.stderr})")
    equal(json.loads(restored.stdout)["id"], json.loads(made.stdout)["id"], "the ID")
    ready(lab, "--calls", "1")
    found = outcome(lab.peer("a", *call), "completed", 0, 20)
    equal(found["peer"]["trust"], "pinned", "what bob is to whoever pinned him before")
    return f"{os.path.getsize(copy)} bytes"
