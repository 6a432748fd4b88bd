"""One end of a call by libtoxcore's ToxAV, for talk.py: the library as Debian has it (libtoxcore2), by ctypes.

Two Tox nodes know each other's keys from files in the run's folder and bootstrap to each other over the line,
IPv4 and UDP alone; then one calls the other at 32 kbit/s, which is what its programs do. What comes out is played
as soon as it came: ToxAV has no playout clock of its own.
"""

import ctypes
import ctypes.util
import os
import threading
import time

PORT = 33445
KBITS = 32
# From the first packet to the microphone: two nodes find each other in 3 to 20 s.
LEAD = 26

CALLED = ctypes.CFUNCTYPE(
    None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_bool, ctypes.c_bool, ctypes.c_void_p
)
STATE = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_uint32, ctypes.c_void_p)
LINK = ctypes.CFUNCTYPE(None, ctypes.c_void_p, ctypes.c_uint32, ctypes.c_int, ctypes.c_void_p)
SOUND = ctypes.CFUNCTYPE(
    None,
    ctypes.c_void_p,
    ctypes.c_uint32,
    ctypes.POINTER(ctypes.c_int16),
    ctypes.c_size_t,
    ctypes.c_uint8,
    ctypes.c_uint32,
    ctypes.c_void_p,
)


def library():
    tox = ctypes.CDLL(ctypes.util.find_library("toxcore") or "libtoxcore.so.2")
    for name in ("tox_options_new", "tox_new", "toxav_new"):
        getattr(tox, name).restype = ctypes.c_void_p
    for name in ("tox_friend_add_norequest", "tox_iteration_interval", "toxav_iteration_interval"):
        getattr(tox, name).restype = ctypes.c_uint32
    for name in ("tox_bootstrap", "toxav_call", "toxav_answer", "toxav_audio_send_frame"):
        getattr(tox, name).restype = ctypes.c_bool
    return tox


class End:
    """A node and its one friend."""

    def __init__(self, role, folder, peer_address):
        self.tox, self.error = library(), ctypes.c_int()
        options = ctypes.c_void_p(self.tox.tox_options_new(None))
        for name, value in (
            ("ipv6_enabled", False),
            ("local_discovery_enabled", False),
            ("udp_enabled", True),
        ):
            getattr(self.tox, "tox_options_set_" + name)(options, ctypes.c_bool(value))
        for name in ("start_port", "end_port"):
            getattr(self.tox, "tox_options_set_" + name)(options, ctypes.c_uint16(PORT))
        self.node = self.made(self.tox.tox_new(options, ctypes.byref(self.error)))
        self.av = self.made(self.tox.toxav_new(self.node, ctypes.byref(self.error)))
        self.friend, self.is_linked, self.state = None, False, 0
        self.lock, self.is_over = threading.Lock(), False
        self.link_callback, self.state_callback = LINK(self.note_link), STATE(self.note_state)
        self.tox.tox_callback_friend_connection_status(self.node, self.link_callback)
        self.tox.toxav_callback_call_state(self.av, self.state_callback, None)
        self.meet(role, folder, peer_address)

    def made(self, address):
        if not address:
            raise OSError(f"libtoxcore refuses: {self.error.value}")
        return ctypes.c_void_p(address)

    def meet(self, role, folder, peer_address):
        own, other = (
            f"{folder}/{name}.key" for name in (role, {"say": "hear", "hear": "say"}[role])
        )
        keys = b""
        for name in ("tox_self_get_public_key", "tox_self_get_dht_id"):
            key = ctypes.create_string_buffer(32)
            getattr(self.tox, name)(self.node, key)
            keys += key.raw
        with open(own + ".part", "wb") as file:
            file.write(keys)
        os.rename(own + ".part", own)
        while not os.path.exists(other):
            time.sleep(0.02)
        with open(other, "rb") as file:
            keys = file.read()
        self.began = time.monotonic()
        self.friend = ctypes.c_uint32(
            self.tox.tox_friend_add_norequest(self.node, keys[:32], ctypes.byref(self.error))
        )
        self.tox.tox_bootstrap(
            self.node,
            peer_address.encode(),
            ctypes.c_uint16(PORT),
            keys[32:],
            ctypes.byref(self.error),
        )

    def note_link(self, node, friend, status, _):
        self.is_linked = status != 0

    def note_state(self, av, friend, state, _):
        self.state = state

    def run(self):
        """Starts the two loops that the library wants, each on a thread of its own."""
        threading.Thread(target=self.loop_node, daemon=True).start()
        threading.Thread(target=self.loop_sound, daemon=True).start()

    def loop_node(self):
        while not self.is_over:
            with self.lock:
                self.tox.tox_iterate(self.node, None)
                interval = self.tox.tox_iteration_interval(self.node)
            time.sleep(min(interval, 20) / 1000)

    def loop_sound(self):
        """Alone of all functions, this one needs no lock."""
        while not self.is_over:
            self.tox.toxav_iterate(self.av)
            time.sleep(self.tox.toxav_iteration_interval(self.av) / 1000)

    def close(self):
        self.is_over = True
        time.sleep(0.2)


def say(folder, sound, seconds, note, now):
    end = End("say", folder, os.environ["B_ADDR"])
    # Without it there is no call, though nothing comes back.
    callback = SOUND(lambda *_: None)
    end.tox.toxav_callback_audio_receive_frame(end.av, callback, None)
    end.run()
    while not end.is_linked:
        if time.monotonic() > end.began + LEAD - 1:
            raise OSError("the two nodes did not find each other")
        time.sleep(0.05)
    with end.lock:
        if not end.tox.toxav_call(end.av, end.friend, KBITS, 0, ctypes.byref(end.error)):
            raise OSError(f"no call: {end.error.value}")
    time.sleep(max(0, end.began + LEAD - time.monotonic()))
    if end.state < 4:  # Below are the states of an error and of an end.
        raise OSError(f"the call was not answered: {end.state}")
    start = now()
    note(folder, "say", start=start)
    block = 1920
    for number in range(min(len(sound) // block, int(seconds * 50))):
        # A frame can be had when its last sample was spoken.
        time.sleep(max(0, start + (number + 1) * 0.02 - now()))
        samples = (ctypes.c_int16 * 960).from_buffer_copy(
            sound[block * number : block * (number + 1)]
        )
        with end.lock:
            end.tox.toxav_audio_send_frame(
                end.av,
                end.friend,
                samples,
                ctypes.c_size_t(960),
                ctypes.c_uint8(1),
                ctypes.c_uint32(48000),
                ctypes.byref(end.error),
            )
    time.sleep(2)
    end.close()


def hear(folder, seconds, ear, now):
    end, rings = End("hear", folder, os.environ["A_ADDR"]), threading.Event()

    def called(av, friend, has_audio, has_video, _):
        rings.set()

    def take(av, friend, samples, count, channels, rate, _):
        block = ctypes.string_at(samples, 2 * count * channels)
        ear.take(
            block if channels == 1 else memoryview(block).cast("h")[::channels].tobytes(), now()
        )

    callbacks = CALLED(called), SOUND(take)
    end.tox.toxav_callback_call(end.av, callbacks[0], None)
    end.tox.toxav_callback_audio_receive_frame(end.av, callbacks[1], None)
    end.run()
    # Not from within the callback: the call would break down.
    if rings.wait(LEAD):
        with end.lock:
            end.tox.toxav_answer(end.av, end.friend, KBITS, 0, ctypes.byref(end.error))
    time.sleep(max(0, end.began + LEAD + seconds + 4 - time.monotonic()))
    end.close()
    ear.finish()
