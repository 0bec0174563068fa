# SPDX-License-Identifier: GPL-3.0-or-later
"""Each block as GRC draws, checks and makes it."""

import os
import pathlib
import re
import types

import numpy as np
import pmt
import pytest
from gnuradio import adann, blocks, digital, gr
from gnuradio.adann import core
from gnuradio.adann.captures.files import write_capture
from PyQt5 import QtWidgets

ROOT = pathlib.Path(__file__).parents[2]
NAMES = sorted(path.name.removesuffix(".block.yml") for path in (ROOT / "grc").glob("*.block.yml"))


def new_block(platform, name, **parameters):
    flowgraph = platform.make_flow_graph()
    flowgraph.new_block("variable").import_data("samp_rate", {}, {"value": "32000"})
    block = flowgraph.new_block(name)
    block.import_data("block", {}, parameters)
    flowgraph.rewrite()
    block.validate()
    return block


def errors(block):
    """What GRC says of the block and its parameters, not of its ports, which are unconnected."""
    return [message for element, message in block.iter_error_messages()
            if element is block or element in block.params.values()]


def make(block):
    """The block's object, made with the line that GRC writes into the program."""
    layout = types.SimpleNamespace(addWidget=lambda widget: None)
    names = {"self": types.SimpleNamespace(top_layout=layout), "adann": adann, "samp_rate": 32000}
    exec(f"self.block = {block.templates.render('make')}", names)
    return names


@pytest.fixture(autouse=True, scope="module")
def application():
    """For what draws, on a screen that is not there."""
    os.environ["QT_QPA_PLATFORM"] = "offscreen"
    yield QtWidgets.QApplication.instance() or QtWidgets.QApplication([])


@pytest.fixture
def given(tmp_path):
    """What has no default, or none that is a setter's too."""
    write_capture(tmp_path / "a", np.ones(100, np.float32), 1e6)
    model = {"model": ROOT / "examples/models/vcsel_pam4.safetensors"}
    return {"adann_equalizer": {**model, "type": "float"}, "adann_receiver": {**model, "type": "float"},
            "adann_capture_source": {"file": tmp_path / "a.sigmf-meta"},
            "adann_mimo_filter": {"model": ROOT / "examples/models/coherent_16qam.safetensors"},
            "adann_mlse": {"response": "(0, 0, 1, 0, 0)"},
            "adann_status_monitor": {"address": f"ipc://{tmp_path}/status"}}


@pytest.mark.parametrize("name", NAMES)
def test_a_block_as_it_is_dragged_in_is_made_and_its_callbacks_are_its_setters(
        platform, given, name):
    parameters = {key: str(value) for key, value in given.get(name, {}).items()}
    block = new_block(platform, name, **parameters)
    assert not errors(block)
    names = make(block)
    made = names["self"].block
    setters = {member for member in dir(type(made)) if member.startswith("set_") and not any(
        hasattr(base, member) for base in (gr.sync_interpolator, gr.basic_block, gr.hier_block2))}
    callbacks = block.get_callbacks()
    # Those of a part, as equalizer.set_frozen, are not the block's own.
    called = {callback.split("self.block.")[1].split("(")[0] for callback in callbacks}
    assert {name for name in called if "." not in name} == setters
    for callback in callbacks:
        exec(callback, names)
    ports = {"in": [port for port in block.sinks if not port.hidden],
             "out": [port for port in block.sources if not port.hidden]}
    for signature, drawn in ((made.input_signature(), ports["in"]),
                             (made.output_signature(), ports["out"])):
        streams = [port for port in drawn if port.domain == "stream"]
        required = [port for port in streams if not port.optional]
        if not isinstance(made, gr.hier_block2):  # which has no optional ports, but asks for none
            assert signature.min_streams() <= len(required)
        assert len(streams) <= signature.max_streams()
        sizes = {"byte": 1, "short": 2, "float": 4, "complex": 8}
        for index, port in enumerate(streams):
            assert signature.sizeof_stream_item(index) == sizes[port.dtype] * port.vlen
    for direction in "in", "out":
        for port in ports[direction]:
            if port.domain == "message":
                key = pmt.intern(port.key)
                assert (port.key in pmt.to_python(getattr(made, f"message_ports_{direction}")())
                        or getattr(made, f"message_port_is_hier_{direction}")(key))


@pytest.mark.parametrize("chosen, closed", [
    ([], []), (["posteriors"], []), (["soft"], [1]), (["estimate"], [1, 2]),
    (["posteriors", "estimate"], [2]), (["posteriors", "soft", "estimate"], [])])
