# SPDX-License-Identifier: GPL-3.0-or-later
"""Constellations from all that Python has for them, against GNU Radio's own objects."""

import json

import numpy as np
import pytest
from gnuradio import blocks, digital, dtv, gr
from gnuradio.adann import core

IN_TREE = {"gr:bpsk": digital.constellation_bpsk, "gr:qpsk": digital.constellation_qpsk,
           "gr:dqpsk": digital.constellation_dqpsk, "gr:8psk": digital.constellation_8psk,
           "gr:8psk_natural": digital.constellation_8psk_natural,
           "gr:16qam": digital.constellation_16qam}


def test_the_names_of_gnuradios_own_are_all_told():
    assert core.constellation.in_tree() == list(IN_TREE)


@pytest.mark.parametrize("given", ["pam8", "16qam", "32apsk", [0, 3], [1 + 1j, -3, 2j, 0.5 - 1j]])
def test_points_at_unit_power_are_those_without_their_mean(given):
    there = core.constellation(given)
    centred = np.array(there.points) - np.mean(there.points)
    np.testing.assert_allclose(there.unit_points, centred / np.std(centred), atol=1e-6)


@pytest.mark.parametrize("name", IN_TREE)
def test_gnuradios_own_have_the_labels_that_its_decoder_gives(name):
    there = IN_TREE[name]()
    here = core.constellation(name)
    np.testing.assert_array_equal(here.points, np.array(there.points(), np.complex64))
    np.testing.assert_array_equal(core.constellation(there).points, here.points)
    np.testing.assert_array_equal(core.constellation(there.base()).points, here.points)
    top = gr.top_block()
    decoder, sink = digital.constellation_decoder_cb(there.base()), blocks.vector_sink_b()
    top.connect(blocks.vector_source_c(here.points.tolist()), decoder, sink)
    top.run()
    assert list(sink.data()) == list(range(here.size))
    assert len(here.symmetries) == here.size if "psk" in name else 4
    assert core.constellation(here.text).text == here.text


def test_qpsk_differs_from_gnuradios_by_two_labels():
    """What makes a flowgraph with both kinds of labels have a BER of one half."""
    ours, theirs = core.constellation("qpsk").points, core.constellation("gr:qpsk").points
    np.testing.assert_allclose(ours[[0, 2, 1, 3]] * np.sqrt(2), theirs, rtol=1e-6)


@pytest.mark.parametrize("name, modulation, rate", [
    ("8psk", dtv.MOD_8PSK, dtv.C3_4), ("16apsk", dtv.MOD_16APSK, dtv.C3_4),
    ("32apsk", dtv.MOD_32APSK, dtv.C3_4)])
def test_psk_and_apsk_are_those_of_gnuradios_dvbs2_modulator(name, modulation, rate):
    here = core.constellation(name)
    frame = 64800 // here.bits_per_symbol
    labels = np.arange(frame, dtype=np.uint8) % here.size
    top = gr.top_block()
    modulator = dtv.dvbs2_modulator_bc(dtv.FECFRAME_NORMAL, rate, modulation,
                                       dtv.INTERPOLATION_OFF)
    sink = blocks.vector_sink_c()
    top.connect(blocks.vector_source_b(labels.tolist()), modulator, sink)
    top.run()
    sent = np.array(sink.data())[:here.size]
    np.testing.assert_allclose(sent / abs(sent).max(), here.points, atol=1e-5)


def test_points_files_and_objects_of_other_packages_are_taken(tmp_path):
    points = [1 + 1j, -3, 2j, 0.5 - 1j]
    file = tmp_path / "points.json"
    file.write_text(json.dumps([[p.real, p.imag] for p in map(complex, points)]))
    for given in points, np.array(points), str(file), core.constellation(points):
        np.testing.assert_array_equal(core.constellation(given).points,
                                      np.array(points, np.complex64))
    custom = digital.constellation_calcdist(points, [], 1, 1).base()
    np.testing.assert_array_equal(core.constellation(custom).points,
                                  np.array(custom.points(), np.complex64))


@pytest.mark.parametrize("given, message", [
    ("gr:64qam", "constellation is 'gr:64qam', allowed: gr:bpsk, gr:qpsk"),
    ("qqpsk", "constellation is 'qqpsk', allowed: pam2"), ("qqpsk", "gr:16qam, or points in a .json file"),
    ("none.json", "constellation is 'none.json', allowed: a file that can be read"),
    ([1, 2, 3], "constellation is 3 points, allowed: a power of two from 2 to 256"),
    ([1, 1], "label 0 at the point of another"),
    (3, "constellation is int, allowed: a name, points in label order, or"),
    (None, "constellation is NoneType, allowed: a name"),
    (digital.constellation_calcdist([1, 1j, -1, -1j], [], 1, 2).base(),
     "constellation's dimensionality is 2, allowed: 1")])
def test_what_is_no_constellation_is_refused_in_a_sentence(given, message):
    with pytest.raises(ValueError) as error:
        core.constellation(given)
    assert message in str(error.value)


def test_a_model_file_keeps_the_points(tmp_path):
    net = core.network([2, 16])
    net.initialize(1)
    model = core.model(net, 1, 0, True, digital.constellation_16qam())
    path = str(tmp_path / "m.safetensors")
    core.save_model(path, model)
    loaded = core.load_model(path)
    np.testing.assert_array_equal(loaded.constellation.points, model.constellation.points)
    assert loaded.constellation.name == "16 given points"
