"""Several rendezvous nodes as one service on Redis, and what becomes of it without Redis."""

import json
import os
import re
import shutil
import signal
import socket
import threading
import time

from channels import level, named, start_relay, tone
from lab import ADDRESS, BIN, PORT, ROOT, sh
from probes import Skip
from scenarios import equal, outcome, ready, scenario, speech

OTHER = f"{ADDRESS['r']}:{PORT + 1}"


class Redis:
    """A redis-server at a socket in the lab's folder; what it was told outlives it (AOF)."""

    def __init__(self, lab, *options):
        if not shutil.which("redis-server"):
            raise Skip("redis-server is not installed: tools/setup does it")
        self.lab, self.options = lab, options
        self.socket = lab.path("redis.sock")
        os.makedirs(lab.path("redis"), exist_ok=True)
        self.start()

    def start(self):
        words = f"--port 0 --unixsocket {self.socket} --appendonly yes --appendfsync always"
        folder = self.lab.path("redis")
        self.program = self.lab.run(
            "r", "redis-server", *words.split(), "--save", "", "--dir", folder, *self.options
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
                return connection.recv(64).startswith((b"+PONG", b"-NOAUTH"))
            except OSError:
                return False

    def kill(self):
        self.program.process.send_signal(signal.SIGKILL)
        self.program.process.wait()

    def signal(self, number):
        self.program.process.send_signal(number)

    def tell(self, command):
        with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as connection:
            connection.connect(self.socket)
            connection.sendall(command + b"\r\n")
            answer = connection.recv(64)
            assert answer.startswith(b"+OK"), f"  redis-server says {answer!r} to {command!r}"


class Line:
    """A socket between a node and Redis: all of it can be cut, or the connection that hears."""

    def __init__(self, lab, redis):
        self.redis, self.socket = redis.socket, lab.path("line.sock")
        self.is_cut = self.is_deaf = False
        self.open = []
        self.listener = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.listener.bind(self.socket)
        self.listener.listen(16)
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listener.accept()
            if self.is_cut:
                near.close()
                continue
            far = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            try:
                far.connect(self.redis)
            except OSError:
                near.close()
                continue
            pair = {"ends": (near, far), "hears": False}
            self.open.append(pair)
            for ends in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(pair, *ends), daemon=True).start()

    def pump(self, pair, source, target):
        try:
            while data := source.recv(65536):
                if b"SUBSCRIBE" in data:
                    pair["hears"] = True
                    if self.is_deaf:
                        break
                target.sendall(data)
        except OSError:
            pass
        self.close(pair)

    def close(self, pair):
        for end in pair["ends"]:
            try:
                end.shutdown(socket.SHUT_RDWR)
            except OSError:
                pass
            end.close()

    def cut(self):
        self.is_cut = True
        for pair in self.open:
            self.close(pair)

    def deafen(self):
        self.is_deaf = True
        for pair in self.open:
            if pair["hears"]:
                self.close(pair)

    def heal(self):
        self.is_cut = self.is_deaf = False


def nodes_on_a_line(lab):
    """Redis, a node at its socket, and one behind a line."""
    redis = Redis(lab)
    line = Line(lab, redis)
    nodes(lab, redis, line.socket)
    return redis, line


class Service:
    """A primary, its replica, and a Sentinel that makes the replica the primary."""

    SENTINEL = 26391

    def __init__(self, lab):
        if not shutil.which("redis-server"):
            raise Skip("redis-server is not installed: tools/setup does it")
        self.lab = lab
        self.servers = {port: self.start(port, *words) for port, words in self.pair()}
        self.wait(lambda: "link_status:up" in self.tell(6392, "info", "replication"), "a replica")
        settings = lab.path("sentinel.conf")
        with open(settings, "w") as file:
            file.write(
                f"port {self.SENTINEL}\ndir {lab.folder}\n"
                "sentinel monitor earshot 127.0.0.1 6391 1\n"
                "sentinel down-after-milliseconds earshot 500\n"
                "sentinel failover-timeout earshot 3000\n"
            )
        lab.run("r", "redis-server", settings, "--sentinel")
        self.wait(
            lambda: "6392" in self.tell(self.SENTINEL, "sentinel", "replicas", "earshot"),
            "a Sentinel that knows the replica",
        )

    @staticmethod
    def pair():
        return ((6391, ()), (6392, ("--replicaof", "127.0.0.1", "6391")))

    def start(self, port, *words):
        folder = self.lab.path(f"redis-{port}")
        os.makedirs(folder, exist_ok=True)
        fixed = f"--port {port} --appendonly yes --dir {folder} --repl-diskless-sync-delay 0"
        return self.lab.run("r", "redis-server", *fixed.split(), *words)

    def tell(self, port, *words):
        command = ("redis-cli", "-p", str(port), *words)
        return sh("ip", "netns", "exec", self.lab.ns("r"), *command, check=False).stdout

    def primary(self):
        words = ("sentinel", "get-master-addr-by-name", "earshot")
        return int(self.tell(self.SENTINEL, *words).split()[-1])

    def wait(self, is_there, what, seconds=20):
        end = time.monotonic() + seconds
        while not is_there():
            assert time.monotonic() < end, f"  no {what} in {seconds} s"
            time.sleep(0.1)


