# SPDX-License-Identifier: GPL-3.0-or-later
"""The BER counter in real flowgraphs, against numpy."""

import time

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr


def streams(size, delay=0, rate=0.01, symmetry=0, seed=1):
    """Sent pam4 labels, the decided ones `delay` symbols later, and the bit errors in them."""
    random = np.random.default_rng(seed)
    sent = random.integers(0, 4, size, dtype=np.uint8)
    wrong = np.where(random.random(size) < rate, random.integers(1, 4, size), 0)
    seen = np.asarray(adann.core.constellation("pam4").symmetries[symmetry], np.uint8)
    before = random.integers(0, 4, max(delay, 0))
    first = max(-delay, 0)
    decided = np.concatenate([before, seen[sent[first:] ^ wrong[first:]]]).astype(np.uint8)
    return decided, sent, int(np.unpackbits(wrong[first:].astype(np.uint8)).sum())


def flowgraph(decided, sent, counter, with_output=True, buffer=0):
    top = gr.top_block()
    sources = blocks.vector_source_b(decided), blocks.vector_source_b(sent)
    if buffer:
        for source in sources:
            source.set_max_output_buffer(buffer)
    sink = blocks.vector_sink_f() if with_output else None
    top.connect(sources[0], (counter, 0))
    top.connect(sources[1], (counter, 1))
    if sink:
        top.connect(counter, sink)
    messages = blocks.message_debug()
    top.msg_connect(counter, "ber", messages, "store")
    return top, sink, messages


def stored(messages):
    return [pmt.to_python(messages.get_message(i)) for i in range(messages.num_messages())]


@pytest.mark.parametrize("delay", [0, 700, -700])
@pytest.mark.parametrize("with_output", [True, False])
@pytest.mark.parametrize("buffer", [0, 512])
def test_rates_totals_and_messages_equal_numpys(delay, with_output, buffer):
    decided, sent, wrong_bits = streams(100_000, delay, symmetry=1)
    counter = adann.ber_counter("pam4", 8192)
    if buffer:
        counter.set_max_noutput_items(3)
    top, sink, messages = flowgraph(decided, sent, counter, with_output, buffer)
    top.run()
    assert counter.locked() and counter.delay() == delay and counter.symmetry() == 1
    assert counter.bits() == 2 * (100_000 - max(-delay, 0))
    assert counter.errors() == wrong_bits and counter.relocks() == 0
    assert counter.ber() == wrong_bits / counter.bits()
    assert counter.interval() == adann.core.clopper_pearson(wrong_bits, counter.bits())

    locks = [m for m in stored(messages) if "locked" in m]
    assert [(m["locked"], m["delay"], m["symmetry"]) for m in locks] == [(True, delay, 1)]
    batches = [m for m in stored(messages) if "batch" in m]
    assert [m["batch"] for m in batches] == list(range(13))
    assert all(m["symbols"] == 8192 for m in batches[:-1])
    assert sum(m["bit_errors"] for m in batches) == wrong_bits
    assert batches[-1]["total_ber"] == counter.ber()
    assert all(m["ci95_low"] <= m["ber"] <= m["ci95_high"] for m in batches)
    if with_output:
        np.testing.assert_allclose(sink.data(), [m["ber"] for m in batches], rtol=1e-6)


@pytest.mark.parametrize("with_output", [True, False])
@pytest.mark.parametrize("late", ["decided", "sent"])
def test_a_stream_that_comes_long_after_the_other_has_ended_is_counted(late, with_output):
    """The scheduler would end the block with the first input that does."""
    decided, sent, wrong_bits = streams(30_000)
    counter = adann.ber_counter("pam4")
    slow = blocks.throttle(1, 60_000)
    top = gr.top_block()
    for port, (name, labels) in enumerate((("decided", decided), ("sent", sent))):
        path = [blocks.vector_source_b(labels)] + [slow] * (name == late)
        top.connect(*path, (counter, port))
    if with_output:
        top.connect(counter, blocks.null_sink(gr.sizeof_float))
    top.run()
    assert (counter.bits(), counter.errors()) == (60_000, wrong_bits)


