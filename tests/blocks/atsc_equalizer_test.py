# SPDX-License-Identifier: GPL-3.0-or-later
"""The equalizer of television's segments, between GNU Radio's own transmitter and decoders."""

import functools
import time

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, dtv, gr

FIELDS, SEGMENT, SECOND_FIELD, FIRST = 8, 832, 0x10, 0x08
BEGIN = 100  # packets: decoders start with 52 wrong ones


@functools.cache
def sent():
    """Levels of segments (n, 832) as gr-dtv sends random packets, and the plinfo that a receiver has."""
    packets = np.random.default_rng(5).integers(0, 256, (312 * FIELDS, 188), np.uint8)
    packets[:, 0] = 0x47
    top, sink = gr.top_block(), blocks.vector_sink_b()
    top.connect(blocks.vector_source_b(packets.ravel(), False), dtv.atsc_pad(), dtv.atsc_randomizer(),
                dtv.atsc_rs_encoder(), dtv.atsc_interleaver(), dtv.atsc_trellis_encoder(),
                dtv.atsc_field_sync_mux(), blocks.vector_to_stream(1, 1024),
                blocks.keep_m_in_n(1, SEGMENT, 1024, 4), sink)
    top.run()
    levels = 2 * np.array(sink.data(), np.float32)
    levels = levels[:len(levels) // SEGMENT * SEGMENT].reshape(-1, SEGMENT) - 7
    number = np.arange(len(levels)) % 313 - 1
    flags = 1 + SECOND_FIELD * (np.arange(len(levels)) // 313 % 2) + FIRST * (number == 0)
    return levels, np.stack([flags, number], 1).astype(np.int16)


def echo(turns=0.0, strength=0.4, late=11, noise=0.5):
    """The segments behind a path whose strength swings so often."""
    levels, _ = sent()
    stream = levels.ravel()
    path = strength * np.cos(2 * np.pi * turns * np.arange(stream.size))
    noises = np.random.default_rng(1).normal(0, noise, stream.size)
    return ((stream + path * np.roll(stream, late) + noises) * 0.2).astype(np.float32).reshape(levels.shape)


def flowgraph(equalizer, segments, infos):
    top = gr.top_block()
    top.connect(blocks.vector_source_f(segments.ravel(), False, SEGMENT), (equalizer, 0))
    top.connect(blocks.vector_source_s(infos.ravel().tolist(), False, 2), (equalizer, 1))
    return top


def equalized(equalizer, segments, infos=None):
    top = flowgraph(equalizer, segments, sent()[1] if infos is None else infos)
    levels, told = blocks.vector_sink_f(SEGMENT), blocks.vector_sink_s(2)
    top.connect((equalizer, 0), levels)
    top.connect((equalizer, 1), told)
    top.run()
    return (np.array(levels.data(), np.float32).reshape(-1, SEGMENT),
            np.array(told.data(), np.int16).reshape(-1, 2))


def lost(equalizer, segments):
    """Which packets the in-tree decoders could not correct."""
    top = flowgraph(equalizer, segments, sent()[1])
    chain = [equalizer, dtv.atsc_viterbi_decoder(), dtv.atsc_deinterleaver(), dtv.atsc_rs_decoder()]
    for one, other in zip(chain, chain[1:]):
        for port in range(2):
            top.connect((one, port), (other, port))
    told = blocks.vector_sink_s(2)
    top.connect((chain[-1], 0), blocks.null_sink(chain[-1].output_signature().sizeof_stream_item(0)))
    top.connect((chain[-1], 1), told)
    top.run()
    return np.array(told.data(), np.int16)[::2] & 0x20 != 0


def test_segments_come_out_with_their_own_plinfo_and_without_the_fields_first_ones():
    levels, infos = sent()
    found, told = equalized(adann.atsc_equalizer(), echo())
    data = infos[:, 1] >= 0
    n = len(found)
    assert n == data[:-1].sum()  # the last one waits for the next
    np.testing.assert_array_equal(told, infos[data][:n])
    error = np.mean((found - levels[data][:n]) ** 2)
    assert error < 0.6  # the noise is 0.25, and the echo's inverse amplifies it by 1/(1 - 0.4²)


@pytest.mark.parametrize("turns", [0, 1e-6, 1e-5])
def test_packets_come_where_the_in_tree_equalizer_loses_them(turns):
    segments = echo(turns)
    assert lost(adann.atsc_equalizer(), segments)[BEGIN:].sum() == 0
    assert lost(dtv.atsc_equalizer(), segments)[BEGIN:].mean() > 0.9


def test_a_late_and_an_early_echo_need_taps_that_reach_them():
    for echoes, reach in ((echo(late=100, strength=0.3), {"past": 128}),
                          (echo(late=-40, strength=0.3), {"future": 96})):
        assert lost(adann.atsc_equalizer(**reach), echoes)[BEGIN:].sum() == 0


def test_the_output_is_the_same_whatever_the_buffers():
    segments = echo(1e-5)[:700]
    whole, _ = equalized(adann.atsc_equalizer(), segments, sent()[1][:700])
    block = adann.atsc_equalizer()
    block.set_max_noutput_items(3)
    parts, _ = equalized(block, segments, sent()[1][:700])
    np.testing.assert_array_equal(whole, parts)


def test_a_sample_that_is_not_finite_costs_its_segment_and_nothing_after_it():
    segments = echo()
    segments[400, 300], segments[450, 5] = np.nan, np.inf
    found, _ = equalized(adann.atsc_equalizer(), segments)
    clean, _ = equalized(adann.atsc_equalizer(), echo())
    assert np.isfinite(found).all()
    assert np.mean((found[460:] - clean[460:]) ** 2) < 1e-2


def test_after_segments_that_are_missing_it_goes_on():
    _, infos = sent()
    kept = np.r_[0:500, 530:900]
    found, told = equalized(adann.atsc_equalizer(), echo()[kept], infos[kept])
    levels = sent()[0][kept][infos[kept, 1] >= 0][:len(found)]
    np.testing.assert_array_equal(told, infos[kept][infos[kept, 1] >= 0][:len(found)])
    assert np.mean((found[510:] - levels[510:]) ** 2) < 0.6


def test_a_channel_that_jumps_is_found_again_at_the_next_field():
    segments = np.concatenate([echo(late=11)[:800], -echo(late=5)[800:]])
    block = adann.atsc_equalizer()
    assert lost(block, segments)[4 * 312:].sum() == 0
    assert block.resets() == 1


def test_nothing_comes_before_a_fields_first_segment():
    _, infos = sent()
    found, told = equalized(adann.atsc_equalizer(), echo()[200:700], infos[200:700])
    assert told[0, 1] == 0
    assert len(found) == 700 - 314 - 1 - 1  # the next field's first one; the last one waits


def test_tags_stay_at_their_segment():
    block = adann.atsc_equalizer()
    block.set_max_noutput_items(1)
    tag = gr.tag_t()
    tag.offset, tag.key, tag.value = 317, pmt.intern("here"), pmt.PMT_T
    top = gr.top_block()
    top.connect(blocks.vector_source_f(echo()[:330].ravel(), False, SEGMENT, [tag]), (block, 0))
    top.connect(blocks.vector_source_s(sent()[1][:330].ravel().tolist(), False, 2), (block, 1))
    sink = blocks.vector_sink_f(SEGMENT)
    top.connect((block, 0), sink)
    top.connect((block, 1), blocks.null_sink(4))
    top.run()
    assert [(t.offset, pmt.symbol_to_string(t.key)) for t in sink.tags()] == [(315, "here")]


def test_each_field_is_a_status_message():
    block, debug = adann.atsc_equalizer(), blocks.message_debug()
    top = flowgraph(block, echo(), sent()[1])
    for port, size in enumerate((4 * SEGMENT, 4)):
        top.connect((block, port), blocks.null_sink(size))
    top.msg_connect(block, "status", debug, "store")
    top.run()
    told = len(sent()[0]) // 313
    end = time.monotonic() + 60
    while debug.num_messages() < told - 1:  # a message is stored by a thread of the debug block's own
        assert time.monotonic() < end, "no status comes"
        time.sleep(0.01)
    status = pmt.to_python(debug.get_message(debug.num_messages() - 1))
    assert status["event"] == "step" and status["tracking"] == "following"
    assert status["mer"] == pytest.approx(-status["residual"])
    assert 15 < status["mer"] < 25 and status["known_errors"] < 0.1
    assert block.memory() > 0 and len(block.taps()) == 64 + 32 + 1


@pytest.mark.parametrize("name", ["past", "future"])
@pytest.mark.parametrize("value", [7, 129])
def test_what_is_out_of_range_is_refused_by_name(name, value):
    with pytest.raises(ValueError, match=f"{name} is {value}, allowed: 8 to 128"):
        adann.atsc_equalizer(**{name: value})
