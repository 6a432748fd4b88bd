"""Several rendezvous nodes as one service on Redis, and what becomes of it without Redis."""

import os
import shutil
import signal
import socket
import time

from lab import ADDRESS, BIN, PORT, sh
from probes import Skip
from scenarios import equal, outcome, ready, scenario, speech

OTHER = f"{ADDRESS['r']}:{PORT + 1}"


class Redis:
    """A redis-server at a socket in the lab's folder; what it was told outlives it (AOF)."""

    def __init__(self, lab):
        if not shutil.which("redis-server"):
            raise Skip("redis-server is not installed: tools/setup does it")
        self.lab = lab
        self.socket = lab.path("redis.sock")
        os.makedirs(lab.path("redis"), exist_ok=True)
        self.start()

    def start(self):
        words = f"--port 0 --unixsocket {self.socket} --appendonly yes --appendfsync always"
        folder = self.lab.path("redis")
        self.program = self.lab.run(
            "r", "redis-server", *words.split(), "--save", "", "--dir", folder
        )
        end = time.monotonic() + 5
        while not self.answers():
            assert time.monotonic() < end, f"  redis-server: {self.program.describe()}"
            time.sleep(0.02)

    def answers(self):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            try:
                connection.connect(self.socket)
                connection.sendall(b"PING\r\n")
                return connection.recv(64).startswith(b"+PONG")
            except OSError:
                return False

    def kill(self):
        self.program.process.send_signal(signal.SIGKILL)
        self.program.process.wait()


def nodes(lab):
    """Redis, and two nodes."""
    redis = Redis(lab)
    secret = lab.path("secret")
    with open(secret, "w", opener=lambda path, flags: os.open(path, flags, 0o600)) as file:
        file.write("a-secret-of-two-nodes\n")
    options = ("--redis", f"unix://{redis.socket}", "--cluster-secret", secret)
    first = lab.rendezvous(options=options)
    second = lab.rendezvous(data="data-2", port=PORT + 1, options=options)
    return redis, first, second


@scenario
def a_call_between_clients_of_two_nodes(lab):
    nodes(lab)
    speech(lab.path("in.wav"), 2)
    bob = ready(lab, "--calls", "1", rendezvous=OTHER)
    alice = lab.peer("a", "call", "bob", "--play", lab.path("in.wav"), name="alice")
    told = outcome(alice, "completed", 0, 20)
    heard = outcome(bob, "completed", 0, 20)
    equal(heard["peer"]["name"], "alice", "who called, as the other node confirms it")
    return f"connected after {told['timeline']['connectedMs']} ms"


@scenario
def nodes_without_redis_and_with_it_again(lab):
    redis, first, _ = nodes(lab)
    speech(lab.path("in.wav"), 6)
    ready(lab, "--calls", "9", rendezvous=OTHER)
    long = lab.peer("a", "call", "bob", "--play", lab.path("in.wav"), name="alice")
    long.wait_event("connected")
    redis.kill()
    told = outcome(
        lab.peer("a", "call", "bob", name="dave"), "unreachable", 3, 20, reason="cannot tell"
    )
    summary = outcome(long, "completed", 0, 20)
    equal(summary["audio"]["received"]["lost"], 0, "packets that the call lost meanwhile")
    assert "Redis" in first.stderr(), f"  the node says nothing: {first.stderr()}"
    redis.start()
    began = time.monotonic()
    again = ("call", "bob", "--duration", "1")
    while lab.peer("a", *again, name="alice").wait(20) != 0:
        assert time.monotonic() - began < 10, "  no call 10 s after Redis came back"
    return f"without Redis: {told['reason']}"


@scenario
def a_device_key_that_was_given_up_ends_at_all_nodes(lab):
    """Bob's program runs at one node; he gives its device key up and begins anew at the other."""
    nodes(lab)
    old = ready(lab, rendezvous=OTHER)
    shutil.copyfile(lab.path("identity-bob"), lab.path("identity-new"))
    os.chmod(lab.path("identity-new"), 0o600)
    # Of two keys that are this close in time nobody can tell which is the former.
    time.sleep(11)
    sh(f"{BIN}/earshot", "keygen", "--rotate", "--identity", lab.path("identity-new"))
    began = time.monotonic()
    lab.peer("a", "answer", "--accept", identity="new", name="bob").wait_event("registered")
    old.wait_line(lambda line: line.get("code") == "replacedElsewhere", 5)
    return f"told after {time.monotonic() - began:.1f} s"