def test_one_source_for_both_does_not_stall_on_a_latency_of_50000_labels():
    """A block that holds back what it got, as an equalizer's batch does."""
    _, sent, _ = streams(300_000)
    counter = adann.ber_counter("pam4", 8192)
    top = gr.top_block()
    source = blocks.vector_source_b(sent)
    to_vectors = blocks.stream_to_vector(1, 50_000)
    to_stream = blocks.vector_to_stream(1, 50_000)
    top.connect(source, to_vectors, to_stream, (counter, 0))
    top.connect(source, (counter, 1))
    top.run()
    assert (counter.bits(), counter.errors()) == (600_000, 0)


@pytest.mark.parametrize("with_output", [True, False])
def test_unrelated_streams_give_no_rate(with_output):
    random = np.random.default_rng(2)
    decided, sent = random.integers(0, 4, (2, 200_000), dtype=np.uint8)
    counter = adann.ber_counter("pam4", 100)
    top, sink, messages = flowgraph(decided, sent, counter, with_output)
    top.run()
    assert not counter.locked() and counter.bits() == 0 and np.isnan(counter.ber())
    assert counter.interval() == (0, 1)
    assert sink is None or np.isnan(sink.data()).all()
    # At the stop it says that it has no lock, which the store may have no time for.
    told = [pmt.to_python(messages.get_message(k)) for k in range(messages.num_messages())]
    assert len(told) <= 1 and all(not each["locked"] and "ber" not in each for each in told)
    if sink:  # once for each batch of the labels that it has passed over
        assert 1000 < len(sink.data()) < 3000


def test_streams_that_never_align_are_told_once(capfd):
    random = np.random.default_rng(4)
    decided, sent = random.integers(0, 16, (2, 1_000_000), dtype=np.uint8)
    counter = adann.ber_counter("16qam", 8192, 100)
    top, sink, messages = flowgraph(decided, sent, counter)
    top.run()
    log = capfd.readouterr()
    lines = [line for line in (log.out + log.err).splitlines() if "ber_counter" in line]
    assert len(lines) == 1 and "no delay up to 100 symbols found" in lines[0] and "same order" in lines[0]
    assert [m["locked"] for m in stored(messages)] == [False]
    assert counter.bits() == 0 and np.isnan(sink.data()).all()


def test_what_is_not_counted_for_a_while_is_not_known():
    """Neither a rate of 0, nor the latest one, while labels of something else come."""
    random = np.random.default_rng(5)
    decided, sent, _ = streams(600_000, rate=0)
    decided[100_000:400_000] = random.integers(0, 4, 300_000)
    counter = adann.ber_counter("pam4", 4096)
    top, sink, _ = flowgraph(decided, sent, counter)
    top.run()
    rates = np.array(sink.data())
    unknown = np.flatnonzero(np.isnan(rates))
    assert counter.locked() and 20 <= unknown[0] <= 26  # batches before the change
    assert 30 < unknown.size < 110 and unknown[-1] - unknown[0] == unknown.size - 1
    assert rates[~np.isnan(rates)].max() < 0.2 and rates[-1] == 0


@pytest.mark.parametrize("size", [16, 64])
def test_labels_in_another_order_are_told_in_a_line(capfd, size):
    """Of many points, too: a random order of 16QAM agrees in one label of ten."""
    random = np.random.default_rng(6)
    sent = random.integers(0, size, 100_000, dtype=np.uint8)
    order = random.permutation(size).astype(np.uint8)
    counter = adann.ber_counter(f"{size}qam")
    top, _, messages = flowgraph(order[sent], sent, counter)
    top.run()
    log = capfd.readouterr()
    lines = [line for line in (log.out + log.err).splitlines() if "ber_counter" in line]
    assert len(lines) == 1 and "labels are permuted (" in lines[0] and len(lines[0]) < 300
    assert not counter.locked() and counter.bits() == 0
    told = [m for m in stored(messages) if "locked" in m]
    assert [(m["locked"], m["permuted"]) for m in told] == [(False, counter.permuted())] and counter.permuted()