def secret_file(lab, name, word):
    path = lab.path(name)
    with open(path, "w", opener=private) as file:
        file.write(word + "\n")
    return path


def private(path, flags):
    return os.open(path, flags, 0o600)


def nodes(lab, redis=None, second_socket=None, url=None):
    """Redis, and two nodes."""
    redis = redis or Redis(lab)
    secret = secret_file(lab, "secret", "a-secret-of-two-nodes")
    if url:
        options = ("--redis", url, "--cluster-secret", secret)
        first = lab.rendezvous(options=options)
        second = lab.rendezvous(data="data-2", port=PORT + 1, options=options)
        return redis, first, second
    options = ("--redis", f"unix://{redis.socket}", "--cluster-secret", secret)
    first = lab.rendezvous(options=options)
    options = ("--redis", f"unix://{second_socket or redis.socket}", *options[2:])
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
    ready(lab, "--calls", "9", name="carol")
    long = lab.peer("a", "call", "bob", "--play", lab.path("in.wav"), name="alice")
    long.wait_event("connected")
    redis.kill()
    told = outcome(
        lab.peer("a", "call", "bob", name="dave"), "unreachable", 3, 20, reason="cannot tell"
    )
    summary = outcome(long, "completed", 0, 20)
    equal(summary["audio"]["received"]["lost"], 0, "packets that the call lost meanwhile")
    assert "Redis" in first.stderr(), f"  the node says nothing: {first.stderr()}"
    # Carol is at the same node: it needs no other to find her.
    outcome(lab.peer("a", "call", "carol", "--duration", "1", name="erin"), "completed", 0, 20)
    redis.start()
    took = connected_again(lab)
    return f"without Redis: {told['reason']}; connected {took:.1f} s after it was back"


@scenario
def nodes_get_in_by_a_password_or_as_a_user(lab):
    """The user has the rights that docs/operating.md names, and no others."""
    with open(f"{ROOT}/docs/operating.md") as file:
        rights = re.search(r"`(~earshot:[^`]*)`", file.read())[1].split()
    words = {"all": "the-password-of-all", "user": "the-password-of-one"}
    user = ("--user", "earshot", "on", f">{words['user']}", *rights)
    redis = Redis(lab, "--requirepass", words["all"], *user)
    secret = secret_file(lab, "secret", "a-secret-of-two-nodes")
    files = {name: secret_file(lab, f"password-{name}", word) for name, word in words.items()}
    plain, as_user = f"unix://{redis.socket}", f"unix://earshot@{redis.socket}"
    cluster = ("--cluster-secret", secret)

    def by_file(name):
        return ("--redis-password-file", files[name])

    def by_variable(name):
        return (f"EARSHOT_REDIS_PASSWORD={words[name]}",)

    lab.rendezvous(options=("--redis", plain, *by_file("all"), *cluster))
    options = ("--redis", as_user, *cluster)
    second = lab.rendezvous("data-2", PORT + 1, options, by_variable("user"))
    ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    second.process.send_signal(signal.SIGTERM)
    equal(second.process.wait(10), 0, "how the node of the user ended")
    lab.rendezvous("data-2", PORT + 1, (*options, *by_file("user")))
    call_until_it_works(lab, 10)
    reasons = []
    for address, more, variables, reason in (
        (plain, (), (), "NOAUTH"),
        (plain, by_file("user"), (), "WRONGPASS"),
        (plain, (), by_variable("user"), "WRONGPASS"),
        (as_user, by_file("all"), (), "WRONGPASS"),
    ):
        start = ("env", *variables, f"{BIN}/earshot-rendezvous", "--data", lab.path("data-3"))
        node = lab.run("r", *start, "--redis", address, *cluster, *more)
        equal(node.wait(10), 3, f"exit code with {more or variables or 'no password'}")
        told = node.stderr()
        assert reason in told and "Check --redis and the password" in told, f"  it says {told!r}"
        assert not any(word in told for word in words.values()), f"  a password in {told!r}"
        reasons.append(reason)
    return f"by the file and the variable; else {', '.join(sorted(set(reasons)))}, exit code 3"


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


