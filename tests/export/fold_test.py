# SPDX-License-Identifier: GPL-3.0-or-later
"""A front filter folded into the network behind it, against the filter by numpy before that network."""

import subprocess

import numpy as np
import pytest
from click.testing import CliRunner
from gnuradio import adann, blocks, gr
from gnuradio.adann import core
from gnuradio.adann.cli import main
from gnuradio.adann.export.fold import fold
from gnuradio.adann.export.quantize import quantize
from gnuradio.adann.offline.training import feature_view


@pytest.mark.parametrize("taps", [1, 5, 9])
def test_it_decides_as_the_network_behind_the_filter(link, taps):
    model, random = link.model, np.random.default_rng(1)
    samples = link.record(5000, 3)[0]
    kernel = random.standard_normal(taps)
    if model.complex:
        kernel = kernel + 1j * random.standard_normal(taps)
    offset = 0.0 if model.complex else 0.3
    filtered = (np.convolve(samples, kernel[::-1], "same") + offset).astype(samples.dtype)
    expected = model.network.decide(feature_view(filtered, model.sps, model.half_window))[1]
    folded = fold(model, kernel.astype(np.complex64), offset)
    assert folded.half_window == model.half_window + -(-(taps // 2) // model.sps)
    found = folded.network.decide(feature_view(samples, folded.sps, folded.half_window))[1]
    inner = slice(8, -8)  # beyond the record one has silence, the other silence filtered
    np.testing.assert_allclose(found[inner], expected[inner], atol=2e-4)


def test_a_checkpoint_is_exported_with_its_taps(link, tmp_path):
    samples, labels = link.record(60_000, 4)
    checkpoint, echo = tmp_path / "checkpoint.safetensors", 0.15 if link.constellation.size > 4 else 0.4
    received = (samples + echo * np.roll(samples, link.model.sps)).astype(samples.dtype)
    received /= np.sqrt(np.mean(np.abs(received) ** 2))
    equalizer = adann.equalizer(link.model, mode="lockstep", checkpoint=str(checkpoint))
    top, sink = gr.top_block(), blocks.null_sink(1)
    top.connect((blocks.vector_source_c if link.model.complex else blocks.vector_source_f)(received), equalizer, sink)
    top.run()

    def errors(model):
        windows = feature_view(received, model.sps, model.half_window)
        return np.count_nonzero(model.network.decide(windows)[0][-20_000:] != labels[-20_000:])
    learnt, front = core.load_model(str(checkpoint)), equalizer.front_filter()
    folded = fold(learnt, front.taps, front.offset)
    assert front.memory and errors(folded) < 0.5 * errors(learnt)
    done = CliRunner().invoke(main, ["export", str(checkpoint), "--format", "c", "--front-filter", "-o",
                                     str(tmp_path / "link.c")])
    assert done.exit_code == 0, done.output
    window = f"#define LINK_WINDOW {folded.network.sizes[0]}"
    assert window in (tmp_path / "link.h").read_text()


def test_whole_numbers_are_rounded_anew_behind_it(link, tmp_path):
    """10 bits, of an equalizer that decides in whole numbers: C files in float and in them decide nearly alike."""
    samples, labels = link.record(60_000, 4)
    echo = 0.15 if link.constellation.size > 4 else 0.4
    received = (samples + echo * np.roll(samples, link.model.sps)).astype(samples.dtype)
    received /= np.sqrt(np.mean(np.abs(received) ** 2))
    received.tofile(tmp_path / f"rx.{'c64' if link.model.complex else 'f32'}")
    capture, = tmp_path.glob("rx.*")
    whole = core.model.from_bytes(link.model.to_bytes())
    whole.formats = quantize(whole.network, feature_view(samples, whole.sps, whole.half_window), 10)
    learn = tmp_path / "learn.safetensors"
    equalizer = adann.equalizer(whole, mode="lockstep", checkpoint=str(learn))
    top, sink = gr.top_block(), blocks.null_sink(1)
    top.connect((blocks.vector_source_c if link.model.complex else blocks.vector_source_f)(received), equalizer, sink)
    top.run()
    assert core.load_model(str(learn)).formats.bits == 10
    export = ["export", str(learn), "--format", "c", "--front-filter", "-o", str(tmp_path / "link.c")]
    refused = CliRunner().invoke(main, export)
    assert refused.exit_code == 1 and "on which they are rounded anew" in refused.output
    assert not (tmp_path / "link.c").exists()
    done = CliRunner().invoke(main, [*export, "--capture", str(capture)])
    assert done.exit_code == 0, done.output
    subprocess.run(f"cc -std=c99 -O2 -DADANN_FILTER link.c -o decide && ./decide < {capture.name} > labels.u8",
                   shell=True, cwd=tmp_path, check=True)
    learnt, front = core.load_model(str(learn)), equalizer.front_filter()
    folded = fold(learnt, front.taps, front.offset)
    in_float = folded.network.decide(feature_view(received, folded.sps, folded.half_window))[0]
    found = np.fromfile(tmp_path / "labels.u8", np.uint8)
    assert "int16_t weights_0" in (tmp_path / "link.c").read_text()
    # Of symbols that only one of the two decides rightly, five deviations more at most, and a tenth of the errors.
    wrong, wrong_in_float = (each[20_000:] != labels[20_000:] for each in (found, in_float))
    worse, better = np.sum(wrong & ~wrong_in_float), np.sum(wrong_in_float & ~wrong)
    assert worse - better < 0.1 * wrong_in_float.sum() + 1e-4 * wrong.size + 5 * np.sqrt(worse + better)


def test_a_model_without_taps_is_refused(link, tmp_path):
    path = tmp_path / "model.safetensors"
    core.save_model(str(path), link.model)
    done = CliRunner().invoke(main, ["export", str(path), "--format", "c", "--front-filter", "-o",
                                     str(tmp_path / "link.c")])
    assert done.exit_code == 1 and "no front filter's taps are in it" in done.output
    assert not (tmp_path / "link.c").exists()
