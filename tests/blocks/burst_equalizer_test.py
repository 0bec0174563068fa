# SPDX-License-Identifier: GPL-3.0-or-later
"""Bursts with known symbols anywhere, on the real scheduler."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, gr, pdu
from gnuradio.adann import core
from gnuradio.adann.experiments.comparators import unit_points
from gnuradio.adann.links.known_frames import FRAMES, Frame
from waiting import wait_until

KEY = "corr_est"


def tag(offset, key=KEY):
    made = gr.tag_t()
    made.offset, made.key, made.value = offset, pmt.intern(key), pmt.PMT_T
    return made


def received(block, samples, tags, items=8192):
    """Labels, estimates and posteriors that come out, and the tags of the labels."""
    top = gr.top_block()
    source = blocks.vector_source_c if np.iscomplexobj(samples) else blocks.vector_source_f
    sinks = blocks.vector_sink_b(), blocks.vector_sink_c(), blocks.vector_sink_f(4)
    top.connect(source(samples, False, 1, tags), block)
    for port, sink in enumerate(sinks):
        top.connect((block, port), sink)
    top.run(items)
    labels, soft, posteriors = (np.array(sink.data()) for sink in sinks)
    return labels, soft, posteriors.reshape(-1, 4), sinks[0].tags()


def stream(frame, count, gap, seed=0, es_n0=20.0):
    """Samples of bursts with pauses, the samples of their first symbols, and what was sent."""
    parts, firsts, sent = [], [], []
    for k in range(count):
        samples, labels = frame.receive(es_n0, [seed, k])
        firsts.append(sum(map(len, parts)) + frame.SPS * frame.MARGIN)
        parts += [samples, np.zeros(gap, np.complex64)]
        sent.append(labels)
    return np.concatenate(parts), firsts, np.array(sent)


TETRA = Frame("qpsk", FRAMES["TETRA"].known, carrier=5e-3, rays=((0, 1), (1, 0.4)))


@pytest.mark.parametrize("items", [8192, 100])
def test_bursts_with_a_known_middle_come_out_as_they_were_sent(items):
    """Ten of ten; the tag is where the eleven known symbols begin. However the stream is cut."""
    samples, firsts, sent = stream(TETRA, 10, 101)
    block = adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122)
    labels, soft, posteriors, tags = received(
        block, samples, [tag(first + 2 * 122) for first in firsts], items)
    np.testing.assert_array_equal(labels.reshape(10, -1), sent)
    assert block.bursts() == 10
    points = unit_points(core.constellation("qpsk"))
    assert np.mean(abs(soft - points[labels]) ** 2) < 0.05
    np.testing.assert_array_equal(posteriors.argmax(1)[:122], labels[:122])
    by_key = {str(t.key): [u for u in tags if pmt.eqv(u.key, t.key)] for t in tags}
    assert [t.offset for t in by_key["packet_len"]] == [255 * k for k in range(10)]
    assert [pmt.to_uint64(t.value) for t in by_key["sample"]] == firsts
    assert all(pmt.to_long(t.value) == 255 for t in by_key["packet_len"])
    assert all(0 < pmt.to_double(t.value) < 0.05 for t in by_key["noise"])


def test_blocks_for_tagged_streams_take_the_labels():
    samples, firsts, sent = stream(TETRA, 3, 64)
    top, packets = gr.top_block(), blocks.message_debug()
    source = blocks.vector_source_c(samples, False, 1, [tag(first + 2 * 122) for first in firsts])
    to_messages = pdu.tagged_stream_to_pdu(gr.types.byte_t, "packet_len")
    top.connect(source, adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122), to_messages)
    top.msg_connect((to_messages, "pdus"), (packets, "store"))
    top.run()
    wait_until(lambda: packets.num_messages() == 3)
    for k in range(3):
        np.testing.assert_array_equal(pmt.u8vector_elements(pmt.cdr(packets.get_message(k))), sent[k])


@pytest.mark.parametrize("level", [3e-5, 3e4])
def test_the_noise_is_measured_at_any_level(level):
    """At 45 dB: from a third to four times it, for 25 taps from 255 symbols, and the echo's inverse, add to it."""
    samples, firsts, sent = stream(TETRA, 1, 64, es_n0=45.0)
    labels, *_, tags = received(adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122, length=12),
                                (level * samples).astype(np.complex64), [tag(firsts[0] + 244)])
    np.testing.assert_array_equal(labels, sent[0])
    noise = next(pmt.to_double(t.value) for t in tags if str(t.key) == "noise")
    assert 10**-4.5 / 3 < noise < 4 * 10**-4.5