def test_an_equalizers_outputs_come_by_choice_and_none_needs_a_null_sink(platform, chosen, closed):
    block = new_block(platform, "adann_equalizer", **dict.fromkeys(chosen, "True"))
    shown = [port.name for port in block.sources if not port.hidden and port.domain == "stream"]
    assert shown == ["labels", *("ber" if name == "estimate" else name for name in chosen)]
    made, connected = types.SimpleNamespace(), []
    made.connect = lambda port, sink: connected.append(port[1])
    lines = block.templates.render("make")
    exec(f"self.{block.name} = {lines}", {"self": made, "adann": adann, "blocks": blocks})
    assert connected == closed


@pytest.mark.parametrize("known", ["False", "True"])
def test_an_equalizers_a_priori_input_needs_no_source_of_known_labels(platform, known):
    block = new_block(platform, "adann_equalizer", posteriors="True", a_priori_input="True", known_input=known)
    assert not errors(block)
    inputs = {port.name: (port.key, port.vlen) for port in block.sinks
              if not port.hidden and port.domain == "stream"}
    assert inputs == {"in": ("0", 1), **({"labels": ("1", 1)} if known == "True" else {}), "a_priori": ("2", 2)}
    made, connected = types.SimpleNamespace(), []
    made.connect = lambda source, port: connected.append((set(source.data()), port[1]))
    fake = types.SimpleNamespace(vector_source_b=lambda data, repeats: types.SimpleNamespace(data=lambda: data))
    exec(f"self.{block.name} = {block.templates.render('make')}", {"self": made, "adann": adann, "blocks": fake})
    assert connected == ([({255}, 1)] if known == "False" else [])
    refused = new_block(platform, "adann_equalizer", a_priori_input="True")
    assert any("A Priori Input: with the output Posteriors" in each for each in errors(refused))


def test_soft_bits_a_priori_input_has_the_bits_of_a_symbol(platform):
    block = new_block(platform, "adann_soft_bits", num_classes="16", a_priori_input="True")
    assert [(port.key, port.vlen) for port in block.sinks if not port.hidden] == [("0", 16), ("1", 4)]
    assert make(block)["self"].block.input_signature().sizeof_stream_item(1) == 16


@pytest.mark.parametrize("constellation, classes", [
    ("pam2", 2), ("gr:qpsk", 4), ("32apsk", 32), ("256qam", 256), ("given", 8)])
def test_an_equalizer_without_a_model_is_made_of_constellation_and_samples(
        platform, constellation, classes):
    flowgraph = platform.make_flow_graph()
    flowgraph.new_block("variable_constellation").import_data("link", {}, {"type": "8psk"})
    block = flowgraph.new_block("adann_equalizer")
    block.import_data("block", {}, {"constellation": constellation, "points": "link"})
    flowgraph.rewrite()
    block.validate()
    assert not errors(block)
    names = {"self": types.SimpleNamespace(), "adann": adann, "link": digital.constellation_8psk()}
    exec(f"self.block = {block.templates.render('make')}", names)
    drawn = [port for port in block.sources if port.domain == "stream"]
    assert drawn[1].vlen == classes
    assert names["self"].block.output_signature().sizeof_stream_item(1) == 4 * classes


@pytest.mark.parametrize("name, parameters, expression", [
    ("equalizer", {"mode": "off"}, "choose a Model File, or an Adaptation other than Off"),
    ("equalizer", {"sps": "64"}, "sps * (2 * half_window + 1) <= 512"),
    ("equalizer", {"type": "float"}, "bool(model) or type == 'complex' or constellation in"),
    ("equalizer", {"constellation": "given"}, "constellation != 'given' or points != ()"),
    ("equalizer", {"batch": "8"}, "16 <= batch <= 2**20"),
    ("equalizer", {"learning_rate": "-1"}, "learning_rate is None or 0 <= learning_rate <= 10"),
    ("atsc_equalizer", {"past": "200"}, "8 <= past <= 128"),
    ("ber_counter", {"batch": "0"}, "1 <= batch <= 2**30"),
    ("capture_source", {"file": ""}, "len(file) > 0"),
    ("coherent_link", {"snr": "200"}, "-10 <= snr <= 100"),
    ("feature_windower", {"sps": "65"}, "1 <= sps <= 64"),
    ("mimo_filter", {"outputs": "3"}, "1 <= outputs <= channels"),
    ("mlse", {"memory": "99"}, "memory <= traceback_depth <= 4096"),
    ("mlse", {"constellation": "16qam"},
     "type == 'complex' or constellation in ('pam2', 'pam4', 'pam8', 'bpsk', 'gr:bpsk', 'given')"),
    ("ber_counter", {"constellation": "given"}, "constellation != 'given' or points != ()"),
    *((name, {"constellation": "given", "points": "2"}, "or give a Constellation Object")
      for name in ("ber_counter", "equalizer", "mlse", "receiver")),
    ("normalizer", {"window": "100"}, "statistics == 'fixed' or 1024 <= window <= 2**30"),
    ("resampler", {"symbol_rate": "0"}, "0 < symbol_rate <= sample_rate"),
    ("soft_bits", {"convention": "by_hand", "scale": "0"}, "1e-3 <= scale <= 1e3"),
    ("status_monitor", {"address": "5555"}, "'://' in address"),
    ("vcsel_mmf_link", {"mode_powers": "(1, 2)"}, "len(mode_powers) == len(mode_delays)"),
])
def test_grc_says_what_is_wrong_with_a_parameter(platform, name, parameters, expression):
    block = new_block(platform, f"adann_{name}", **parameters)
    assert any(expression in message for message in errors(block)), errors(block)


