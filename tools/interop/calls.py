"""The independent client of this folder against the live programs, on loopback.

usage: calls.py [CHECK...]      (tools/interop/run calls it; the programs: $EARSHOT_BIN)

CHECK is a part of a check's name; those of LONG run only if they are named.
"""

import base64
import hmac
import os
import sys
import time
import traceback

import earshot_bodies as bodies
import memory
from client import accepting
from earshot_calling import Phone
from earshot_client import OFFLINE, ONLINE, UNKNOWN, Client
from earshot_loop import Loop
from earshot_wire import PRESENCES, Identity, identity_of_text
from programs import Programs

ANSWERED_ELSEWHERE = 12
ERASED_WITHIN = 2.0


class Bench:
    """A rendezvous, a loop, and clients of ours."""

    def __init__(self):
        self.loop = Loop()
        self.programs = Programs(loop=self.loop)

    def __enter__(self):
        self.programs.__enter__()
        return self

    def __exit__(self, *failure):
        self.programs.__exit__(*failure)

    def client(self, name, **options):
        """A client of ours that is registered."""
        made = Client(self.loop, self.programs.server, name=name, **options)
        if not made.register():
            raise AssertionError(f"{name} does not register: {made.failure}")
        return made

    def wait(self, condition, seconds, what):
        """Runs until the condition is true, or says what did not come."""
        if not self.programs.wait(condition, seconds):
            raise AssertionError(f"not within {seconds} s: {what}")

    def found(self, client, name):
        """The card of a name that is online."""
        for _ in range(50):
            status, card = client.lookup(name) or (None, None)
            if status == ONLINE:
                return card
            self.loop.run(0.1)
        raise AssertionError(f"{name} is not online: status {status}")


def expect(what, value, wanted):
    """Raises unless the value is the one wanted."""
    if value != wanted:
        raise AssertionError(f"{what}: {value!r} instead of {wanted!r}")


def registers(bench):
    """A name granted, PING answered, an address told, a name taken, look-ups by name and ID."""
    alice = bench.client("alice", server_id=identity_of_text(bench.programs.server_id))
    expect("status", alice.said.status, 1)
    expect("seen as", alice.seen_as, alice.address)
    if alice.ping() is None:
        raise AssertionError("PING has no PONG")
    expect("look-up by name", alice.lookup("alice")[0], ONLINE)
    expect("card", alice.lookup(alice.identity.id)[1].bytes, alice.identity.card.bytes)
    expect("unknown name", alice.lookup("nobody")[0], UNKNOWN)
    second = bench.client("alice")
    expect("second to ask", second.statuses, [10, 2])
    expect("its card", alice.lookup(second.identity.id)[1].name, "")
    bob = bench.client("bob")
    bob.close()
    bench.wait(lambda: alice.lookup("bob")[0] == OFFLINE, 3, "bob offline after CLOSE")
    for _ in range(60):
        expect("look-up", alice.lookup("alice")[0] in (ONLINE, 3), True)


def gets_relays(bench):
    """A rendezvous with TURN servers names them, with credentials that its secret makes."""
    path = bench.programs.path("turn-secret")
    with open(os.open(path, os.O_WRONLY | os.O_CREAT, 0o600), "w") as file:
        file.write("north-wind-and-sun\n")
    uris = ["turn:192.0.2.1:3478", "turns:relay.example"]
    options = [word for uri in uris for word in ("--turn", uri)]
    bench.programs.start_rendezvous(*options, "--turn-secret", path, data="relays")
    alice = bench.client("alice")
    bench.wait(lambda: alice.relays, 3, "RELAYS")
    life, servers = alice.relays
    expect("life", life, 43200)
    expect("servers", [server[0] for server in servers], uris)
    for _, user, password in servers:
        code = hmac.new(b"north-wind-and-sun", user.encode(), "sha1").digest()
        expect("password", password, base64.b64encode(code).decode())
        expect("end", abs(int(user.split(":")[0]) - time.time() - life) < 60, True)