def test_a_slip_is_announced_and_counting_goes_on():
    decided, sent, _ = streams(100_000, rate=0)
    counter = adann.ber_counter("pam4", 8192)
    top, _, messages = flowgraph(np.delete(decided, slice(50_000, 50_003)), sent, counter)
    top.run()
    assert counter.relocks() == 1 and counter.delay() == -3 and counter.errors() == 0
    assert counter.bits() == 2 * 99_997
    locks = [m for m in stored(messages) if "locked" in m]
    assert [(m["delay"], m["relocks"]) for m in locks] == [(0, 0), (-3, 1)]


def test_an_idle_counter_waits_without_working():
    """Waiting for one input must not spin."""
    counter = adann.ber_counter("pam4")
    top = gr.top_block()
    slow = blocks.throttle(1, 10)
    slow.set_max_noutput_items(1)
    top.connect(blocks.vector_source_b(streams(10_000)[1], True), slow, (counter, 0))
    top.connect(blocks.vector_source_b(streams(10_000)[1], True), (counter, 1))
    top.connect(counter, blocks.null_sink(gr.sizeof_float))
    top.start()
    time.sleep(0.3)
    begin, before = time.monotonic(), time.process_time()
    time.sleep(0.5)
    used = (time.process_time() - before) / (time.monotonic() - begin)
    top.stop()
    top.wait()
    assert used < 0.2  # of a core, by this process itself; one that spins takes all that it gets


def test_getters_and_reset_while_running_and_a_restart():
    counter = adann.ber_counter("pam4", 1000)
    source = blocks.vector_source_b(streams(10_000)[1], True)
    top = gr.top_block()
    top.connect(source, (counter, 0))
    top.connect(source, (counter, 1))
    for _ in range(3):
        top.start()
        deadline = time.monotonic() + 300
        while counter.bits() < 1_000_000 and time.monotonic() < deadline:
            low, high = counter.interval()
            assert 0 <= low <= high <= 1
        assert counter.locked() and counter.delay() == 0
        counter.reset()
        while not counter.bits() and time.monotonic() < deadline:
            pass
        top.stop()
        top.wait()
        assert counter.locked() and counter.delay() == 0 and counter.errors() == 0
    assert counter.relocks() == 0


@pytest.mark.parametrize("arguments, named", [
    (("pam5",), "constellation is 'pam5'"),
    (("pam4", 0), "batch is 0"),
    (("pam4", 8192, 20_000), "search is 20000")])
def test_a_parameter_out_of_range_is_named(arguments, named):
    with pytest.raises(ValueError, match=named):
        adann.ber_counter(*arguments)


@pytest.mark.parametrize("late", [False, True])
def test_posteriors_bring_the_mutual_information(late):
    """As the core has it; the labels wait for posteriors that come later, and these end the stream."""
    decided, sent, _ = streams(50_000, 100, symmetry=1)
    random = np.random.default_rng(5)
    posteriors = 0.2 * random.random((decided.size, 4)).astype(np.float32)
    posteriors[np.arange(decided.size), decided] += 1
    posteriors /= posteriors.sum(axis=1, keepdims=True)
    known = 40_000 if late else decided.size
    expected = adann.core.error_counter("pam4", posteriors=True)
    expected.push(decided[:known], sent, posteriors[:known])
    expected.finish()

    counter = adann.ber_counter("pam4", 8192)
    top, _, messages = flowgraph(decided, sent, counter)
    source = blocks.vector_source_f(posteriors[:known].ravel(), False, 4)
    source.set_max_output_buffer(256)
    top.connect(source, (counter, 2))
    top.run()
    assert counter.bits() == expected.totals.bits == 2 * (known - 100)
    assert counter.gmi() == expected.totals.gmi and 0.5 < counter.gmi() < 2
    told = [m for m in stored(messages) if "batch" in m]
    batches = expected.batches()
    assert [m["gmi"] for m in told] == [b.counts.gmi for b in batches]
    assert [m["ngmi"] for m in told] == [b.counts.ngmi for b in batches] == pytest.approx([m["gmi"] / 2 for m in told])
    assert [m["code_rate"] for m in told] == [adann.core.highest_code_rate(m["ngmi"]) for m in told]
    counter = adann.ber_counter("pam4", 8192)
    top, _, messages = flowgraph(decided, sent, counter)
    top.run()  # without them
    assert np.isnan(counter.gmi()) and not any("gmi" in m for m in stored(messages))