def test_bursts_follow_each_other_without_a_pause():
    """The samples behind one are those of the next one's beginning."""
    random = np.random.default_rng(3)
    sent = np.where(TETRA.known == 255, random.integers(0, 4, (5, 255)), TETRA.known).astype(np.uint8)
    samples = TETRA.through(sent.ravel(), 25.0, 4)
    firsts = [2 * (TETRA.MARGIN + 255 * k) for k in range(5)]
    labels, *_ = received(adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122), samples,
                          [tag(first + 244) for first in firsts])
    np.testing.assert_array_equal(labels.reshape(5, -1), sent)


def test_a_burst_may_start_where_the_one_before_ends():
    """Both tags are at one sample; bursts of 180 symbols that could have 255."""
    known = np.r_[TETRA.known[122:133], np.full(244, 255)].astype(np.uint8)
    random = np.random.default_rng(3)
    sent = np.array([np.r_[known[:11], random.integers(0, 4, 169)] for _ in range(4)], np.uint8)
    samples = TETRA.through(sent.ravel(), 25.0, 4)
    firsts = [2 * (TETRA.MARGIN + 180 * k) for k in range(5)]
    block = adann.burst_equalizer("qpsk", known, end_tag="end")
    labels, *_ = received(block, samples, sorted([*map(tag, firsts[:4]), *(tag(first, "end") for first in firsts[1:])],
                                                 key=lambda t: t.offset))
    np.testing.assert_array_equal(labels.reshape(4, -1), sent)


def test_an_end_tag_ends_a_burst_and_a_start_within_one_is_none():
    """Of three bursts of 200 symbols, the second has a false start in its middle, the third ends before its known
    symbols: it is left out."""
    frame = Frame("qpsk", np.r_[np.full(80, 255), FRAMES["TETRA"].known[122:133], np.full(109, 255)].astype(np.uint8))
    samples, firsts, sent = stream(frame, 3, 64)
    tags = [tag(firsts[0] + 160), tag(firsts[1] + 160), tag(firsts[1] + 240), tag(firsts[2] + 160),
            tag(firsts[0] + 300, "end"), tag(firsts[1] + 400, "end"), tag(firsts[2] + 170, "end")]
    block = adann.burst_equalizer("qpsk", frame.known, tagged_symbol=80, end_tag="end")
    labels, *_, out = received(block, samples, sorted(tags, key=lambda t: t.offset))
    np.testing.assert_array_equal(labels, np.r_[sent[0, :150], sent[1]])
    assert block.bursts() == 2


@pytest.mark.parametrize("symbols, came",
                         [(255, 255), (254, 254), (180, 180), (134, 134), (132, 132), (131, 0), (0, 0)])
@pytest.mark.parametrize("end_tag", ["", "end"])
def test_the_end_of_the_stream_cuts_a_burst_off(symbols, came, end_tag, capfd):
    """What came of the second burst comes out, if ten of the known symbols, 122 to 132, did; else a warning. Zeros
    follow the last sample, which cost those symbols at most that see them."""
    samples, firsts, sent = stream(TETRA, 2, 64, es_n0=30.0)
    samples = samples[:firsts[1] + 2 * symbols - (symbols > 0)]
    tags = [tag(first + 2 * 122) for first in firsts if first + 2 * 122 < samples.size]
    block = adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122, end_tag=end_tag)
    labels, soft, posteriors, out = received(block, samples, tags)
    assert labels.size == len(soft) == len(posteriors) == 255 + came
    np.testing.assert_array_equal(labels[:255], sent[0])
    sure = max(0, came - 3)
    np.testing.assert_array_equal(labels[255:255 + sure], sent[1, :sure])
    assert [pmt.to_long(t.value) for t in out if str(t.key) == "packet_len"] == [255] + [came] * (came > 0)
    assert block.bursts() == 1 + (came > 0)
    logged = capfd.readouterr()
    assert ("is left out: fewer than 10 known ones within 1024" in logged.out + logged.err) == (symbols == 131)