def connected_again(lab, seconds=2):
    """How long after now a call to bob is connected; not longer than Redis may be waited for."""
    began = time.monotonic()
    while True:
        start = time.monotonic()
        call = lab.peer("a", "call", "bob", "--duration", "1", name="alice")
        if call.wait(20) == 0:
            took = start - began + call.summary()["timeline"]["connectedMs"] / 1000
            assert took <= seconds, f"  connected only {took:.1f} s after Redis was back"
            return took
        assert time.monotonic() - began < 20, "  no call 20 s after Redis was back"


def call_until_it_works(lab, seconds):
    """How long it took."""
    began = time.monotonic()
    while lab.peer("a", "call", "bob", "--duration", "1", name="alice").wait(20) != 0:
        assert time.monotonic() - began < seconds, f"  no call in {seconds} s"
    return time.monotonic() - began


@scenario
def a_node_that_is_cut_off_is_not_without_its_clients(lab):
    """Bob's node does not reach Redis for 40 s; then it does."""
    _, line = nodes_on_a_line(lab)
    ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    line.cut()
    reasons = []
    for pause in (5, 35):
        time.sleep(pause)
        told = lab.peer("a", "call", "bob", name="alice")
        reasons.append(outcome(told, "unreachable", 3, 20, reason="cannot tell")["reason"])
    line.heal()
    return f"cut off: {reasons[-1]}; connected {connected_again(lab):.1f} s after it was back"


@scenario
def a_node_that_does_not_hear_the_others_says_so(lab):
    """The connection by which bob's node hears the others is gone alone."""
    _, line = nodes_on_a_line(lab)
    ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    line.deafen()
    time.sleep(2)
    told = outcome(
        lab.peer("a", "call", "bob", name="alice"), "unreachable", 3, 20, reason="cannot tell"
    )
    line.heal()
    return f"{told['reason']}; called {call_until_it_works(lab, 10):.1f} s after it hears again"


@scenario
def a_redis_that_was_emptied_gives_no_name_away(lab):
    """Carol asks for bob's name at the other node, at once and for as long as it takes."""
    redis, *_ = nodes(lab)
    ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    redis.tell(b"FLUSHALL")
    lab.peer("a", "answer", "--accept", identity="carol", name="bob")
    time.sleep(8)
    took = call_until_it_works(lab, 10)
    return f"alice calls the bob whom she has pinned {8 + took:.0f} s after all was lost"


@scenario
def a_name_that_redis_lost_goes_back_to_its_owner(lab):
    """Bob is away while Redis loses all, and carol has his name when he is back."""
    redis, *_ = nodes(lab)
    bob = ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    bob.process.send_signal(signal.SIGTERM)
    bob.wait(10)
    redis.tell(b"FLUSHALL")
    time.sleep(8)
    carol = lab.peer("a", "answer", "--accept", identity="carol", name="bob")
    equal(carol.wait_event("registered")["nameStatus"], "granted", "carol's name meanwhile")
    began = time.monotonic()
    back = lab.peer("b", "answer", "--accept", "--calls", "9", rendezvous=OTHER, name="bob")
    equal(back.wait_event("registered")["nameStatus"], "granted", "bob's name")
    again = lambda line: line.get("nameStatus") == "taken"  # noqa: E731
    carol.wait_line(again, 10)
    took = time.monotonic() - began
    call_until_it_works(lab, 10)
    return f"bob has it again, and carol knows, {took:.1f} s after he is back"


