# SPDX-License-Identifier: GPL-3.0-or-later
"""A flowgraph that is interrupted has ended before anything else happens."""

import itertools
import subprocess
import sys

import numpy as np
import pytest
from gnuradio import gr
from gnuradio.adann.blocks.flowgraphs import run_flowgraph
from gnuradio.adann.offline.arrays import array_sink, array_source

THREADS_OF_PYTHON_BLOCKS = """
import itertools
import numpy as np
from gnuradio import gr
from gnuradio.adann.offline.arrays import array_sink, array_source
from gnuradio.adann.blocks.flowgraphs import run_flowgraph

class interrupted(gr.top_block):
    def start(self):
        super().start()
        raise KeyboardInterrupt

def run():
    source = array_source(itertools.repeat(np.ones(16, np.uint8)), np.uint8)
    sink = array_sink(1, np.uint8)
    top = interrupted()
    top.connect(source, sink)
    run_flowgraph(top)

for _ in range(20):
    try:
        run()
        raise SystemExit("nothing was raised")
    except KeyboardInterrupt:
        pass
print("ended")
"""


def test_an_interrupt_as_it_starts_leaves_nothing_running():
    """Else the destructor waits for threads that wait for the interpreter, for ever."""
    done = subprocess.run([sys.executable, "-c", THREADS_OF_PYTHON_BLOCKS], capture_output=True, text=True,
                          timeout=300, check=False)
    assert (done.returncode, done.stdout.strip()) == (0, "ended"), done.stderr


@pytest.fixture
def endless():
    source = array_source(itertools.repeat(np.ones(16, np.uint8)), np.uint8)
    sink = array_sink(1 << 20, np.uint8)
    top = gr.top_block()
    top.connect(source, sink)
    yield top, source, sink


def test_it_ends_when_asked_to(endless):
    top, _, sink = endless
    run_flowgraph(top, lambda: sink.items.size == 1 << 20)
    assert sink.items.all()


def test_what_is_raised_meanwhile_comes_out(endless):
    def interrupt():
        raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        run_flowgraph(endless[0], interrupt)


def test_it_runs_to_its_end():
    source, sink = array_source([np.arange(200, dtype=np.uint8)], np.uint8), array_sink(200, np.uint8)
    top = gr.top_block()
    top.connect(source, sink)
    run_flowgraph(top)
    np.testing.assert_array_equal(sink.items, np.arange(200))