@pytest.mark.parametrize("cut", [0, 100])
def test_a_flowgraph_that_is_run_again_equalizes_another_stream(cut):
    """With what the first one's end left: nothing, or a burst that it cut off."""
    samples, firsts, sent = stream(TETRA, 2, 64)
    samples = samples[:samples.size - cut]
    source, sink, top = blocks.vector_source_c(samples), blocks.vector_sink_b(), gr.top_block()
    source.set_data(samples, [tag(first + 2 * 122) for first in firsts])
    top.connect(source, adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122), sink)
    top.run()
    once = np.array(sink.data())
    np.testing.assert_array_equal(once[:255], sent[0])
    sink.reset()
    source.rewind()
    top.run()
    np.testing.assert_array_equal(sink.data(), once)


def test_float_samples_with_an_offset():
    """Four levels behind a discriminator whose carrier is off: no pause and no level is asked for."""
    random = np.random.default_rng(5)
    sent = random.integers(0, 4, 132).astype(np.uint8)
    known = np.full(132, 255, np.uint8)
    known[54:78] = sent[54:78]
    levels = unit_points(core.constellation("pam4")).real[sent]
    wave = np.convolve(np.kron(np.pad(levels, 16), [1, 0]), [0.2, 0.6, 1, 0.6, 0.2], "same")
    wave = 0.3 * wave + 0.4 + 0.02 * random.standard_normal(wave.size)
    labels, *_ = received(adann.burst_equalizer("pam4", known, complex=False, tagged_symbol=54),
                          wave.astype(np.float32), [tag(2 * (16 + 54))])
    np.testing.assert_array_equal(labels, sent)


def test_samples_that_are_no_numbers_cost_their_symbols_at_most():
    samples, firsts, sent = stream(TETRA, 1, 64)
    samples[firsts[0] + 100:firsts[0] + 104] = np.nan
    labels, soft, *_ = received(adann.burst_equalizer("qpsk", TETRA.known, tagged_symbol=122), samples,
                                [tag(firsts[0] + 244)])
    wrong = np.flatnonzero(labels != sent[0])
    assert np.isfinite(soft).all()
    assert ((wrong > 44) & (wrong < 58)).all()


@pytest.mark.parametrize("given, message", [
    (dict(known_symbols=[255] * 9 + [0] * 9),
     "known_symbols' known ones is 9, allowed: 10 or more within 1024 symbols"),
    (dict(known_symbols=[0] * 15 + [4]), "known_symbols' label is 4, allowed: 0 to 3, 255: not known"),
    (dict(known_symbols=[0] * 15), "known_symbols' length is 15, allowed: 16 to 100000"),
    (dict(constellation="oqpsk"), "constellation is oqpsk, allowed: one whose I and Q come together"),
    (dict(complex=False), "complex is 0, allowed: true for a constellation of complex points"),
    (dict(tagged_symbol=16), "tagged_symbol is 16, allowed: 0 to 15"),
    (dict(start_tag=""), "start_tag is empty, allowed: a tag's key"),
    (dict(sps=17), "sps is 17, allowed: 1 to 16"),
    (dict(length=33), "length is 33, allowed: 1 to 32"),
    (dict(carrier=0.3), "carrier is 0.3, allowed: 0 to 0.25"),
])
def test_a_parameter_out_of_range_is_named(given, message):
    with pytest.raises(ValueError) as error:
        adann.burst_equalizer(**(dict(constellation="qpsk", known_symbols=[0] * 16) | given))
    assert message in str(error.value)