@scenario
def a_name_at_redis_is_freed(lab):
    """The operator takes bob's name from him while both nodes run; his receipt is void."""
    redis, *_ = nodes(lab)
    bob = ready(lab, "--calls", "9", rendezvous=OTHER)
    bob.process.send_signal(signal.SIGTERM)
    bob.wait(10)
    words = ("names", "free", "bob", "--redis", f"unix://{redis.socket}")
    command = lab.run(
        "r", f"{BIN}/earshot-rendezvous", *words, "--cluster-secret", lab.path("secret")
    )
    equal(command.wait(10), 0, "exit code of names free")
    carol = lab.peer("a", "answer", "--accept", identity="carol", name="bob")
    equal(carol.wait_event("registered")["nameStatus"], "granted", "carol's name")
    back = lab.peer("b", "answer", "--accept", rendezvous=OTHER, name="bob")
    equal(back.wait_event("registered")["nameStatus"], "taken", "bob's name")
    return "the receipt from before is void"


@scenario
def a_redis_that_stands_still_for_ten_seconds(lab):
    """Nobody is said to be offline meanwhile; then all is as before."""
    redis, *_ = nodes(lab)
    ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    redis.signal(signal.SIGSTOP)
    began = time.monotonic()
    told = outcome(
        lab.peer("a", "call", "bob", name="alice"), "unreachable", 3, 20, reason="cannot tell"
    )
    time.sleep(max(0.0, 10 - (time.monotonic() - began)))
    redis.signal(signal.SIGCONT)
    return f"{told['reason']}; connected {connected_again(lab):.1f} s after it went on"


