"""A service of several rendezvous nodes on one Redis, and thousands of clients of it: real
processes on the loopback address, limits as they come."""

import json
import os
import shutil
import signal
import subprocess
import tempfile
import threading
import time

#: Clients of one process: its loop looks at all timers in each turn.
MOST_CLIENTS = 300
PORT = 7600
#: Clients have hosts of their own elsewhere: here they must not keep the nodes from running.
FIRST = ["nice", "-n", "-15"]


def now():
    """Seconds, by the clock of `ClusterLoad`."""
    return time.clock_gettime(time.CLOCK_BOOTTIME)


class Fleet:
    def __init__(self, binaries, weights=(1, 1, 1)):
        self.binaries, self.count = binaries, len(weights)
        nodes = self.count
        self.registered = {}
        self.folder = tempfile.mkdtemp(prefix="earshot-fleet-")
        self.nodes, self.loads, self.lines = [None] * nodes, [], []
        self.redis = self.start_redis()
        with open(self.path("secret"), "w") as file:
            file.write("a-secret-of-all-nodes\n")
        os.chmod(self.path("secret"), 0o600)
        self.tell("root", "new", "--key", self.path("root"))
        self.ids = [self.tell("--print-id", "--data", self.data(n)) for n in range(nodes)]
        with open(self.path("nodes.txt"), "w") as file:
            for number, weight in enumerate(weights):
                file.write(f"{self.ids[number]} {weight} 127.0.0.1:{PORT + number}\n")
        files = ("--key", self.path("root"), "--out", self.path("nodes.list"))
        self.tell("root", "sign", self.path("nodes.txt"), *files)
        for number in range(nodes):
            self.start(number)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        for program in [*self.loads, *self.nodes, self.redis]:
            program.kill()
            program.wait()
        shutil.rmtree(self.folder)

    def path(self, name):
        return f"{self.folder}/{name}"

    def data(self, number):
        return self.path(f"data-{number}")

    def tell(self, *words):
        words = [f"{self.binaries}/earshot-rendezvous", *words]
        return subprocess.run(words, check=True, capture_output=True, text=True).stdout.strip()

    def start_redis(self):
        words = [*FIRST, "redis-server", "--port", "0", "--unixsocket", self.path("redis.sock")]
        words += "--appendonly yes --appendfsync everysec --dir".split() + [self.folder]
        words += ["--save", ""]
        program = subprocess.Popen(words, stdout=subprocess.DEVNULL)
        until(lambda: os.path.exists(self.path("redis.sock")), 10, "redis-server")
        return program

    def start(self, number):
        words = [*FIRST, f"{self.binaries}/earshot-rendezvous"]
        words += ["--listen", f"127.0.0.1:{PORT + number}"]
        words += ["--data", self.data(number), "--redis", f"unix://{self.path('redis.sock')}"]
        words += ["--cluster-secret", self.path("secret"), "--nodes", self.path("nodes.list")]
        words += ["--json", "--log-level", "error"]
        self.nodes[number] = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
        self.nodes[number].stdout.readline()

    def stop(self, number, how):
        """How long it took to end."""
        began = now()
        self.nodes[number].send_signal(how)
        self.nodes[number].wait()
        return now() - began

    def join(self, clients, *options, joins=200):
        """Registers so many, in as many processes as that takes, and waits for all of them."""
        parts = -(-clients // MOST_CLIENTS)
        shares = [clients // parts + (number < clients % parts) for number in range(parts)]
        if "--calls" in options:
            place = options.index("--calls") + 1
            options = [*options]
            options[place] = str(int(options[place]) // parts)
        for share in shares:
            words = [f"{self.binaries}/ClusterLoad", "--nodes", self.path("nodes.list")]
            words += ["--clients", str(share), "--net", str(len(self.loads) + 1), *options]
            words += ["--joins", str(max(1, joins // parts))]
            program = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
            self.loads.append(program)
            threading.Thread(target=self.read, args=(program, len(self.loads)), daemon=True).start()
        until(
            lambda: len(self.registered) >= clients, 60 + clients / joins * 2, f"{clients} clients"
        )

    def read(self, program, net):
        for text in program.stdout:
            line = json.loads(text)
            line["client"] = (net, line.get("client"))
            self.lines.append(line)
            if line["type"] == "registered":
                self.registered[line["client"]] = self.ids.index(line["node"])

    def said(self, kind):
        return [line for line in list(self.lines) if line["type"] == kind]

    def homes(self):
        """The node of each client, by its newest registration."""
        return dict(self.registered)

    def back(self, number, died, waiting, seconds):
        """Those of `waiting` who registered at another node: how long after, in order."""
        found = {}

        def are_all():
            for line in self.said("registered"):
                if line["at"] >= died and self.ids.index(line["node"]) != number:
                    found.setdefault(line["client"], line["at"] - died)
            return waiting <= found.keys()

        try:
            until(are_all, seconds, "clients of the node that ended", pause=2)
        except AssertionError as error:
            print(error, flush=True)
        return sorted(found[client] for client in waiting if client in found)


def until(is_true, seconds, what, pause=0.2):
    end = time.monotonic() + seconds
    while not is_true():
        assert time.monotonic() < end, f"{what}: not there after {seconds:.0f} s"
        time.sleep(pause)


def share(values, part):
    """The value that so large a part of sorted `values` does not exceed."""
    return values[min(len(values) - 1, int(len(values) * part))]


# MARK: - The steps


def killed(binaries, clients, how):
    """Node 0 ends. Row: how many it had, and how soon they are back; what others missed."""
    # Ten of twelve parts: whoever is at the others has to be there too, and takes the processor.
    with Fleet(binaries, weights=(10, 1, 1)) as fleet:
        fleet.join(clients)
        homes = fleet.homes()
        waiting = {client for client, home in homes.items() if home == 0}
        time.sleep(2)
        died = now()
        took = fleet.stop(0, how)
        times = fleet.back(0, died, waiting, 90)
        strangers = [
            line
            for line in fleet.said("reconnecting")
            if line["at"] >= died and line["client"] not in waiting
        ]
        return {
            "clients": len(waiting),
            "of": clients,
            "back": len(times),
            "p50": share(times, 0.5) if times else None,
            "p99": share(times, 0.99) if times else None,
            "last": times[-1] if times else None,
            "othersDisturbed": len(strangers),
            "nodeEndedAfter": took,
        }


def upgraded(binaries, clients, per_minute, pause):
    """Each node is told to end and started anew, while clients call each other."""
    with Fleet(binaries) as fleet:
        fleet.join(clients, "--calls", str(per_minute))
        time.sleep(pause)
        for number in range(fleet.count):
            fleet.stop(number, signal.SIGTERM)
            time.sleep(1)
            fleet.start(number)
            time.sleep(pause)
        return outcomes(fleet)


def called(binaries, clients, per_minute, seconds):
    """Calls between clients of one node and of two, in the same minutes."""
    with Fleet(binaries, weights=(1, 1)) as fleet:
        fleet.join(clients, "--calls", str(per_minute))
        time.sleep(seconds)
        return outcomes(fleet)


def outcomes(fleet):
    calls, since = fleet.said("call"), now() - 20
    ended = {(call["client"], call["began"]) for call in calls}
    # Longer than anything is waited for, but for the last ones of a run.
    for call in fleet.said("began"):
        if call["began"] < since and (call["client"], call["began"]) not in ended:
            calls.append(call | {"outcome": "open", "cause": "", "connectedMs": None})
            calls[-1]["isOfOneNode"] = None
    failed = [call for call in calls if call["outcome"] != "completed"]
    times = {
        place: sorted(
            call["connectedMs"] for call in calls if call["connectedMs"] and call[key] == value
        )
        for place, key, value in (
            ("all", "type", "call"),
            ("one", "isOfOneNode", True),
            ("two", "isOfOneNode", False),
        )
    }
    return {"calls": len(calls), "failed": failed, "times": times}
