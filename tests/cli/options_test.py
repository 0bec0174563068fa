# SPDX-License-Identifier: GPL-3.0-or-later
"""Whatever options and files a command is given, it ends with 0, 1 or 2, and what is wrong is one sentence.

ADANN_HYPOTHESIS_SEED draws others than the test's own, ADANN_HYPOTHESIS_RUNS times as many.
"""

import functools
import json
import os
import re
import warnings
from pathlib import Path
from typing import get_args

import click
import hypothesis
import numpy as np
import onnx
import pytest
import scipy.io
from click.testing import CliRunner
from gnuradio.adann import core
from gnuradio.adann.captures import timing
from gnuradio.adann.captures.files import write_capture
from gnuradio.adann.cli import main, terminal
from gnuradio.adann.offline import uncertain
from hypothesis import strategies

RANDOM = np.random.default_rng(7)
SEED = os.environ.get("ADANN_HYPOTHESIS_SEED")
SPS, HALF, SYMBOLS = 2, 2, 3000
#: Runs of each command; a second or less each.
RUNS = {"try": 10, "train": 60, "equalize": 60, "replay": 20, "mlse": 60, "import": 150, "resample": 60,
        "separate": 60, "import-network": 60, "quantize": 60, "export": 60, "simulate": 15, "reproduce": 10}
NUMBERS = ["nan", "inf", "-inf", "-1", "0", "1", "2", "3", "7", "64", "0.3", "1e-320", "1e-30", "1e30", "1e400",
           "99999999999999999999", "9" * 400, "-99999999999999999999", "", " ", "1_0", "0x10", "½", "x", "automatic"]
TEXTS = ["", " ", "1", "2", "1-2", "1,2", "1-1", ",", "-", "1,,2", "9", "i16", "ci16", "f32", "u8be", "f16", "c",
         "i8be", "10,10", "0", "-1", "1e3", "10,-10", "99999999999999999999", "9" * 400, "100000", "1," * 70 + "1",
         "\x1b[31m", "ä", "\ud83d\ude00", "a\nb", "pam4", "qpsk", "gr:qpsk", "gr:", "256qam", "{}", "nan"]