@scenario
def a_node_that_is_killed_has_its_clients_back_when_it_is_started(lab):
    """Bob's node dies, and is started on the same directory 5 s later."""
    redis, _, second = nodes(lab)
    ready(lab, "--calls", "9", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    second.process.send_signal(signal.SIGKILL)
    second.process.wait()
    time.sleep(5)
    outcome(lab.peer("a", "call", "bob", name="alice"), "unreachable", 3, 20, reason="cannot tell")
    secret = lab.path("secret")
    options = ("--redis", f"unix://{redis.socket}", "--cluster-secret", secret)
    lab.rendezvous(data="data-2", port=PORT + 1, options=options)
    return f"called {call_until_it_works(lab, 30):.1f} s after it was started"


def nodes_on_a_service(lab):
    """The first of the two Sentinels of the command line is not there."""
    service = Service(lab)
    url = f"sentinel://127.0.0.1:26390,127.0.0.1:{service.SENTINEL}/earshot"
    return nodes(lab, service, url=url)


@scenario
def a_primary_that_dies_gives_way_to_its_replica(lab):
    """Nodes go to the new primary; bob's name stays bob's, and both nodes find him."""
    service, *_ = nodes_on_a_service(lab)
    ready(lab, "--calls", "99", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    began = time.monotonic()
    service.servers[6391].process.send_signal(signal.SIGKILL)
    service.wait(lambda: service.primary() == 6392, "other primary")
    switched = time.monotonic()
    lab.peer("a", "answer", "--accept", identity="carol", name="bob")
    took = connected_again(lab)
    time.sleep(6)
    call_until_it_works(lab, 3)
    return f"switched after {switched - began:.1f} s, connected {took:.1f} s after that"


@scenario
def nodes_leave_a_primary_that_is_none_any_more(lab):
    """It lives, and the Sentinel has chosen the other one by an operator's word."""
    service, *_ = nodes_on_a_service(lab)
    ready(lab, "--calls", "99", rendezvous=OTHER)
    call_until_it_works(lab, 10)
    assert "OK" in service.tell(service.SENTINEL, "sentinel", "failover", "earshot")
    service.wait(lambda: service.primary() == 6392, "other primary")
    took = call_until_it_works(lab, 10)
    service.servers[6391].process.send_signal(signal.SIGKILL)
    time.sleep(3)
    call_until_it_works(lab, 3)
    return f"called {took:.1f} s after it was switched"


class Signed:
    """Three nodes on one Redis, and a root that has signed the list of them."""

    COUNT = 3

    def __init__(self, lab):
        self.lab, self.redis = lab, Redis(lab)
        secret_file(lab, "secret", "a-secret-of-three-nodes")
        self.root = sh(*self.command("root", "new", "--key", lab.path("root"))).stdout.strip()
        self.ids = [self.print_id(number) for number in range(self.COUNT)]
        self.sign(range(self.COUNT))
        self.programs = [self.start(number) for number in range(self.COUNT)]

    def command(self, *words):
        return (f"{BIN}/earshot-rendezvous", *words)

    def data(self, number):
        return f"data-{number}"

    def print_id(self, number):
        words = ("--print-id", "--data", self.lab.path(self.data(number)))
        return sh(*self.command(*words)).stdout.strip()

    def sign(self, numbers, *options):
        with open(self.lab.path("nodes.txt"), "w") as file:
            for number in numbers:
                file.write(f"{self.ids[number]} 1 {ADDRESS['r']}:{PORT + number}\n")
        files = ("--key", self.lab.path("root"), "--out", self.lab.path("nodes.list"))
        return sh(*self.command("root", "sign", self.lab.path("nodes.txt"), *files, *options))

    def start(self, number):
        options = ("--redis", f"unix://{self.redis.socket}")
        options += ("--cluster-secret", self.lab.path("secret"))
        options += ("--nodes", self.lab.path("nodes.list"), "--events", "-", "--log-identities")
        return self.lab.rendezvous(self.data(number), PORT + number, options)

    def pin(self, number=0):
        return f"{ADDRESS['r']}:{PORT + number}#{self.root}"

    def has(self, number, peer):
        """Whether a node has registered an ID at some time."""
        return any(
            line.get("name") == "registered" and line.get("id") == peer
            for line in self.programs[number].lines()
        )

    def is_alive(self, number):
        return self.programs[number].process.poll() is None

    def now(self, peer):
        """The node where an ID has registered last."""
        moments = {}
        for number in filter(self.is_alive, range(self.COUNT)):
            for line in self.programs[number].lines():
                if line.get("name") == "registered" and line.get("id") == peer:
                    moments[number] = max(moments.get(number, ""), line["ts"])
        return max(moments, key=moments.get)

    def home(self, peer, seconds=10):
        """The first of the nodes where an ID has registered."""
        end = time.monotonic() + seconds
        while True:
            for number in range(self.COUNT):
                if self.has(number, peer):
                    return number
            assert time.monotonic() < end, f"  no node has {peer} after {seconds} s"
            time.sleep(0.05)


def identity_of(lab, name):
    words = ("keygen", "--identity", lab.path(f"identity-{name}"), "--json")
    return json.loads(sh(f"{BIN}/earshot", *words).stdout.splitlines()[-1])["id"]


@scenario
def a_node_that_is_killed_leaves_its_clients_to_the_others(lab):
    """All dial the first node by its root's ID. Bob's node dies while he talks with alice."""
    service = Signed(lab)
    speech(lab.path("in.wav"), 14)
    bob_id = identity_of(lab, "bob")
    ready(lab, "--calls", "9", rendezvous=service.pin())
    home = service.home(bob_id)
    words = ("call", "bob", "--play", lab.path("in.wav"))
    alice = lab.peer("a", *words, name="alice", rendezvous=service.pin())
    alice.wait_event("connected")
    time.sleep(1)
    died = time.monotonic()
    service.programs[home].process.send_signal(signal.SIGKILL)
    others = [number for number in range(service.COUNT) if number != home]
    while not any(service.has(number, bob_id) for number in others):
        assert time.monotonic() - died < 5, "  bob is at no other node 5 s after his died"
        time.sleep(0.02)
    moved = time.monotonic() - died
    summary = outcome(alice, "completed", 0, 30)
    equal(summary["audio"]["received"]["lost"], 0, "packets that the call lost")
    alive = service.pin(others[0])
    again = lab.peer("a", "call", "bob", "--duration", "1", name="alice", rendezvous=alive)
    outcome(again, "completed", 0, 20)
    return f"bob was at another node after {moved:.1f} s, and no packet of his call was lost"


@scenario
def three_nodes_are_upgraded_one_by_one(lab):
    """Each node is told to end and started anew, while alice and bob talk, and carol calls dave."""
    service = Signed(lab)
    speech(lab.path("in.wav"), 30)
    ready(lab, "--calls", "9", rendezvous=service.pin())
    ready(lab, "--calls", "99", name="dave", host="a", rendezvous=service.pin(1))
    words = ("call", "bob", "--play", lab.path("in.wav"))
    alice = lab.peer("a", *words, name="alice", rendezvous=service.pin())
    alice.wait_event("connected")
    calls = 0

    def call_dave():
        words = ("call", "dave", "--duration", "1")
        carol = lab.peer("b", *words, name="carol", rendezvous=service.pin())
        outcome(carol, "completed", 0, 20)

    call_dave()  # Whoever has never been there has no list, and knows the node that it dials alone.
    for number in range(service.COUNT):
        service.programs[number].process.send_signal(signal.SIGTERM)
        equal(service.programs[number].process.wait(5), 0, "how the node ended")
        for _ in range(2):
            call_dave()
            calls += 1
        service.programs[number] = service.start(number)
    summary = outcome(alice, "completed", 0, 40)
    equal(summary["audio"]["received"]["lost"], 0, "packets that the long call lost")
    return f"{calls} calls meanwhile, all completed; no packet of the long one was lost"


@scenario
def a_node_that_is_not_on_the_list_and_a_strange_root(lab):
    """What an operator and a user are told."""
    service = Signed(lab)
    shown = sh(*service.command("root", "show", lab.path("nodes.list"))).stdout
    assert service.root in shown and all(id in shown for id in service.ids), f"  shown: {shown}"
    strange = sh(*service.command("--print-id", "--data", lab.path("strange"))).stdout.strip()
    assert strange not in service.ids
    wrong = lab.run(
        "r",
        *service.command("--listen", f"{ADDRESS['r']}:{PORT + 9}", "--data"),
        lab.path("strange"),
        "--nodes",
        lab.path("nodes.list"),
    )
    equal(wrong.wait(10), 2, "exit code of a node that is not on the list")
    assert strange in wrong.stderr(), f"  it does not name its ID: {wrong.stderr()}"
    other = sh(*service.command("root", "new", "--key", lab.path("other"))).stdout.strip()
    pinned = f"{ADDRESS['r']}:{PORT}#{other}"
    told = lab.peer("a", "call", "bob", name="alice", rendezvous=pinned)
    equal(told.wait(20), 7, "exit code where the list is of another root")
    return "a strange node does not start, and a strange root is not believed"


@scenario
def a_name_outlives_redis_while_its_owner_is_away(lab):
    """Bob ends; Redis is killed and reads its file again; carol asks for his name at both nodes."""
    redis, *_ = nodes(lab)
    bob = ready(lab, "--calls", "9", rendezvous=OTHER)
    bob.process.send_signal(signal.SIGTERM)
    bob.wait(10)
    redis.kill()
    time.sleep(1)
    redis.start()
    # New names wait for 5 s meanwhile; hers is refused then, not only kept back.
    carols = [
        lab.peer("a", "answer", "--accept", identity="carol", name="bob"),
        lab.peer("a", "answer", "--accept", identity="dave", name="bob", rendezvous=OTHER),
    ]
    refused = lambda line: line.get("nameStatus") == "taken"  # noqa: E731
    for program in carols:
        program.wait_line(refused, 30)
    ready(lab, "--calls", "9")
    call_until_it_works(lab, 10)
    for program in carols:
        told = [line["nameStatus"] for line in program.lines() if "nameStatus" in line]
        equal("granted" in told, False, f"whether another one had the name ({told})")
    return "taken for two others at both nodes, and bob has it again"


@scenario
def programs_of_two_nodes_ask_for_one_name_at_once(lab):
    """Four names, each asked for at both nodes at the same moment by two identities."""
    nodes(lab)
    rounds = []
    for number in range(4):
        pair = [
            lab.peer(host, "answer", "--accept", identity=f"{host}{number}", name=f"name{number}",
                     rendezvous=where)
            for host, where in (("a", f"{ADDRESS['r']}:{PORT}"), ("b", OTHER))
        ]  # fmt: skip
        rounds.append(pair)
    winners = []
    for number, pair in enumerate(rounds):
        told = [program.wait_event("registered")["nameStatus"] for program in pair]
        equal(sorted(told), ["granted", "taken"], f"what both were told of name{number}")
        winners.append("ab"[told.index("granted")])
    return f"one has it each time: {', '.join(winners)}"


@scenario
def a_node_dies_under_invitations(lab):
    """Bob rings for 3 s: his node dies meanwhile, and then the caller's."""
    service = Signed(lab)
    bob_id = identity_of(lab, "bob")
    ready(lab, "--accept", "--ring-for", "3", "--calls", "9", rendezvous=service.pin())
    first = lab.peer("a", "call", "bob", "--duration", "1", name="alice", rendezvous=service.pin())
    outcome(first, "completed", 0, 20)  # Whoever was never there has no list of the nodes.
    took = []
    for victim in ("bob", "alice"):
        alice = lab.peer(
            "a", "call", "bob", "--duration", "1", name="alice",
            rendezvous=service.pin(next(n for n in range(service.COUNT) if service.is_alive(n))),
        )  # fmt: skip
        alice.wait_event("delivered")
        home = service.now(bob_id if victim == "bob" else identity_of(lab, "alice"))
        service.programs[home].process.send_signal(signal.SIGKILL)
        service.programs[home].process.wait()
        began = time.monotonic()
        outcome(alice, "completed", 0, 40)
        took.append(time.monotonic() - began)
        service.programs[home] = service.start(home)
        time.sleep(13)  # Until idle clients of that node have noticed.
    return f"both calls completed, {took[0]:.1f} and {took[1]:.1f} s after a node had died"


@scenario
def a_node_with_another_secret_does_not_start(lab):
    """It would give all names a second time, and find nobody."""
    redis, *_ = nodes(lab)
    secret = secret_file(lab, "secret-2", "a-secret-of-somebody-else")
    words = ("--listen", f"{ADDRESS['r']}:{PORT + 2}", "--data", lab.path("data-3"))
    words += ("--redis", f"unix://{redis.socket}", "--cluster-secret", secret)
    stranger = lab.run("r", f"{BIN}/earshot-rendezvous", *words)
    equal(stranger.wait(10) in (0, None), False, "whether it serves")
    assert "--cluster-secret" in stranger.stderr(), f"  it says {stranger.stderr()}"
    return "told, and ended"


class Metered:
    """Two nodes on one Redis, which tell how many members of channels they have."""

    def __init__(self, lab):
        self.lab, self.redis = lab, Redis(lab)
        self.secret = secret_file(lab, "secret", "a-secret-of-two-nodes")
        self.addresses = (f"{ADDRESS['r']}:{PORT}", OTHER)
        self.programs = []

    def options(self, number):
        redis = ("--redis", f"unix://{self.redis.socket}", "--cluster-secret", self.secret)
        return (*redis, "--metrics", f"{ADDRESS['r']}:{9101 + number}")

    def start(self, number, *words):
        options = (*self.options(number), *words)
        program = self.lab.rendezvous(f"data-{number}", PORT + number, options)
        self.programs.append(program)

    def members(self, number):
        page = f"http://{ADDRESS['r']}:{9101 + number}/metrics"
        told = sh("ip", "netns", "exec", self.lab.ns("r"), "curl", "-s", page, check=False).stdout
        return int(re.search(r"^earshot_rendezvous_channel_members (\d+)", told, re.M)[1])

    def join(self, host, number, *words, identity, room="tea"):
        return self.lab.peer(
            host, "join", room, *words, "--no-port-mapping", identity=identity,
            rendezvous=self.addresses[number],
        )  # fmt: skip


def silent(path, hertz, seconds):
    return [second for second in seconds if level(path, hertz, second) < 4000]


@scenario
def a_channel_of_two_nodes_and_the_end_of_the_one_that_has_it(lab):
    """Alice and bob hear each other. The node with the channel dies, and one of them is there."""
    service = Metered(lab)
    for number in range(2):
        service.start(number)
    people = []
    for number, (name, hertz) in enumerate((("alice", 440), ("bob", 700))):
        tone(lab.path(f"{name}-in.wav"), hertz, 60)
        words = ("--play", lab.path(f"{name}-in.wav"), "--save", lab.path(f"{name}.wav"))
        people.append(service.join("ab"[number], number, *words, identity=name))
        people[-1].wait_line(lambda line: line.get("name") == "channelJoined", 5)
    for program in people:
        program.wait_line(lambda line: line.get("name") == "firstFrameReceived", 6)
    time.sleep(3)
    counts = [service.members(number) for number in range(2)]
    equal(sorted(counts), [0, 2], "members that the nodes have")
    home = counts.index(2)
    rest, survivor = 1 - home, people[1 - home]
    service.programs[home].process.send_signal(signal.SIGKILL)
    died = time.monotonic()
    while service.members(rest) != 1:
        assert time.monotonic() - died < 8, "  the channel is at no other node after 8 s"
        time.sleep(0.05)
    moved = time.monotonic() - died
    time.sleep(max(0.0, 17 - (time.monotonic() - died)))
    equal(named(survivor, "userOffline"), [], "who has gone in the first 17 s")
    survivor.wait_line(lambda line: line.get("name") == "userOffline", 15)
    told = time.monotonic() - died
    equal(named(survivor, "userOffline")[0]["reason"], "dropped", "why the other one is gone")
    survivor.signal(signal.SIGTERM)
    equal(survivor.wait(10), 0, f"exit code ({survivor.describe()})")
    name, hertz = (("alice", 700), ("bob", 440))[rest]
    equal(silent(lab.path(f"{name}.wav"), hertz, range(3, 17)), [], "seconds without sound")
    return f"at the other node after {moved:.1f} s; whose node died is gone after {told:.1f} s"


@scenario
def a_channel_outlives_two_of_its_three_nodes(lab):
    """Members that have the list of nodes move: nobody is gone, and all are heard all the while."""
    service = Signed(lab)
    people = []
    for name, hertz in (("alice", 440), ("bob", 700)):
        tone(lab.path(f"{name}-in.wav"), hertz, 60)
        words = ("--play", lab.path(f"{name}-in.wav"), "--save", lab.path(f"{name}.wav"))
        people.append(
            lab.peer(
                "ab"[len(people)], "join", "tea", *words, "--no-port-mapping", "--duration", "40",
                identity=name, rendezvous=service.pin(),
            )
        )  # fmt: skip
        people[-1].wait_line(lambda line: line.get("name") == "channelJoined", 5)
    for program in people:
        program.wait_line(lambda line: line.get("name") == "firstFrameReceived", 6)
    time.sleep(2)
    for number in range(2):
        service.programs[number].process.send_signal(signal.SIGKILL)
        time.sleep(12)
    for program, name in zip(people, ("alice", "bob"), strict=True):
        equal(named(program, "userOffline"), [], f"who has gone for {name}")
    for program, name, hertz in zip(people, ("alice", "bob"), (700, 440), strict=True):
        equal(program.wait(30), 0, f"exit code ({program.describe()})")
        equal(silent(lab.path(f"{name}.wav"), hertz, range(3, 28)), [], f"silent for {name}")
    return "nobody was gone, and no second without sound, in 24 s after the first node died"


@scenario
def a_relay_of_one_node_for_a_channel_of_another(lab):
    """Alice and bob are at two nodes. The relay is at the one that does not have the channel."""
    service = Metered(lab)
    printed = sh(f"{BIN}/earshot-relay", "--print-id", "--data", lab.path("relay")).stdout
    with open(lab.path("relays"), "w") as file:
        file.write(printed)
    for number in range(2):
        service.start(number, "--relay-key", lab.path("relays"))
    first = service.programs[0]
    own = next(line["identity"] for line in first.lines() if line["type"] == "listening")
    start_relay(lab, own)
    room = next(room for room in ROOMS if home_of(service, room) == 1)
    people = []
    for number, (name, hertz) in enumerate((("alice", 440), ("bob", 700))):
        tone(lab.path(f"{name}-in.wav"), hertz, 30)
        words = ("--play", lab.path(f"{name}-in.wav"), "--save", lab.path(f"{name}.wav"))
        more = ("--relay-only", "--duration", "10")
        person = service.join("ab"[number], number, *words, *more, identity=name, room=room)
        people.append(person)
    for person in people:
        person.wait_line(lambda line: line.get("name") == "relayFirstFrame", 8)
    for person, name, hertz in zip(people, ("alice", "bob"), (700, 440), strict=True):
        equal(person.wait(20), 0, f"exit code ({person.describe()})")
        equal(silent(lab.path(f"{name}.wav"), hertz, range(4, 8)), [], f"silent for {name}")
    return f"heard in {room} by the relay of the other node"


ROOMS = ("tea", "milk", "rum", "gin", "soda", "mead", "cider", "water")


def home_of(service, room):
    """The node that has a channel: that of somebody who is in it for a moment."""
    words = ("--role", "audience")
    guest = service.join("a", 0, *words, identity="guest", room=room)
    guest.wait_line(lambda line: line.get("name") == "channelJoined", 5)
    while 1 not in (counts := [service.members(number) for number in range(2)]):
        time.sleep(0.05)
    guest.signal(signal.SIGTERM)
    guest.wait(5)
    while sum(service.members(number) for number in range(2)):
        time.sleep(0.05)
    return counts.index(1)