def replaces(bench):
    """A newer registration of an identity closes the older one with code 1."""
    alice = bench.client("alice")
    bench.client("alice", identity=alice.identity, program=alice.program)
    bench.wait(lambda: alice.link.closed, 3, "CLOSE")
    expect("close", alice.link.closed, ("peer", 1))


def forwards(bench):
    """A blob of 4000 bytes arrives; a stranger is not online; short ones both ways."""
    alice, bob = bench.client("alice"), bench.client("bob")
    got = []
    bob.on_body = lambda sender, program, body: got.append((sender, body))
    blob = bytes(range(250)) * 16
    message = alice.forward(bob.identity.id, blob)
    bench.wait(lambda: got and message in alice.forwards, 3, "FORWARDED and FORWARD_RESULT")
    expect("blob", got[0], (alice.identity.id, blob))
    expect("sender's name", bob.sender_names, {alice.identity.id: "alice"})
    message = alice.forward(Identity().id, b"x")
    bench.wait(lambda: message in alice.forwards, 3, "FORWARD_RESULT")
    expect("status", alice.forwards[message], 1)


def talk(bench, call, seconds=1.5):
    """Media both ways for a while."""
    bench.wait(lambda: call.state in ("connected", "ended"), 8, "connected")
    expect("state", call.state, "connected")
    before = call.sound_received
    bench.loop.run(seconds)
    heard = call.sound_received - before
    if heard < seconds / 0.02 * 0.8:
        raise AssertionError(f"{heard} frames heard in {seconds} s")


def fits(bench, call, program):
    """What the program says of a call that ended, against what ours saw."""
    bench.wait(lambda: program.summary(), 5, "the program's summary")
    summary = program.summary()
    expect("outcome", summary["outcome"], "completed")
    expect("short code", program.event("shortCode")["code"], call.code)
    received = summary["audio"]["received"]["packets"]
    if not 0.8 * call.sound_sent <= received <= call.sound_sent:
        raise AssertionError(f"{received} of {call.sound_sent} frames received")


def calls(bench, prepared=True, hangs_up="ours"):
    """Ours calls `earshot answer --accept`; media both ways; a hang-up."""
    words = ("--accept", "--duration", "2.5") if hangs_up == "program" else ("--accept",)
    bob = bench.programs.answering("bob", *words)
    phone = Phone(bench.client("alice"))
    call = phone.call(bench.found(phone.client, "bob"), prepared=prepared)
    talk(bench, call)
    if hangs_up == "ours":
        call.hang_up(text=b"bye")
        bench.wait(lambda: not call.link.queue, 3, "acknowledgement of HANGUP")
    else:
        bench.wait(lambda: call.state == "ended", 5, "the program's hang-up")
        expect("reason", call.reason, bodies.USER_HUNG_UP)
    fits(bench, call, bob)
    expect("role", bob.summary()["role"], "callee")


def is_called(bench, prepared=True, hangs_up="ours"):
    """`earshot call` calls ours; media both ways; a hang-up."""
    alice = Phone(bench.client("alice"))
    alice.policy = accepting(alice, prepared, ring_for=0.5)
    words = ("--duration", "2.5" if hangs_up == "program" else "20")
    program = bench.programs.earshot("call", "alice", *words, identity="dave", name="dave")
    bench.wait(lambda: alice.calls, 8, "INVITE")
    call = next(iter(alice.calls.values()))
    talk(bench, call)
    if hangs_up == "ours":
        call.hang_up()
    bench.wait(lambda: call.state == "ended", 5, "the end of the call")
    expect("reason", call.reason, bodies.USER_HUNG_UP)
    fits(bench, call, program)
    bench.wait(lambda: program.exit_code is not None, 5, "the program's end")
    expect("exit code", program.exit_code, 0)


