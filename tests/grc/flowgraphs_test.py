# SPDX-License-Identifier: GPL-3.0-or-later
"""The GRC descriptions and example flowgraphs, compiled by the real grcc."""

import inspect
import pathlib
import subprocess
import sys

import numpy as np
import pytest
import yaml
from gnuradio import adann, gr
from gnuradio.adann.simulation import random_labels, simulate_vcsel
from gnuradio.grc.core.platform import Platform

ROOT = pathlib.Path(__file__).parents[2]
FLOWGRAPHS = sorted((ROOT / "examples").glob("*.grc"))
BLOCKS = sorted((ROOT / "grc").glob("*.block.yml"))


@pytest.fixture(scope="module")
def platform():
    made = Platform(name="GRC", prefs=gr.prefs(), version=gr.version(),
                    version_parts=(gr.major_version(), gr.api_version(), gr.minor_version()))
    made.build_library()
    return made


@pytest.mark.parametrize("path", FLOWGRAPHS, ids=lambda path: path.stem)
def test_grcc_compiles_the_flowgraph(path, tmp_path):
    done = subprocess.run(["grcc", "-o", str(tmp_path), str(path)],
                          capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    compiled, = tmp_path.glob("*.py")
    subprocess.run([sys.executable, "-m", "py_compile", str(compiled)], check=True)


@pytest.mark.parametrize("path", BLOCKS, ids=lambda path: path.name)
def test_a_block_description_is_complete(path):
    block = yaml.safe_load(path.read_text())
    assert block["id"] == path.name.removesuffix(".block.yml")
    assert block["category"] == "[AdaNN]"
    assert len(block["documentation"]) > 200
    assert block["asserts"]


def compile_flowgraph(name, folder):
    subprocess.run(["grcc", "-o", str(folder), str(ROOT / "examples" / f"{name}.grc")],
                   capture_output=True, check=True)
    return folder / f"{name}.py"


def test_the_headless_flowgraph_equalizes_a_drifted_capture(tmp_path):
    sent = random_labels(2**18, 3)
    simulate_vcsel(sent, "reference", seed=4).tofile(tmp_path / "capture.f32")
    sent.tofile(tmp_path / "sent.u8")
    done = subprocess.run(
        [sys.executable, str(compile_flowgraph("equalize_file", tmp_path)), "--capture",
         "capture.f32", "--reference", "sent.u8", "--output", "labels.u8",
         "--model", str(ROOT / "examples/models/vcsel_pam4.safetensors")],
        cwd=tmp_path, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    decided = np.fromfile(tmp_path / "labels.u8", np.uint8)
    # The last windows are never complete: nothing follows them in the file.
    assert sent.size - 16 < decided.size <= sent.size
    wrong = np.unpackbits(decided ^ sent[:decided.size]).reshape(-1, 8).sum(1)
    assert f"{wrong.sum()} of {2 * wrong.size} bits wrong" in done.stdout
    assert wrong[wrong.size // 2:].mean() / 2 < 1e-3  # the frozen network: 1.7e-2


@pytest.mark.parametrize("kind", ["float", "complex"])
@pytest.mark.parametrize("input", ["samples", "vectors"])
@pytest.mark.parametrize("mode", ["live", "lockstep", "off"])
@pytest.mark.parametrize("loss", ["aug_vat", "supervised"])
def test_grc_takes_every_form_of_the_equalizer(platform, kind, input, mode, loss):
    """The ports that GRC draws are those that the block has."""
    flowgraph = platform.make_flow_graph()
    block = flowgraph.new_block("adann_equalizer")
    block.import_data("equalizer", {}, dict(type=kind, input=input, mode=mode, loss=loss,
                                            model="'m'"))
    flowgraph.rewrite()
    made = block.templates.render("make")
    assert f"mode='{mode}'" in made and f"loss='{loss}'" in made and f"input='{input}'" in made
    dimension = 4 * (2 * 5 + 1) * (2 if kind == "complex" else 1)
    samples = block.sinks[0]
    assert (samples.dtype, samples.vlen) == (
        ("float", dimension) if input == "vectors" else (kind, 1))
    assert not block.params["loss"].get_error_messages()
    labels = next(port for port in block.sinks if port.name == "labels")
    assert labels.hidden == (loss != "supervised" or mode == "off")
    assert (block.params["batch"].hide == "all") == (mode == "off")
    assert [port.name for port in block.sources] == ["labels", "posteriors", "soft", "status"]


@pytest.mark.parametrize("name", ["vcsel_mmf_link", "coherent_link"])
def test_grc_makes_a_link_of_pythons_defaults_and_reaches_its_setters(platform, name):
    flowgraph = platform.make_flow_graph()
    block = flowgraph.new_block(f"adann_{name}")
    flowgraph.rewrite()
    for parameter, spec in inspect.signature(getattr(adann, name)).parameters.items():
        assert block.params[parameter].get_evaluated() == spec.default
    link = eval(block.templates.render("make"), {"adann": adann})
    setters = [member for member in dir(getattr(adann, name))
               if member.startswith("set_") and not hasattr(gr.hier_block2, member)]
    calls = [callback[callback.index("set_"):] for callback in block.get_callbacks()]
    assert {call.split("(")[0] for call in calls} == set(setters)
    for call in calls:
        eval(f"link.{call}", {"link": link})
