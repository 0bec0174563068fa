# SPDX-License-Identifier: GPL-3.0-or-later
"""adann mlse"""

import time

import click
import numpy as np

from .. import core
from .results import count_all, write_results
from .settings import setting_options
from .terminal import about, check_outputs, progress_bar

UNKNOWN = 255  # no label


@click.command()
@click.option("--constellation", required=True, type=click.Choice(core.constellation.names()))
@click.option("--sps", required=True, type=click.IntRange(1, 64), help="Samples per symbol.")
@click.option("--memory", default=5, help="Symbols that a sample depends on: 1, 3, 5, 7 ...")
@click.option("--capture", "captures", required=True, multiple=True, metavar="FILE",
              help="Received samples; several are decided one after the other.")
@click.option("--reference", "references", required=True, multiple=True, metavar="FILE",
              help="The labels sent, one file per capture.")
@click.option("--training", default=8192, type=click.IntRange(0),
              help="Symbols, from the start, that the first response is fitted to.")
@setting_options("adaptation", "update_interval", "step", of=core.mlse_settings())
@click.option("--block", default=8192, type=click.IntRange(1),
              help="Symbols of one reported block.")
@click.option("-o", "--output", metavar="FILE", help="The decided labels of all captures: .u8.")
@click.option("--report", "report_path", metavar="FILE", help="Everything counted: .json.")
def mlse(constellation, sps, memory, captures, references, training, block, output, report_path,
         **options):
    """Decide the symbols of captures by maximum-likelihood sequence estimation.

    The conventional equalizer that AdaNN is compared with: the response of a linear channel,
    fitted to known symbols and tracked by LMS, and the Viterbi algorithm.
    """
    from ..captures.files import read_capture, read_reference

    if len(references) != len(captures):
        raise click.UsageError(f"{len(references)} --reference for {len(captures)} --capture; "
                               "give one for each")
    check_outputs(output, report_path)
    alphabet = core.constellation(constellation)
    samples, sent, rows, known = [], [], [], []
    for path, reference in zip(captures, references):
        capture = read_capture(path)
        sent.append(read_reference(reference, alphabet.size))
        with about(path):
            samples.append(_prepare(capture.samples, sps))
            rows.append(_rows(samples[-1], capture.samples, sps))
        with about(reference, path):
            known.append(_known_labels(samples[-1], sent[-1], alphabet, sps))

    known_settings = core.mlse_settings()
    settings = {"memory": memory, **{name: known_settings[name].default if value is None else value
                                     for name, value in options.items()}}
    adaptation, update_interval = settings["adaptation"], settings["update_interval"]
    estimator = core.mlse(constellation, sps, complex=np.iscomplexobj(rows[0]), **settings)
    if training:
        there = np.flatnonzero(known[0][:training] != UNKNOWN)
        part = slice(there[0], there[-1] + 1) if there.size else slice(0)
        with about(references[0], captures[0]):
            estimator.response = core.least_squares_response(
                rows[0][part], known[0][part], constellation, memory)
    first_response = estimator.response
    decided, seconds = _decide(estimator, rows, known)
    rate = sum(map(len, decided)) / seconds / 1e6
    errors = count_all(alphabet, sps, samples, decided, captures, sent, references, block)
    write_results(decided, errors, alphabet, captures, block, output, report_path, None, {
        "adaptation": {"mode": adaptation, "batch": update_interval, "steps": estimator.updates,
                       "dropped": 0, "rejected": 0},
        "msymbols_per_second": rate, "settings": {**settings, "training": training},
        "response": {"first": _numbers(first_response), "last": _numbers(estimator.response)},
        "block": block})
    click.echo(f"memory {memory}, {adaptation}: {estimator.updates} updates of the response, every "
               f"{update_interval} symbols; {rate:.2f} Msymbols/s")


def _prepare(samples, sps):
    from ..captures.statistics import normalized

    if samples.size < sps:
        raise ValueError(f"{samples.size} samples are fewer than a symbol's {sps}")
    return normalized(samples)[:samples.size // sps * sps]


def _rows(prepared, samples, sps):
    """Each symbol's own samples (symbols, sps); those that were not finite tell nothing."""
    informed = np.where(np.isfinite(samples[:prepared.size]), prepared, np.float32(np.nan))
    before = np.zeros(sps // 2, prepared.dtype)
    return np.concatenate([before, informed])[:prepared.size].reshape(-1, sps)


def _known_labels(samples, labels, alphabet, sps):
    from ..captures.alignment import find_delay

    delay = find_delay(samples, labels, alphabet.points, sps)
    known = np.full(samples.size // sps, UNKNOWN, np.uint8)
    there = labels[max(0, -delay):][:known.size - max(0, delay)]
    known[max(0, delay):][:there.size] = there
    return known


def _decide(estimator, rows, known, portion=1 << 18):
    """Labels of each capture, and the seconds that took. Symbols that tell nothing push out the
    last ones."""
    nothing = np.full((estimator.latency, rows[0].shape[1]), np.nan, rows[0].dtype)
    unknown = np.full(len(nothing), UNKNOWN, np.uint8)
    total = sum(map(len, rows))
    parts, taken, seconds = [], 0, 0.0
    with progress_bar("deciding", total) as update:
        for samples, labels in zip([*rows, nothing], [*known, unknown]):
            for start in range(0, len(samples), portion):
                here = slice(start, start + portion)
                begin = time.perf_counter()
                parts.append(estimator.process(samples[here], labels[here]))
                seconds += time.perf_counter() - begin
                taken = min(taken + len(samples[here]), total)
                update(taken, f"{taken:,} symbols")
    return np.split(np.concatenate(parts)[:total], np.cumsum([len(r) for r in rows])[:-1]), seconds


def _numbers(response):
    """As JSON has them: a complex tap is [re, im]."""
    if np.iscomplexobj(response):
        response = np.stack([response.real, response.imag], -1)
    return response.tolist()