def rejected(bench):
    """Each side refuses the other's call, with a reason."""
    bench.programs.answering("bob", "--reject", "not now")
    alice = Phone(bench.client("alice"))
    call = alice.call(bench.found(alice.client, "bob"))
    bench.wait(lambda: call.state == "ended", 8, "REJECT")
    expect("reason", (call.reason, call.ended_by), (bodies.DECLINED, "peer"))
    alice.policy = lambda call: call.reject(bodies.DECLINED, b"busy writing")
    program = bench.programs.earshot("call", "alice", identity="dave", name="dave")
    bench.wait(lambda: program.exit_code is not None, 8, "the program's end")
    expect("exit code", program.exit_code, 4)
    expect("outcome", program.summary()["outcome"], "rejected")


def cancelled(bench):
    """Ours takes an invitation back; the program takes one back, and its ring times out."""
    bob = bench.programs.answering("bob", "--accept", "--ring-for", "20", "--calls", "1")
    alice = Phone(bench.client("alice"))
    call = alice.call(bench.found(alice.client, "bob"))
    bench.wait(lambda: call.state == "ringing", 8, "RINGING")
    call.cancel()
    bench.wait(lambda: not call.deliveries and bob.summary(), 5, "RECEIPT of CANCEL")
    expect("outcome", bob.summary()["outcome"], "cancelled")
    alice.policy = lambda call: call.ring_back(alice.candidates())
    program = bench.programs.earshot(
        "call", "alice", "--ring-timeout", "2", identity="dave", name="dave"
    )
    bench.wait(lambda: program.exit_code is not None, 8, "the program's end")
    expect("exit code", program.exit_code, 5)
    last = list(alice.calls.values())[-1]
    expect("how ours saw it", (last.reason, last.ended_by), (bodies.NO_ANSWER, "peer"))


def rekeys(bench):
    """Ours makes new keys in a call, twice; media go on under them."""
    bench.programs.answering("bob")
    phone = Phone(bench.client("alice"))
    call = phone.call(bench.found(phone.client, "bob"))
    talk(bench, call, 0.5)
    for epoch in (1, 2):
        call.rekey.start(time.monotonic())
        bench.wait(lambda e=epoch: call.link.epoch == e and call.link.largest >= 0, 3, "REKEY_2")
        talk(bench, call)
        bench.wait(lambda: call.link.previous is None, 6, "the end of the keys before")
    call.hang_up()
    bench.wait(lambda: not call.link.queue, 3, "acknowledgement of HANGUP")
    fits(bench, call, bench.programs.running[-1])


def moves(bench):
    """Ours goes on from another port in a call: path, media, keys and registration follow."""
    bob = bench.programs.answering("bob")
    alice = bench.client("alice")
    call = Phone(alice).call(bench.found(alice, "bob"))
    talk(bench, call)
    old = alice.address
    alice.move()
    bench.wait(lambda: call.link.epoch == 1, 3, "the program's REKEY_1, and new keys in use")
    talk(bench, call)
    if alice.ping() is None or not alice.seen_as == alice.address != old:
        raise AssertionError(f"the rendezvous sees {alice.seen_as} instead of {alice.address}")
    call.hang_up()
    bench.wait(lambda: not call.link.queue and bob.summary(), 3, "the end")
    expect("the program's path changes", bob.summary()["path"]["changes"], 1)


def is_rekeyed(bench):
    """The program makes new keys after 120 s (± 10 %), as first to initiate."""
    alice = Phone(bench.client("alice"))
    alice.policy = accepting(alice)
    bench.programs.earshot("call", "alice", identity="dave", name="dave")
    bench.wait(lambda: alice.calls, 8, "INVITE")
    call = next(iter(alice.calls.values()))
    talk(bench, call)
    bench.wait(lambda: call.link.epoch == 1, 135, "REKEY_1 and a packet under the new keys")
    talk(bench, call)
    call.hang_up()