@pytest.mark.parametrize("name", NAMES)
def test_what_is_asserted_is_told_in_the_dialogs_words(platform, name):
    """GRC shows an assertion that fails as it stands, so each ends in what is allowed."""
    block = new_block(platform, name)
    labels = [parameter.name.split(" (")[0] for parameter in block.params.values()]
    for expression in block.asserts:
        said = re.search(r" or not '([^']+)'$", expression)
        assert said and any(label in said[1] for label in labels), expression
        assert len(said[1]) < 110


@pytest.mark.parametrize("adaptation, known, drawn", [
    ("decision_directed", "False", 1), ("supervised", "True", 2), ("off", "True", 1)])
def test_the_mlse_shows_the_port_for_known_labels_when_it_learns_from_them(
        platform, adaptation, known, drawn):
    block = new_block(platform, "adann_mlse", adaptation=adaptation, known_labels=known)
    assert sum(not port.hidden for port in block.sinks) == drawn
    assert (block.params["step"].hide == "all") == (adaptation == "off")


@pytest.mark.parametrize("convention", [*core.soft_bit_conventions, "by_hand"])
def test_soft_bits_have_the_item_of_their_convention(platform, convention):
    by_hand = {"positive": "0", "type": "int8", "scale": "3.5", "clip": "8"}
    block = new_block(platform, "adann_soft_bits", convention=convention, **by_hand)
    assert not errors(block)
    made = make(block)["self"].block
    item, = (port.dtype for port in block.sources)
    assert made.output_signature().sizeof_stream_item(0) == {"float": 4, "byte": 1}[item]
    expected = (core.soft_bit_convention(positive=0, type="int8", scale=3.5, clip=8) if convention == "by_hand"
                else core.soft_bit_conventions[convention])
    assert item == ("byte" if expected.type == "int8" else "float")
    top, sink = gr.top_block(), blocks.vector_sink_b() if item == "byte" else blocks.vector_sink_f()
    posteriors = np.random.default_rng(1).dirichlet(np.ones(4), 100).astype(np.float32)
    top.connect(blocks.vector_source_f(posteriors.ravel(), False, 4), made, sink)
    top.run()
    found = np.array(sink.data(), np.uint8).view(np.int8) if item == "byte" else np.array(sink.data(), np.float32)
    np.testing.assert_array_equal(found, core.soft_bits(4, expected).process(posteriors))
    assert (block.params["scale"].hide == "all") == (convention != "by_hand")


def test_grc_offers_every_convention_and_tells_what_it_is(platform):
    block = new_block(platform, "adann_soft_bits")
    assert [*block.params["convention"].options] == [*core.soft_bit_conventions, "by_hand"]
    told = " ".join(block.documentation[""].split())
    for name, one in core.soft_bit_conventions.items():
        item = "float" if one.type == "float" else "8-bit integer"
        assert f"positive is {one.positive}, {item}, {one.scale:g} per nat, {one.clip:g}" in told, name


@pytest.mark.parametrize("name", ["ber_counter", "mlse", "equalizer"])
def test_a_constellation_object_is_given_by_its_id(platform, name):
    flowgraph = platform.make_flow_graph()
    flowgraph.new_block("variable_constellation").import_data("link", {}, {"type": "qpsk"})
    block = flowgraph.new_block(f"adann_{name}")
    block.import_data("block", {}, {"type": "complex", "constellation": "given", "points": "link"})
    flowgraph.rewrite()
    block.validate()
    assert not errors(block)
    link = digital.constellation_qpsk().base()
    names = {"self": types.SimpleNamespace(), "adann": adann, "link": link}
    exec(f"self.block = {block.templates.render('make')}", names)
    assert "link" in block.templates.render("make")
