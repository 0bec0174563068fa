# SPDX-License-Identifier: GPL-3.0-or-later
"""GNU Radio's constellation objects at the sender, our blocks at the receiver."""

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, digital, gr
from gnuradio.adann import core
from gnuradio.adann.offline.training import TrainingSettings, train
from gnuradio.digital import psk, qam

OBJECTS = {
    "bpsk": digital.constellation_bpsk, "qpsk": digital.constellation_qpsk,
    "dqpsk": digital.constellation_dqpsk, "8psk": digital.constellation_8psk,
    "8psk_natural": digital.constellation_8psk_natural, "16qam": digital.constellation_16qam,
    "generic 16psk": lambda: psk.psk_constellation(16),
    "generic 16qam": lambda: qam.qam_constellation(16),
    "generic 64qam": lambda: qam.qam_constellation(64),
    **{name: lambda name=name: digital.constellation_calcdist(
        core.constellation(name).points.tolist(), [], 1, 1) for name in core.constellation.names()}}


def sent_labels(size, count, seed=1):
    return np.random.default_rng(seed).integers(0, size, count, dtype=np.uint8)


def run(labels, there, receiver, sps=1, turn=1):
    """A sender of GNU Radio's blocks, a channel that turns, the receiver, and our counter."""
    top = gr.top_block()
    counter = adann.ber_counter(there, 1024)
    source = blocks.vector_source_b(labels.tolist())
    chain = [source, digital.chunks_to_symbols_bc(there.points()), blocks.multiply_const_cc(turn)]
    if sps > 1:
        chain += [blocks.repeat(gr.sizeof_gr_complex, sps), blocks.skiphead(8, sps // 2)]
    top.connect(*chain, *receiver, counter)
    top.connect(source, (counter, 1))
    messages = blocks.message_debug()
    top.msg_connect(counter, "ber", messages, "store")
    top.run()
    return counter, [pmt.to_python(messages.get_message(i))
                     for i in range(messages.num_messages())]


def mlse(there):
    """Of memory one with the response known: decides the nearest point."""
    return adann.mlse(there, 1, 1, complex=True, response=(1,))


def slicer(there):
    """A network of one layer that decides the nearest point: there is no MLSE for more than 64."""
    points = np.array(there.points())
    net = core.network([2, points.size])
    net.weight(0)[:] = np.column_stack([points.real, points.imag])
    net.bias(0)[:] = -abs(points) ** 2 / 2
    return adann.equalizer(core.model(net, 1, 0, True, there), mode="off")


@pytest.mark.parametrize("kind", OBJECTS)
def test_without_noise_every_object_has_no_errors(kind):
    there = OBJECTS[kind]()
    counter, _ = run(sent_labels(there.arity(), 20_000), there,
                     [mlse(there) if there.arity() <= 64 else slicer(there)])
    assert counter.locked() and counter.errors() == 0
    assert counter.bits() > 19_000 * there.bits_per_symbol()


@pytest.mark.parametrize("seed", [1, 2001])
@pytest.mark.parametrize("kind", ["bpsk", "qpsk", "8psk", "16qam", "16apsk", "32qam"])
def test_the_equalizer_learns_the_object_and_adapts_without_errors(kind, seed):
    """No more than the frozen network, which has two at most, in the stream's first windows. Without noise a phase
    search once took what the taps' ridge leaves for a carrier: 24 errors of 16QAM's second draw."""
    there = OBJECTS[kind]()
    points = np.array(there.points(), np.complex64)
    labels = sent_labels(points.size, 30_000, seed)
    record = np.repeat(points[labels[:6000]], 2)[1:]
    settings = TrainingSettings(hidden=(32,), fraction=1, optimizer="adam", learning_rate=0.01,
                                epochs=60, batch=256)
    trained = train(record, labels[:6000], there, 2, 1, settings)
    assert trained.train.symbol_errors == 0 and not trained.disagreement
    model = trained.model
    power = np.mean(abs(points) ** 2)
    counters = []
    for mode in "off", "lockstep":
        equalizer = adann.equalizer(model, mode=mode)
        counters.append(run(labels, there, [blocks.multiply_const_cc(1 / np.sqrt(power)), equalizer], 2)[0])
    frozen, adaptive = counters
    assert adaptive.locked() and adaptive.errors() == frozen.errors() <= 2 * there.bits_per_symbol()
    assert adaptive.bits() > 28_000 * there.bits_per_symbol()
    assert equalizer.updates() > 50


@pytest.mark.parametrize("levels", [[0, 1], [0.2, 1]])
@pytest.mark.parametrize("is_complex", [False, True])
def test_on_off_keying_starts_blindly(levels, is_complex):
    """Points as users draw them; the samples have zero mean, as a receiver leaves them."""
    there = digital.constellation_calcdist(levels, [], 1, 1, digital.constellation.NO_NORMALIZATION)
    labels = sent_labels(2, 60_000)
    symbols = 2.0 * labels - 1
    samples = np.repeat(symbols, 2)
    samples[1::2] = (symbols + np.roll(symbols, -1)) / 2
    noise = 0.02 * np.random.default_rng(1).standard_normal((2, samples.size))
    samples = samples + 0.15 * np.roll(samples, 2) + noise[0] + 1j * noise[1] * is_complex
    equalizer = adann.equalizer("", constellation=there, sps=2, half_window=3, mode="lockstep", complex=is_complex)
    source = blocks.vector_source_c(samples.tolist()) if is_complex else blocks.vector_source_f(samples.real.tolist())
    sink, top = blocks.vector_sink_b(), gr.top_block()
    top.connect(source, equalizer, sink)
    top.run()
    decided = np.array(sink.data(), np.uint8)[40_000:55_000]
    assert min(np.mean(decided ^ turned != labels[40_000 + late:55_000 + late])
               for turned in (0, 1) for late in range(-3, 4)) == 0


def test_labels_of_another_order_are_told_and_not_called_locked(capfd):
    """The newcomer's flowgraph: GNU Radio's QPSK at the sender, ours at the receiver."""
    there = digital.constellation_qpsk()
    top = gr.top_block()
    source = blocks.vector_source_b(sent_labels(4, 50_000).tolist())
    counter = adann.ber_counter("qpsk")
    messages = blocks.message_debug()
    top.connect(source, digital.chunks_to_symbols_bc(there.points()), mlse("qpsk"), counter)
    top.connect(source, (counter, 1))
    top.msg_connect(counter, "ber", messages, "store")
    top.run()
    assert not counter.locked() and counter.bits() == 0
    assert counter.permuted() == "1<->2"
    told = [pmt.to_python(messages.get_message(i)) for i in range(messages.num_messages())]
    assert [(m["locked"], m["permuted"]) for m in told] == [(False, "1<->2")]


def test_differential_qpsk_is_decoded_by_gnuradios_blocks_whatever_the_phase():
    """As GNU Radio's constellation modulator sends it: pre-differential code, differential encoder,
    points; and back by its inverse. A rotation by 90 degrees does not matter."""
    there = digital.constellation_dqpsk()
    code = there.pre_diff_code()
    labels = sent_labels(4, 20_000)
    for turn in 1, 1j, -1:
        top = gr.top_block()
        source = blocks.vector_source_b(labels.tolist())
        counter = adann.ber_counter("gr:dqpsk", 1024)
        top.connect(source, digital.map_bb(code), digital.diff_encoder_bb(4),
                    digital.chunks_to_symbols_bc(there.points()), blocks.multiply_const_cc(turn),
                    mlse(there), digital.diff_decoder_bb(4),
                    digital.map_bb(np.argsort(code).tolist()), counter)
        top.connect(source, (counter, 1))
        top.run()
        assert counter.locked() and counter.symmetry() == 0
        assert counter.errors() <= 2  # the first symbol has none before it


def test_pi_4_dqpsk_is_dqpsk_behind_a_rotator():
    """It turns by 45 degrees more each symbol; the rotator takes that off, for a receiver of QPSK."""
    there = digital.constellation_dqpsk()
    code = there.pre_diff_code()
    labels = sent_labels(4, 20_000)
    top = gr.top_block()
    source = blocks.vector_source_b(labels.tolist())
    counter = adann.ber_counter("gr:dqpsk", 1024)
    top.connect(source, digital.map_bb(code), digital.diff_encoder_bb(4),
                digital.chunks_to_symbols_bc(there.points()), blocks.rotator_cc(np.pi / 4),
                blocks.rotator_cc(-np.pi / 4), mlse(there), digital.diff_decoder_bb(4),
                digital.map_bb(np.argsort(code).tolist()), counter)
    top.connect(source, (counter, 1))
    top.run()
    assert counter.locked() and counter.errors() <= 2


def test_soft_bits_take_a_constellation():
    for given in digital.constellation_16qam(), "16qam", 16:
        assert adann.soft_bits(given).interpolation() == 4
    with pytest.raises(ValueError, match="constellation is 'nothing'"):
        adann.soft_bits("nothing")


def test_the_mlse_refuses_what_is_too_large_by_name():
    with pytest.raises(ValueError, match="256qam with 256 points, allowed: up to 64 points"):
        adann.mlse("256qam", 1, 1, complex=True)