def beside(bench):
    """Two programs of one identity ring; one accepts, the other hears that it was answered."""
    alice = bench.client("alice")
    other = bench.client("alice", identity=alice.identity)
    expect("the first stays", alice.link.closed, None)
    phones = [Phone(alice), Phone(other)]
    for phone, ring_for in zip(phones, (0.5, 60)):
        phone.policy = accepting(phone, ring_for=ring_for)
    program = bench.programs.earshot(
        "call", "alice", "--duration", "2", identity="dave", name="dave"
    )
    bench.wait(lambda: all(phone.calls for phone in phones), 8, "INVITE at both")
    taken, missed = (next(iter(phone.calls.values())) for phone in phones)
    talk(bench, taken)
    bench.wait(lambda: missed.state == "ended", 3, "CANCEL at the other")
    expect("reason", (missed.reason, missed.ended_by), (ANSWERED_ELSEWHERE, "peer"))
    bench.wait(lambda: program.exit_code is not None, 5, "the program's end")
    expect("exit code", program.exit_code, 0)


def erases_keys(bench):
    """Keys of a call are in the program's memory while they are used, and not afterwards."""
    bob = bench.programs.answering("bob")
    pid = bob.process.pid
    if not memory.readable(pid):
        return print("skip  the memory of another program may not be read here", flush=True)
    phone = Phone(bench.client("alice"))
    call = phone.call(bench.found(phone.client, "bob"))
    talk(bench, call)
    first = memory.of_session(call.link.session, "first session")
    expect("AEAD keys in use", len(_aead(memory.found(pid, first))), 2)
    call.rekey.start(time.monotonic())
    bench.wait(lambda: call.link.epoch == 1 and call.link.previous is None, 10, "new keys")
    bench.loop.run(1.0)
    expect("keys from before the rekey", memory.found(pid, first), [])
    keys = first | memory.of_session(call.link.session, "second session")
    expect("AEAD keys in use", len(_aead(memory.found(pid, keys))), 2)
    keys["ck"] = call.secrets.ck
    keys["key of the ring's details"] = call.secrets.details
    for i, way in enumerate(call.secrets.path_keys(call.program, call.ring_link.session.peer)):
        keys |= {f"path {i}, AEAD key": way[0], f"path {i}, header key": way[1]}
    call.hang_up()
    bench.wait(lambda: bob.summary(), 3, "the program's summary")
    bench.loop.run(ERASED_WITHIN)
    expect("keys after the call", memory.found(pid, keys), [])
    expect("exit code", bob.exit_code, None)


def _aead(names):
    return [name for name in names if "AEAD" in name]


LONG = {"is rekeyed, 2 minutes": is_rekeyed}
CHECKS = {
    "registers": registers,
    "gets relays": gets_relays,
    "replaces": replaces,
    "forwards": forwards,
    "calls, hangs up": calls,
    "calls, told of candidates at ACCEPT": lambda b: calls(b, False),
    "calls, the program hangs up": lambda b: calls(b, hangs_up="program"),
    "is called, hangs up": is_called,
    "is called, candidates at ACCEPT": lambda b: is_called(b, False),
    "is called, the program hangs up": lambda b: is_called(b, hangs_up="program"),
    "rejects and is rejected": rejected,
    "cancels, is cancelled": cancelled,
    "rekeys": rekeys,
    "moves": moves,
    "erases keys": erases_keys,
}
if PRESENCES:
    CHECKS["stands beside"] = beside


def main():
    passed = failed = 0
    checks = CHECKS | LONG if sys.argv[1:] else CHECKS
    for name, check in checks.items():
        if sys.argv[1:] and not any(word in name for word in sys.argv[1:]):
            continue
        try:
            with Bench() as bench:
                check(bench)
            passed += 1
            print(f"ok    {name}", flush=True)
        except Exception as error:  # any failure is a row of its own
            failed += 1
            print(f"FAIL  {name}: {error}", flush=True)
            if not isinstance(error, AssertionError):
                traceback.print_exc()
    print(f"{passed} passed, {failed} failed")
    sys.exit(1 if failed or not passed else 0)


if __name__ == "__main__":
    main()
