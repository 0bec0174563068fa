# SPDX-License-Identifier: GPL-3.0-or-later
"""Messages at the equalizer's port `control`, faster than they can be answered."""

import re
import time

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr
from gnuradio.adann import core

MESSAGES = 20_000  # of each kind
LINES = 10         # a minute, of each kind; the next line has the count of the others


def save(path):
    return pmt.cons(pmt.intern("save"), pmt.intern(str(path)))


@pytest.mark.parametrize("mode", ["live", "lockstep"])
def test_a_flood_is_bounded_in_the_log_and_in_work(tmp_path, capfd, mode):
    network = core.network([4, 4])
    network.initialize(1)
    equalizer = adann.equalizer(core.model(network, 4, 0, False, "pam4"), mode=mode, batch=64, front_filter=False)
    told = blocks.message_debug()
    top = gr.top_block()
    samples = np.random.default_rng(2).standard_normal(1 << 18)
    top.connect(blocks.vector_source_f(samples.tolist()), equalizer, blocks.null_sink(1))
    top.msg_connect((equalizer, "status"), (told, "store"))
    for message in (pmt.intern("nonsense"), pmt.cons(pmt.intern("learning_rate"), pmt.from_double(-1)),
                    save(tmp_path / "no" / "folder"), save(tmp_path / "file")):
        for _ in range(MESSAGES):
            equalizer.to_basic_block()._post(pmt.intern("control"), message)
    begin = time.monotonic()
    top.run()
    most = LINES * (1 + int((time.monotonic() - begin) / 60)) + 1
    log = capfd.readouterr()
    lines = (log.out + log.err).splitlines()
    refused = [line for line in lines if "control message" in line]
    assert LINES < len(refused) <= most
    unwritten = sum(map(int, re.findall(r"\(and (\d+) that were not written\)", "".join(refused))))
    assert len(refused) - 1 + unwritten == 2 * MESSAGES and "messages were refused (and " in refused[-1]
    failed = [line for line in lines if "folder" in line or "adaptation: errors" in line]
    assert 1 <= len(failed) <= most
    assert len(lines) < 4 * most
    events = [pmt.to_python(told.get_message(i)) for i in range(told.num_messages())]
    assert (tmp_path / "file").is_file()
    for kind in "saved", "error":
        assert sum(event["event"] == kind for event in events) < MESSAGES / 100  # the last ones may be on their way
    assert core.load_model(tmp_path / "file").sps == 4
