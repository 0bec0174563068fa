# SPDX-License-Identifier: GPL-3.0-or-later
"""Several channels of a record, in which transmitters are mixed, made a record for each transmitter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import known_labels
from ..captures.labels import UNKNOWN
from ..captures.statistics import normalized, portions

_FITTED = 2**16  # symbols at most that the least squares take
_START = 4096    # symbols that a start looks at
_AT_ONCE = 2**14  # symbols whose distances to all points are in memory


@dataclass
class Separated:
    """streams: complex64 (outputs, n), sample i*sps the middle of symbol i. matrix: complex64 (outputs, channels,
    odd), the taps at the end, the earliest sample's first, by which normalised channels become normalised streams.
    status: of each output at the end, core.mimo_output_status; None of what no filter followed."""

    streams: npt.NDArray[np.complex64]
    matrix: npt.NDArray[np.complex64]
    status: list | None = None


def prepare_channels(channels: Sequence[npt.NDArray], sps: int) -> npt.NDArray[np.complex64]:
    """complex64 (channels, n), each normalised, cut to the whole symbols that all of them have.

    Raises ValueError for float samples, or a channel without a signal.
    """
    if not all(np.iscomplexobj(channel) for channel in channels):
        raise ValueError("real samples, several channels have to be complex")
    size = min(channel.size for channel in channels) // sps * sps
    return np.stack([normalized(channel[:size]) for channel in channels])


def channel_labels(channels: npt.NDArray[np.complex64], reference: npt.NDArray[np.uint8],
                   constellation: core.constellation, sps: int) -> npt.NDArray[np.uint8]:
    """The label of each symbol, UNKNOWN where none is known, found in the channel that shows it best.

    channels: as prepare_channels makes them. Raises ValueError where no channel shows it.
    """
    failure = None
    for channel in channels:
        try:
            return known_labels(channel, reference, constellation.points, sps)[:]
        except ValueError as error:
            failure = error
    raise ValueError(str(failure))


def separate_known(channels: npt.NDArray[np.complex64],
                   labels: npt.NDArray[np.uint8] | Sequence[npt.NDArray[np.uint8]], constellation: core.constellation,
                   sps: int, length: int = 12) -> Separated:
    """Streams of least squares to known symbols at their middles: what a model is trained on.

    channels: (channels, n); labels: (outputs, n // sps), UNKNOWN where not known; length: symbols that the taps
    span. The taps stand still. Raises ValueError if too few symbols are known.
    """
    reach = length * sps // 2
    points = constellation.points / np.sqrt(np.mean(abs(constellation.points) ** 2))
    padded = np.pad(channels, ((0, 0), (reach, reach)))
    windows = [np.lib.stride_tricks.sliding_window_view(each, 2 * reach + 1) for each in padded]
    streams, matrix = [], []
    for sent in labels:
        known = np.flatnonzero(sent != UNKNOWN)[:_FITTED]
        unknowns = len(channels) * (2 * reach + 1)
        if known.size < 2 * unknowns:
            raise ValueError(f"{known.size} symbols are known, {unknowns} taps need twice as many")
        rows = np.concatenate([each[known * sps] for each in windows], axis=1)
        taps = np.linalg.lstsq(rows, points[sent[known]], rcond=None)[0].reshape(len(channels), -1)
        stream = np.sum([np.correlate(each, tap.conj(), "valid") for each, tap in zip(padded, taps)], axis=0)
        streams.append(normalized(stream.astype(np.complex64)))
        matrix.append(taps / np.std(stream))
    return Separated(np.stack(streams), np.stack(matrix).astype(np.complex64))


def nearest_points(stream: npt.NDArray[np.complex64], constellation: core.constellation,
                   sps: int) -> tuple[npt.NDArray[np.uint8], float]:
    """What a stream says by itself: the labels of the points nearest to its symbols, uint8 (n // sps,), and the
    modulation error ratio in dB, the power of these points over that of the symbols' distances from them.

    stream: complex64 (n,), sample i*sps the middle of symbol i, its carrier taken out.
    """
    points = constellation.points / np.sqrt(np.mean(abs(constellation.points) ** 2))
    symbols = stream[::sps] / np.std(stream[::sps])
    labels = np.concatenate([abs(part[:, None] - points).argmin(1).astype(np.uint8)
                             for part in portions(symbols, size=_AT_ONCE)])
    decided = points[labels]
    gain = np.vdot(decided, symbols) / np.vdot(decided, decided)
    ratio = np.mean(abs(gain * decided) ** 2) / np.mean(abs(symbols - gain * decided) ** 2)
    return labels, float(10 * np.log10(ratio))


def separate(model: core.model, channels: npt.NDArray[np.complex64], outputs: int,
             labels: npt.NDArray[np.uint8] | None = None, length: int = 12) -> Separated:
    """Streams that a core.mimo_filter makes as it follows the channels.

    model: of one transmitter. channels: (channels, n), as prepare_channels makes them. labels: of the first symbols,
    (outputs, any number up to 4096), to start from; None: it starts blindly, from the first 4096 symbols.
    Raises ValueError for what the filter refuses, RuntimeError if a transmitter is not found.
    """
    filter = core.mimo_filter(model, len(channels), outputs, length)
    symbols = channels.shape[1] // model.sps
    start = min(symbols, _START if labels is None else labels.shape[1])
    filter.start(channels[:, :start * model.sps], None if labels is None else labels[:, :start])
    size = 16 * -(-(symbols + filter.delay) // 16) * model.sps
    filtered = filter.run(np.pad(channels, ((0, 0), (0, size - channels.shape[1]))))
    late = filter.delay * model.sps
    streams, status = filtered[:, late:late + symbols * model.sps], filter.status
    # Of each output at the end: its carrier's phase, and the scale that an equalizer behind it finds.
    turned = [np.exp(-1j * each.phase) / np.std(stream) for each, stream in zip(status, streams)]
    return Separated(streams, (filter.taps * np.array(turned)[:, None, None]).astype(np.complex64), status)
