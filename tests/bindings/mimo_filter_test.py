# SPDX-License-Identifier: GPL-3.0-or-later
"""Several channels together: against numpy's least squares, on polarisations that turn, on two antennas."""

import functools

import numpy as np
import pytest
from gnuradio.adann import core
from gnuradio.adann.links.dual_polarization_link import DualPolarizationLink

HALF_WINDOW, SPS, LENGTH = 2, 2, 12
REACH = LENGTH * SPS // 2


def unit_points(name):
    points = core.constellation(name).points
    return points / np.sqrt(np.mean(np.abs(points) ** 2))


def slicer(name):
    """A network of one layer that decides the point nearest to the middle sample."""
    points = unit_points(name)
    net = core.network([2 * SPS * (2 * HALF_WINDOW + 1), points.size])
    middle = 2 * (SPS * HALF_WINDOW + SPS // 2)
    net.weight(0)[:, middle:middle + 2] = 10 * np.column_stack([points.real, points.imag])
    net.bias(0)[:] = -5 * np.abs(points) ** 2
    return net


def rows(samples):
    """(symbols, SPS): the samples that each symbol owns."""
    return np.roll(samples, SPS // 2).reshape(-1, SPS)


def windows_of(x):
    """(samples, channels * taps): what a filter sees around each sample."""
    padded = np.pad(x, ((0, 0), (REACH, REACH)))
    return np.concatenate([np.lib.stride_tricks.sliding_window_view(c, 2 * REACH + 1) for c in padded], 1)


def labels_for(name, count, seed, transmitters=2):
    return np.random.default_rng(seed).integers(
        0, core.constellation(name).size, (transmitters, count)).astype(np.uint8)


@functools.lru_cache
def model_of(name, snr=None):
    """A slicer, and the waveform of one transmitter alone through the link's pulses, in its noise."""
    labels = labels_for(name, 20000, 1)
    if snr is None:
        snr = {"16qam": 18, "64qam": 27}.get(name, 12)
    samples = DualPolarizationLink(name, angle=0, delay=0, snr=snr).receive(labels, 1)
    model = core.model(slicer(name), SPS, HALF_WINDOW, True, name)
    model.waveform = core.expected_waveform.fit(core.constellation(name), rows(samples[0]), labels[0])
    return model


def errors(filtered, delay, labels, name):
    """Symbol error rates (outputs, transmitters) of the nearest points, by the best symmetry and of
    nine delays, and those delays."""
    points = unit_points(name)
    decided = [np.abs(f[SPS * delay::SPS, None] - points).argmin(1) for f in filtered]
    found = np.ones((len(filtered), len(labels)))
    late = np.zeros(found.shape, int)
    for o, mine in enumerate(decided):
        for t, sent in enumerate(labels):
            for symmetry in core.constellation(name).symmetries:
                turned = np.array(symmetry)[mine]
                for d in range(-4, 5):
                    rate = np.mean(turned[8:-8] != np.roll(sent, d)[8:turned.size - 8])
                    if rate < found[o, t]:
                        found[o, t], late[o, t] = rate, d
    return found, late


def apart(rates, bar):
    """Whether each output has a transmitter of its own, with error rates below the bar."""
    return sorted(np.argmin(rates, axis=1)) == list(range(len(rates))) and rates.min(axis=1).max() < bar


def test_the_start_is_the_least_squares_to_the_expected_waveform():
    labels = labels_for("16qam", 3000, 2)
    samples = DualPolarizationLink(angle=0.7, delay=0.6).receive(labels, 2)
    model = model_of("16qam")
    filter = core.mimo_filter(model)
    filter.start(samples, labels)
    around = model.waveform.reach
    # The first and the last symbol lack samples of their own.
    symbols = np.arange(1 + around, labels.shape[1] - 1 - around)
    i = (symbols[:, None] * SPS - SPS // 2 + np.arange(SPS)).ravel()
    X = windows_of(samples)[i]
    R = X.conj().T @ X
    for sent, taps in zip(labels, filter.taps):
        wanted = model.waveform.expect(sent)[1:-1].ravel()
        load = 1e-3 * np.trace(R).real / len(R)
        expected = np.linalg.solve(R + load * np.eye(len(R)), X.conj().T @ wanted)
        assert np.abs(taps.ravel() - expected).max() < 2e-3


def test_is_the_same_to_the_bit_however_the_stream_is_cut():
    labels = labels_for("qpsk", 8192 + 512, 3)
    samples = DualPolarizationLink("qpsk", turning=1e-5, snr=14).receive(labels, 3)
    whole, cut = core.mimo_filter(model_of("qpsk")), core.mimo_filter(model_of("qpsk"))
    together = whole.run(samples)
    edges = [0, 32, 96, 10240, 10272, samples.shape[1]]
    parts = [cut.run(samples[:, a:b]) for a, b in zip(edges, edges[1:])]
    assert whole.status[0].starts == 1
    assert np.array_equal(together, np.concatenate(parts, axis=1))
    assert np.array_equal(whole.taps, cut.taps)


@pytest.mark.parametrize("turning", [0, 3e-6, 3e-5, 3e-4])
def test_follows_polarisations_that_turn(turning):
    """From 512 symbols, over which the fastest ones turn by 0.15 rad: of 100 streams none was lost. Taps of 2048 are of
    angles up to 0.3 rad aside, and one output of 11 in 230 streams was lost at their ends."""
    labels = labels_for("16qam", 32768, 4)
    samples = DualPolarizationLink(turning=turning, loss=2, linewidth=1e-6).receive(labels, 4)
    filter = core.mimo_filter(model_of("16qam"))
    filter.start(samples[:, :1024], labels[:, :512])
    filtered = filter.run(samples)[:, 8192:]
    rates, _ = errors(filtered, filter.delay, labels[:, 4096:], "16qam")
    assert np.argmin(rates, axis=1).tolist() == [0, 1]  # each stays where it was told
    assert rates.min(axis=1).max() < 5e-3
    assert [each.starts for each in filter.status] == [1, 1]


@pytest.mark.parametrize("name, snr", [("qpsk", 4), ("16qam", 11)])
def test_trained_noise_is_no_loss(name, snr):
    """Where a tenth of the symbols is wrong, or more, as when the model was trained."""
    labels = labels_for(name, 32768, 6)
    samples = DualPolarizationLink(name, angle=0.4, snr=snr).receive(labels, 6)
    filter = core.mimo_filter(model_of(name, snr))
    filter.start(samples[:, :8192], labels[:, :4096])
    rates, _ = errors(filter.run(samples)[:, 8192:], filter.delay, labels[:, 4096:], name)
    assert np.argmin(rates, axis=1).tolist() == [0, 1]
    assert 0.05 < rates.min(axis=1).max() < 0.35
    assert [(each.found, each.starts) for each in filter.status] == [(True, 1)] * 2


@pytest.mark.parametrize("name, snr", [("qpsk", 12), ("16qam", 20)])
def test_starts_blindly_with_the_outputs_apart(name, snr):
    random = np.random.default_rng(5)
    for seed in range(10):
        labels = labels_for(name, 16384, 100 + seed)
        link = DualPolarizationLink(name, angle=random.uniform(-np.pi, np.pi), delay=random.uniform(0, 1),
                                    loss=random.uniform(0, 3), turning=1e-6, snr=snr)
        filter = core.mimo_filter(model_of(name))
        filtered = filter.run(link.receive(labels, seed))
        rates, _ = errors(filtered[:, 16384:], filter.delay, labels[:, 8192:], name)
        assert apart(rates, 2e-2), (seed, rates)


@pytest.mark.parametrize("carrier", [1e-3, -3.1e-3, 1e-2])
@pytest.mark.parametrize("name, snr", [("qpsk", 12), ("16qam", 20)])
def test_starts_blindly_under_a_carrier(name, snr, carrier):
    """Of two lasers 50 kHz wide at 32 GBd. 3.1e-3: 100 MHz apart."""
    random = np.random.default_rng(5)
    for seed in range(4):
        labels = labels_for(name, 16384, 100 + seed)
        link = DualPolarizationLink(name, angle=random.uniform(-np.pi, np.pi), delay=random.uniform(0, 1),
                                    loss=random.uniform(0, 3), turning=1e-6, snr=snr, carrier=carrier, linewidth=1.6e-6)
        filter = core.mimo_filter(model_of(name))
        filtered = filter.run(link.receive(labels, seed))
        rates, _ = errors(filtered[:, 16384:], filter.delay, labels[:, 8192:], name)
        assert apart(rates, 2e-2), (seed, rates)
        # The loops' own estimate moves: by what phase noise of 64 symbols is, some 1e-4.
        assert [each.frequency for each in filter.status] == pytest.approx([carrier] * 2, abs=4e-4)


def test_starts_from_labels_under_a_carrier():
    labels = labels_for("16qam", 16384, 11)
    samples = DualPolarizationLink(loss=2, carrier=-3.1e-3, linewidth=1.6e-6).receive(labels, 11)
    filter = core.mimo_filter(model_of("16qam"))
    filter.start(samples[:, :4096], labels[:, :2048])
    rates, _ = errors(filter.run(samples)[:, 512:], filter.delay, labels[:, 256:], "16qam")
    assert np.argmin(rates, axis=1).tolist() == [0, 1] and rates.min(axis=1).max() < 5e-3
    assert [each.starts for each in filter.status] == [1, 1]


@pytest.mark.parametrize("carrier", [-3.1e-3, 0.1])
def test_known_symbols_tell_the_carrier_behind_any_channel(carrier):
    """Against the phase that was put in, of which 64 symbols in this noise leave some 0.02 rad."""
    random = np.random.default_rng(12)
    sent = unit_points("16qam")[labels_for("16qam", 8192, 12)]
    phase = 2 * np.pi * carrier * np.arange(8192) + np.cumsum(random.normal(0, 0.003, 8192))
    mixed = np.array([[0.8, 0.5j, 0.2], [0.3j, 0.9, -0.2j]]) @ np.stack([*sent, np.roll(sent[0], 1)])
    samples = mixed * np.exp(1j * phase) + random.standard_normal((2, 8192, 2)) @ [1, 1j] * 0.1
    told = np.where(np.arange(8192) % 1000 < 500, sent[0], 0)
    frequency, found = core.known_carrier(np.pad(samples, ((0, 0), (3, 3))).T, told, 3)
    assert frequency == pytest.approx(carrier, abs=5e-5)
    left = np.exp(1j * (found - phase))[told != 0]
    left *= np.exp(-1j * np.angle(left.mean()))
    assert np.std(np.angle(left)) < 0.05
    still = mixed + random.standard_normal((2, 8192, 2)) @ [1, 1j] * 0.1
    frequency, found = core.known_carrier(np.pad(still, ((0, 0), (3, 3))).T, told, 3)
    assert frequency == 0 and found.size == 0
    with pytest.raises(ValueError, match="samples' shape"):
        core.known_carrier(samples.T, told, 3)


def test_starts_where_there_is_hardly_any_noise():
    """What the first transmitter leaves at a record's ends is not taken for the second one, as it was of seeds 14, 19
    and 24."""
    for seed in range(13, 25):
        random = np.random.default_rng([5, seed])
        link = DualPolarizationLink(angle=random.uniform(-np.pi, np.pi), delay=random.uniform(0, 1),
                                    loss=random.uniform(0, 3), snr=40)
        block = core.mimo_filter(model_of("16qam"), 2, 2)
        block.start(link.receive(labels_for("16qam", 4096, seed), seed), None)
        assert [each.found for each in block.status] == [True, True]


def test_outputs_that_were_led_to_one_transmitter_part_again():
    labels = labels_for("qpsk", 32768, 6)
    samples = DualPolarizationLink("qpsk", snr=13).receive(labels, 6)
    for late in (0, 2):
        filter = core.mimo_filter(model_of("qpsk"))
        filter.start(samples[:, :8192], np.stack([labels[0, :4096], np.roll(labels[0], late)[:4096]]))
        filtered = filter.run(samples)
        together, _ = errors(filtered[:, :1024], filter.delay, labels[:, :512], "qpsk")
        assert np.argmin(together, axis=1).tolist() == [0, 0] and together[:, 0].max() < 2e-2
        parted, _ = errors(filtered[:, 32768:], filter.delay, labels[:, 16384:], "qpsk")
        assert apart(parted, 2e-2)
        assert sorted(each.starts for each in filter.status) == [1, 2]


def test_what_explains_little_but_still_decides_goes_on():
    """Noise leaves about what decisions at random do; a start over would turn the labels."""
    labels = labels_for("16qam", 32768, 13)
    samples = DualPolarizationLink(snr=12).receive(labels, 13)
    filter = core.mimo_filter(model_of("16qam"))
    filter.start(samples[:, :8192], labels[:, :4096])
    points, filtered = unit_points("16qam"), filter.run(samples)
    assert [each.starts for each in filter.status] == [1, 1]
    for mine, sent in zip(filtered, labels):
        decided = np.abs(mine[SPS * (filter.delay + 16384)::SPS, None] - points).argmin(1)
        assert np.mean(decided != sent[16384:16384 + decided.size]) < 0.2


@pytest.mark.parametrize("rises", [False, True])
def test_more_noise_than_the_training_record_had_is_no_loss(rises):
    """By 17 dB: one in thirteen symbols is wrong. Where the noise rose, both outputs were lost for good
    before; where it is there from the start, none was."""
    labels = labels_for("16qam", 65536, 7)
    samples, noisy = (DualPolarizationLink(snr=snr, turning=3e-6).receive(labels, 7) for snr in (28, 13))
    first = SPS * 20000 if rises else 0
    samples[:, first:] = noisy[:, first:]
    filter = core.mimo_filter(model_of("16qam", 30))
    filter.start(samples[:, :8192], labels[:, :4096])
    rates, _ = errors(filter.run(samples)[:, SPS * 49152:], filter.delay, labels[:, 49152:], "16qam")
    assert np.argmin(rates, axis=1).tolist() == [0, 1] and rates.min(axis=1).max() < 0.085
    assert [(each.found, each.starts) for each in filter.status] == [(True, 1)] * 2


def test_a_signal_that_was_away_comes_back_as_it_was():
    labels = labels_for("16qam", 49152, 20)
    samples = DualPolarizationLink(snr=20, turning=1e-6).receive(labels, 20)
    samples[:, SPS * 16384:SPS * 36384] = 0
    filter = core.mimo_filter(model_of("16qam"))
    filter.start(samples[:, :8192], labels[:, :4096])
    filtered = filter.run(samples)
    rates, _ = errors(filtered[:, SPS * 38912:], filter.delay, labels[:, 38912:], "16qam")
    assert np.argmin(rates, axis=1).tolist() == [0, 1] and rates.min(axis=1).max() < 1e-2
    assert [each.starts for each in filter.status] == [1, 1]


def decided_symbols(filtered, delay, name):
    points = unit_points(name)
    return np.stack([np.abs(f[SPS * delay::SPS, None] - points).argmin(1) for f in filtered])


@pytest.mark.parametrize("name, snr", [("qpsk", 10), ("16qam", 18)])
@pytest.mark.parametrize("power, symbols", [(0, 2500), (6, 500)])
def test_after_noise_alone_it_goes_on_at_once(name, snr, power, symbols):
    """Three pauses with the receiver's noise (power in dB relative to it), or three bursts of noise that exceed the
    signal. A blind start takes 4096 symbols, and may swap or rotate the outputs. The lasers are 1e-3 cycles per symbol
    apart and have a linewidth of 1e-6."""
    count, firsts = 40960, (12000, 21000, 30000)
    labels = labels_for(name, count, 40)
    samples = DualPolarizationLink(name, snr=snr, turning=1e-6, carrier=1e-3, linewidth=1e-6).receive(labels, 40)
    random = np.random.default_rng(41)
    own = np.sqrt(np.mean(np.abs(samples) ** 2)) * 10 ** (-snr / 20)
    for first in firsts:
        at = slice(SPS * first, SPS * (first + symbols))
        noise = random.standard_normal((2, SPS * symbols, 2)).view(complex)[..., 0] / np.sqrt(2)
        samples[:, at] = own * noise if power == 0 else samples[:, at] + own * 10 ** ((snr + power) / 20) * noise
    filter = core.mimo_filter(model_of(name, snr))
    filter.start(samples[:, :8192], labels[:, :4096])
    decided = decided_symbols(filter.run(samples), filter.delay, name)
    wrong = decided != labels[:, :decided.shape[1]]
    usual = wrong[:, 8192:12000].mean(axis=1)
    for first in firsts:
        after = wrong[:, first + symbols + 768:first + symbols + 4864]  # less than one start takes
        assert np.all(after.mean(axis=1) < 1.5 * usual + 5e-3)
    assert [each.starts for each in filter.status] == [1, 1]


def test_a_mixture_is_not_taken_for_a_transmitter():
    """A polarisation that jumps leads both outputs to mixtures, which some starts find again: with a residual five
    times that from before, below that of random decisions. Before that was tested, some of these stayed there."""
    turned, bad = 1.2, 0
    for seed in range(8):
        labels = labels_for("qpsk", 65536, [50, seed])
        samples = DualPolarizationLink("qpsk", snr=13, angle=0.2 * seed).receive(labels, seed)
        jump = np.array([[np.cos(turned), np.sin(turned)], [-np.sin(turned), np.cos(turned)]])
        samples[:, SPS * 16384:] = jump @ samples[:, SPS * 16384:]
        filter = core.mimo_filter(model_of("qpsk"))
        filter.start(samples[:, :8192], labels[:, :4096])
        rates, _ = errors(filter.run(samples)[:, SPS * 57344:], filter.delay, labels[:, 57344:], "qpsk")
        bad += not apart(rates, 2e-2)
    assert bad == 0


@pytest.mark.parametrize("name, snr, level, starts", [
    ("16qam", 25, 0.05, 2), ("16qam", 25, 0.25, 1), ("16qam", 25, 0.5, 1),
    ("16qam", 17, 0.5, 0), ("16qam", 17, 4, 0),
    ("64qam", 27, 0.5, 1), ("64qam", 27, 0.7, 1), ("64qam", 27, 2, 1)])
def test_a_signal_whose_level_steps_is_found_again(name, snr, level, starts):
    """26 dB less is silence to taps of the signal before, and not learnt from: it starts anew. Less of a step leaves
    decisions on the inner points, whose taps explain them by half; 16QAM at 17 dB stayed there. What was told the
    level all along is the measure. starts: 1, or as many or more; 0: at 17 dB one link in ten starts over."""
    labels = labels_for(name, 49152, 20)
    samples = DualPolarizationLink(name, snr=snr, turning=1e-6).receive(labels, 20)
    rates = []
    for by in (1, level):
        stepped = samples.copy()
        stepped[:, SPS * 16896:] *= by
        filter = core.mimo_filter(model_of(name))
        filter.start(stepped[:, :8192], labels[:, :4096])
        filtered = filter.run(stepped)
        found, _ = errors(filtered[:, SPS * 32768:], filter.delay, labels[:, 32768:], name)
        rates.append(found)
    told, found = rates
    assert apart(found, told.min(axis=1).max() * 1.2 + 1e-3)
    assert all(each.starts == 1 if starts == 1 else each.starts >= starts for each in filter.status)
    assert starts != 1 or np.argmin(found, axis=1).tolist() == [0, 1]  # as before the step


def quadrants(filtered, delay, sent):
    """By how many quarter turns a stream is turned against its transmitter, in stretches of 512 symbols."""
    streams = filtered[:, SPS * delay::SPS]
    count = streams.shape[1] // 512 * 512
    found = []
    for mine in streams:
        parts = [(mine[:count] * unit_points("16qam")[np.roll(each, late)[:count]].conj()).reshape(-1, 512).sum(1)
                 for each in sent for late in (-1, 0, 1)]
        best = max(parts, key=lambda part: np.sum(np.abs(part[-16:])))
        found.append(np.round(np.angle(best) / (np.pi / 2)).astype(int) % 4)
    return found


@pytest.mark.parametrize("snr, linewidth", [(13, 2e-5), (16, 1e-4)])
def test_no_cycle_slips(snr, linewidth):
    """Decisions at the predicted phase alone slip some 50 times in each of 49,152 symbols at 1e-4. At 13 dB
    one link in four starts over, and may turn. That fewer than 4 of 20 do not has a probability of 5e-7."""
    calm = 0
    for seed in range(14, 34):
        labels = labels_for("16qam", 49152, seed)
        samples = DualPolarizationLink(snr=snr, carrier=3.1e-3, linewidth=linewidth).receive(labels, seed)
        filter = core.mimo_filter(model_of("16qam"))
        filter.start(samples[:, :8192], labels[:, :4096])
        turned = quadrants(filter.run(samples), filter.delay, labels)
        calm += (all((each[1:] == each[1]).all() for each in turned)
                 and [each.starts for each in filter.status] == [1, 1])
    assert calm >= 4


def test_less_phase_noise_is_left_than_any_prediction_leaves():
    linewidth, labels = 3e-5, labels_for("qpsk", 24576, 16)
    samples = DualPolarizationLink("qpsk", snr=20, linewidth=linewidth).receive(labels, 16)
    filter = core.mimo_filter(model_of("qpsk"))
    filter.start(samples[:, :8192], labels[:, :4096])
    streams = filter.run(samples)[:, SPS * filter.delay::SPS]
    # A Wiener phase has moved by so much, in variance, in the 25 symbols from what is decided to what comes in.
    predicted = 2 * np.pi * linewidth * 25
    count = streams.shape[1] // 16 * 16
    for mine, sent in zip(streams, labels):
        left = (mine[:count] * unit_points("qpsk")[sent[:count]].conj()).reshape(-1, 16).sum(1)[512:]
        assert np.var(np.angle(left * np.exp(-1j * np.angle(left.sum())))) < predicted / 3


def test_transmitters_with_a_laser_each_are_followed_apart():
    labels = labels_for("qpsk", 24576, 15)
    turning = np.exp(2j * np.pi * np.outer([1e-3, -7e-4], np.arange(SPS * 24576) / SPS))
    alone = DualPolarizationLink("qpsk", angle=0, delay=0, snr=16).receive(labels, 15)
    samples = np.array([[0.9, 0.4], [-0.3j, 0.8]]) @ (alone * turning)
    for told in (False, True):
        filter = core.mimo_filter(model_of("qpsk"))
        if told:
            filter.start(samples[:, :8192].astype(np.complex64), labels[:, :4096])
        filtered = filter.run(samples.astype(np.complex64))
        rates, _ = errors(filtered[:, 24576:], filter.delay, labels[:, 12288:], "qpsk")
        assert apart(rates, 2e-2), (told, rates)
        assert sorted(each.frequency for each in filter.status) == pytest.approx([-7e-4, 1e-3], abs=2e-4)


def test_one_output_of_two_antennas_is_better_than_either():
    """Each antenna has a ray and an echo, in noise of its own."""
    random = np.random.default_rng(7)
    labels = labels_for("qpsk", 24576, 7, transmitters=1)
    alone = DualPolarizationLink("qpsk", angle=0, delay=0, snr=100).receive(np.repeat(labels, 2, 0), 7)[0]
    noise = random.standard_normal((2, alone.size, 2)) @ [1, 1j] * 0.35
    samples = np.stack([alone + e * np.roll(alone, d) for e, d in ((0.6j, 3), (-0.7, 2))]) + noise
    model = model_of("qpsk")
    both, (one, other) = core.mimo_filter(model, 2, 1), (core.mimo_filter(model, 1, 1) for _ in "12")

    def rate(filter, received):
        filtered = filter.run(received)
        return errors(filtered[:, 16384:], filter.delay, labels[:, 8192:], "qpsk")[0].min()

    alone_rates = rate(one, samples[:1]), rate(other, samples[1:])
    # Least squares that are told all labels, to the points at the symbols' middles.
    X = windows_of(samples)[::SPS]
    points = unit_points("qpsk")
    y = X @ np.linalg.lstsq(X, points[labels[0]], rcond=None)[0]
    told = np.mean(np.abs(y[:, None] - points).argmin(1)[8192:] != labels[0, 8192:])
    found = rate(both, samples)
    assert found < 0.5 * min(alone_rates)
    assert found < 1.2 * told + 1e-3


def test_samples_that_are_not_usable_are_left_out():
    labels = labels_for("qpsk", 16384, 8)
    samples = DualPolarizationLink("qpsk", snr=13).receive(labels, 8)
    filter = core.mimo_filter(model_of("qpsk"))
    filter.start(samples[:, :8192], labels[:, :4096])
    for channel, i, bad in ((0, 9000, np.nan), (1, 15000, np.inf), (0, 20000, 1e30)):
        samples[channel, i:i + 7] = bad
    filtered = filter.run(samples)
    assert np.isfinite(filtered).all() and np.isfinite(filter.taps).all()
    rates, _ = errors(filtered[:, 24576:], filter.delay, labels[:, 12288:], "qpsk")
    assert apart(rates, 2e-2)


def test_noise_finds_no_transmitter():
    noise = np.random.default_rng(9).standard_normal((2, 32768, 2)) @ [1, 1j] / np.sqrt(2)
    filter = core.mimo_filter(model_of("qpsk"))
    filter.run(noise)
    assert [each.found for each in filter.status] == [False, False]
    with pytest.raises(RuntimeError, match="no linear equalizer finds qpsk"):
        filter.start(noise)


def test_what_is_out_of_range_is_refused():
    model = model_of("qpsk")
    for settings, text in ((dict(channels=9), "channels is 9"), (dict(outputs=3), "outputs is 3, allowed: 1 to 2"),
                           (dict(length=0), "length is 0")):
        with pytest.raises(ValueError, match=text):
            core.mimo_filter(model, **settings)
    many = core.model(core.network([2 * 16 * 3, 4]), 16, 1, True, "qpsk")
    many.waveform = core.expected_waveform.fit(
        many.constellation, np.ones((1000, 16), np.complex64), np.arange(1000).astype(np.uint8) % 4)
    with pytest.raises(ValueError, match="samples per symbol of all channels together is 80, allowed: 1 to 64"):
        core.mimo_filter(many, channels=5)
    real = core.model(core.network([10, 4]), SPS, HALF_WINDOW, False, "pam4")
    with pytest.raises(ValueError, match="for real samples"):
        core.mimo_filter(real)
    filter = core.mimo_filter(model)
    with pytest.raises(ValueError, match="samples' shape is"):
        filter.run(np.zeros((3, 32)))
    with pytest.raises(ValueError, match="samples is 31, allowed: multiples of 32"):
        filter.run(np.zeros((2, 31)))
    with pytest.raises(ValueError, match="label is 255, allowed: 0 to "):
        filter.start(np.ones((2, 2000), np.complex64), np.full((2, 1000), 255, np.uint8))
    with pytest.raises(ValueError, match="labels' shape is"):
        filter.start(np.zeros((2, 1024)), np.zeros((1, 512)))
    with pytest.raises(ValueError, match="symbols is 50"):
        filter.start(np.zeros((2, 100)), np.zeros((2, 50)))