def qpsk_pair(folder):
    labels = RANDOM.integers(0, 4, SYMBOLS).astype(np.uint8)
    points = np.array(core.constellation("qpsk").points)[labels]
    samples = np.repeat(points, SPS) + 0.05 * RANDOM.standard_normal((SYMBOLS * SPS, 2)) @ [1, 1j]
    write_capture(folder / "qpsk", samples, 2e6, symbol_rate=1e6)
    labels.tofile(folder / "qpsk.u8")
    write_capture(folder / "two", [samples, samples[::-1] * 1j], 2e6)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A working folder with files of every kind, right and wrong ones."""
    made = tmp_path_factory.mktemp("options")
    labels = RANDOM.integers(0, 4, SYMBOLS).astype(np.uint8)
    labels.tofile(made / "pam4.u8")
    levels = np.array(core.constellation("pam4").points.real, np.float32)[labels]
    samples = (np.repeat(levels, SPS) + 0.1 * RANDOM.standard_normal(SYMBOLS * SPS)).astype(np.float32)
    samples.tofile(made / "pam4.f32")
    qpsk_pair(made)
    for name, wrong in (("nan", np.full(4000, np.nan)), ("zeros", np.zeros(4000)), ("huge", 6e37 * samples),
                        ("constant", np.ones(4000)), ("short", samples[:9]), ("tiny", 1e-42 * samples)):
        wrong.astype(np.float32).tofile(made / f"{name}.f32")
    for name, wrong in (("unknown", np.full(99, 255)), ("high", labels + 200), ("few", labels[:3])):
        wrong.astype(np.uint8).tofile(made / f"{name}.u8")
    np.save(made / "a.npy", samples.reshape(-1, 2))
    np.savetxt(made / "a.csv", np.stack([np.arange(400) * 1e-9, samples[:400]], 1), delimiter=",", header="t (ns),v")
    scipy.io.savemat(made / "a.mat", {"x": samples, "dt": 1e-320})
    scipy.io.wavfile.write(made / "a.wav", 48000, samples.reshape(-1, 2))
    (made / "empty.f32").touch()
    (made / "odd.c64").write_bytes(bytes(13))
    for name in ("text.csv", "text.safetensors", "text.onnx", "text.json", "text.sigmf-meta", "text.sigmf-data",
                 "text.h5", "text.wav", "text.u8"):
        (made / name).write_text("a text of no use\n")
    (made / "points.json").write_text(json.dumps([[0, 0], [1, 0], [2, 0], [1e400, 0]]))
    (made / "alike.json").write_text(json.dumps([[1, 1]] * 4))
    (made / "folder.f32").mkdir()
    network = core.network([SPS * (2 * HALF + 1), 4, 4])
    core.save_model(str(made / "zero.safetensors"), core.model(network, SPS, HALF, False, "pam4"))
    run(made, "train", "--capture", "pam4.f32", "--reference", "pam4.u8", "--constellation", "pam4", "--sps", SPS,
        "--half-window", HALF, "--epochs", 40, "--hidden", 6, "-o", "pam4.safetensors")
    run(made, "train", "--capture", "qpsk", "--reference", "qpsk.u8", "--constellation", "qpsk", "--sps", SPS,
        "--half-window", HALF, "--epochs", 40, "--hidden", 6, "-o", "qpsk.safetensors")
    weights = onnx.numpy_helper.from_array(RANDOM.standard_normal((10, 4)).astype(np.float32), "w")
    values = [onnx.helper.make_tensor_value_info(name, onnx.TensorProto.FLOAT, [1, size])
              for name, size in (("x", 10), ("y", 4))]
    graph = onnx.helper.make_graph([onnx.helper.make_node("MatMul", ["x", "w"], ["y"])], "g", values[:1], values[1:],
                                   [weights])
    onnx.save(onnx.helper.make_model(graph), str(made / "net.onnx"))
    files_in(made)
    return made


@functools.cache
def files_in(folder):
    """The names of those that the fixture makes."""
    return sorted(path.name for path in folder.iterdir())


def run(folder, *arguments):
    before = Path.cwd()
    os.chdir(folder)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            warnings.simplefilter("error", RuntimeWarning)  # NumPy's, which no command may tell
            return CliRunner(mix_stderr=False).invoke(main, list(map(str, arguments)), prog_name="adann")
    finally:
        os.chdir(before)


# A run that is right, from which one to three parameters are changed.
RIGHT = {
    "try": {"files": ["pam4.f32"], "--sample-rate": "2", "--baud": "1", "--constellation": "pam4", "-o": "out"},
    "train": {"--capture": "pam4.f32", "--reference": "pam4.u8", "--constellation": "pam4", "--sps": "2",
              "--half-window": "2", "--epochs": "2", "--hidden": "4", "-o": "out"},
    "equalize": {"--model": "pam4.safetensors", "--capture": "pam4.f32", "--reference": "pam4.u8", "-o": "out"},
    "replay": {"file": "pam4.safetensors"},
    "mlse": {"--constellation": "pam4", "--sps": "2", "--capture": "pam4.f32", "--reference": "pam4.u8",
             "--training": "1000", "-o": "out"},
    "import": {"files": ["a.wav"], "--channel": "1,2", "-o": "out"},
    "resample": {"capture": "pam4.f32", "--sample-rate": "2", "--baud": "1", "-o": "out"},
    "separate": {"--capture": "two", "--constellation": "qpsk", "--sps": "2", "-o": "out"},
    "import-network": {"network": "net.onnx", "--constellation": "pam4", "--sps": "2", "--half-window": "2",
                       "-o": "out"},
    "quantize": {"model": "pam4.safetensors", "--capture": "pam4.f32", "--bits": "8", "-o": "out"},
    "export": {"paths": ["pam4.safetensors"], "--format": "c", "-o": "out"},
    "simulate": {"link": "vcsel", "-o": "out", "--symbols": "3000"},
    "reproduce": {"experiment": "none", "-o": "out"},
}
NAMES = ["missing", "missing/a", "two.sigmf-meta", "qpsk.sigmf-data", "", ".", "..", "/", "a\x1b.f32", "ä.f32",
         "x" * 300, "out"]
FILES = ("--capture", "--reference", "--model", "files", "file", "capture", "network", "model", "paths")
OUTPUTS = ("--matrix", "--report", "--page", "--plot", "--checkpoint", "-o")


def parameters(name):
    command = main.commands[name]
    if isinstance(command, click.Group):
        command = command.commands["vcsel"]
    return {each.name if isinstance(each, click.Argument) else each.opts[0]: each for each in command.params}


def values_of(folder, key, parameter):
    """What is drawn for a parameter; None: the flag alone."""
    if getattr(parameter, "is_flag", False):
        return [None]
    if key == "--monitor":  # a right one opens a port
        return [each for each in NUMBERS if not each.isdigit() or int(each) in (0, 10**20 - 1)]
    if key == "--epochs":  # so many are trained
        return [each for each in NUMBERS if not each.isdigit() or len(each) < 3]
    if key == "--constellation":
        return [*core.constellation.names(), "points.json", "alike.json", "text.json", "folder.f32", *TEXTS]
    if key in OUTPUTS:
        return [*NAMES, "folder.f32", "out.c", "out.cc", "out.onnx", "out.png", "out.json", "out.u8", "out.safetensors"]
    if key in FILES:
        return [*files_in(folder), *NAMES]
    if key == "experiment":  # right ones take minutes
        return TEXTS
    if isinstance(parameter.type, click.Choice):
        return [*parameter.type.choices, "", "x"]
    return TEXTS if parameter.type is click.STRING else NUMBERS


def drawn_arguments(draw, folder, name):
    """Those of a right run, one to three of which are changed or left out."""
    given, options = dict(RIGHT[name]), parameters(name)
    for key in draw(strategies.lists(strategies.sampled_from(sorted(options)), min_size=1, max_size=3)):
        if draw(strategies.integers(0, 19)) == 0:
            given.pop(key, None)
            continue
        count = 1 + ((options[key].multiple or options[key].nargs == -1) and draw(strategies.booleans()))
        given[key] = [draw(strategies.sampled_from(values_of(folder, key, options[key]))) for _ in range(count)]
    return arguments(name, given)


def arguments(name, given):
    given = dict(given)
    found = ["simulate", given.pop("link", "vcsel")] if name == "simulate" else [name]
    for key, value in given.items():
        for each in value if isinstance(value, list) else [value]:
            found += [*([key] if key.startswith("-") else []), *([each] if each is not None else [])]
    return found


def check(name, given, result):
    told = f"adann {' '.join(map(repr, given))}: {result.exit_code}\n{result.stderr}"
    assert result.exception is None or isinstance(result.exception, SystemExit), told
    assert result.exit_code in (0, 1, 2), told
    if result.exit_code == 1:
        said = [line for line in result.stderr.splitlines() if not line.startswith(("adann: note: ", "warning: "))]
        assert len(said) == 1 and said[0].startswith("adann: ") and len(said[0]) < 1500, told
    assert "Traceback" not in result.stderr and re.sub(r"[\n\t]", "", result.stderr).isprintable(), told


@pytest.mark.parametrize("name", sorted(set(RUNS) - {"try"}))
def test_every_option_takes_or_refuses_every_value(folder, name):
    for key, parameter in parameters(name).items():
        for value in values_of(folder, key, parameter):
            given = arguments(name, {**RIGHT[name], key: [value]})
            check(name, given, run(folder, *given))


@pytest.mark.parametrize("name", sorted(RUNS))
def test_every_command_ends_in_a_status_and_a_sentence(folder, name):
    @hypothesis.settings(max_examples=RUNS[name] * int(os.environ.get("ADANN_HYPOTHESIS_RUNS", 1)), deadline=None,
                         database=None, derandomize=SEED is None,
                         suppress_health_check=list(hypothesis.HealthCheck), phases=[hypothesis.Phase.generate])
    @hypothesis.given(strategies.data())
    def examined(data):
        given = drawn_arguments(data.draw, folder, name)
        check(name, given, run(folder, *given))

    if SEED is not None:
        examined = hypothesis.seed(int(SEED))(examined)
    examined()


def test_every_command_is_drawn():
    assert set(RUNS) == set(RIGHT) == set(main.commands) - {"doctor"}  # which takes none


@pytest.mark.parametrize("argument", [each for each in get_args(uncertain.Argument) if each])
def test_what_settles_a_doubt_is_an_option_of_a_command(argument):
    said = terminal.settled(uncertain.Uncertain("it may be wrong", argument))
    assert said.startswith("it may be wrong")
    options = {option for command in main.commands.values() for each in command.params for option in each.opts}
    named = re.findall(r"--[\w-]+", said)
    assert named and set(named) <= options


@pytest.mark.parametrize("error, ends", [
    (timing.NoSymbolRateError("nothing stands out"), "nothing stands out: give --baud"),
    (timing.NoClockError("no clock; the symbol rate 2 may be wrong"), "may be wrong (--baud)"),
    (ValueError("another"), "another")])
def test_an_error_of_the_symbol_rate_names_the_option(error, ends):
    with pytest.raises(ValueError, match=f"^a.f32: .*{re.escape(ends)}$"), terminal.about("a.f32"):
        raise error
