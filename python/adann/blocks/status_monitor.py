# SPDX-License-Identifier: GPL-3.0-or-later
"""Status messages for those who watch from elsewhere: JSON over ZeroMQ."""

from __future__ import annotations

import json
import math
import re
import threading
import time
from collections.abc import Callable

import pmt
from gnuradio import gr

RATE = 10.0  # of what comes with every step or batch, per second
_EVENT, _STEP, _BER = (pmt.intern(word) for word in ("event", "step", "ber"))


class StatusPublisher:
    """A ZeroMQ PUB socket bound to `address`, for JSON objects, one to a message.

    Threads may share it. Raises ValueError if the address cannot be bound. It is free again when
    nothing refers to the publisher any more.
    """

    def __init__(self, address: str) -> None:
        import zmq
        self._bound = False
        port = re.search(r"^tcp://.*:(\d+)$", str(address))
        if port and int(port[1]) > 65535:  # libzmq takes another one then
            raise ValueError(f"address is {address!r}, allowed: ports up to 65535")
        self._lock = threading.Lock()
        self._socket = zmq.Context.instance().socket(zmq.PUB)
        self._socket.linger = 500  # ms that the end waits for what is still to be sent
        try:
            self._socket.bind(address)
        except zmq.ZMQError as error:
            raise ValueError(f"address is {address!r}: {error}, allowed: a free one such as "
                             "'tcp://127.0.0.1:5555'") from error
        self._bound = True

    def __del__(self):
        if self._bound and not self._socket.closed:
            self._socket.unbind(self._socket.last_endpoint)
            self._socket.close()

    def publish(self, status: dict) -> None:
        """Send a dictionary, with the time (s since 1970) added; what is not finite is null."""
        finite = {key: None if isinstance(value, float) and not math.isfinite(value) else value
                  for key, value in status.items()}
        text = json.dumps({"time": time.time(), **finite}, default=str)
        with self._lock:
            self._socket.send_string(text)


class status_listener(gr.basic_block):
    """Takes the dictionaries of the message ports `status` and `ber` to Python.

    take: called with each as a Python dictionary, in this block's thread. Those that come with
    every step of an equalizer and with every batch of a BER counter are thinned out to 10 of
    each kind a second; all others (saved, reset, error, a lock found or lost, ...) get through.
    """

    def __init__(self, take: Callable[[dict], None], name: str = "adann_status_listener") -> None:
        gr.basic_block.__init__(self, name, None, None)
        self._take = take
        self._due = {_STEP: 0.0, _BER: 0.0}
        self.message_port_register_in(pmt.intern("status"))
        self.set_msg_handler(pmt.intern("status"), self._listen)
        self.msg_handlers.clear()  # or it would hold itself, and end at some later time

    def _listen(self, message):
        if not pmt.is_dict(message):
            return
        # The kind is looked up before the conversion, which would be too slow for every step.
        kind = pmt.dict_ref(message, _EVENT, pmt.PMT_NIL)
        if pmt.is_null(kind) and pmt.dict_has_key(message, _BER):
            kind = _BER
        for frequent, due in self._due.items():
            if pmt.eq(kind, frequent):
                now = time.monotonic()
                if now < due:
                    return
                self._due[frequent] = now + 1 / RATE
        # A dictionary's latest key comes first.
        self._take(dict(reversed(pmt.to_python(message).items())))


class status_monitor(status_listener):
    """Publishes status messages as JSON over ZeroMQ PUB, for dashboards.

    address: what to bind, as ZeroMQ has it: "tcp://127.0.0.1:5555" for this machine only,
        "tcp://*:5555" for others too. Raises ValueError if that is not possible.

    Connect the `status` port of an equalizer to `status`, and the `ber` port of a BER counter. A
    message is one JSON object with the keys of the dictionary and `time`, in seconds since 1970.
    See `status_listener` for how many of them come. Nothing here waits for a subscriber.
    """

    def __init__(self, address: str = "tcp://127.0.0.1:5555") -> None:
        self._publisher = StatusPublisher(address)
        super().__init__(self._publisher.publish, "adann_status_monitor")
