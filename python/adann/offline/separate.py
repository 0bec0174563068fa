# SPDX-License-Identifier: GPL-3.0-or-later
"""Several channels of a record, in which transmitters are mixed, made a record for each transmitter."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import AlignedLabels, find_delay, find_delay_of_turning, points_of
from ..captures.labels import UNKNOWN
from ..captures.statistics import modulation_error_ratio, normalized, portions

_FITTED = 2**16  # symbols at most that the least squares take
_START = 4096    # symbols that a start looks at
_AT_ONCE = 2**14  # symbols whose distances to all points are in memory


@dataclass
class Separated:
    """streams: complex64 (outputs, n), sample i*sps the middle of symbol i. matrix: complex64 (outputs, channels,
    odd), the taps at the end, the earliest sample's first, by which normalised channels become normalised streams.
    frequencies: of each output's carrier, which was removed, in cycles per symbol.
    status: of each output at the end, core.mimo_output_status; None of what no filter followed."""

    streams: npt.NDArray[np.complex64]
    matrix: npt.NDArray[np.complex64]
    frequencies: list[float]
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
    """The label of each symbol, UNKNOWN where none is known, found in the first channel that shows it.

    channels: as prepare_channels makes them; their carrier may turn. Raises ValueError where no channel shows it.
    """
    failure = None
    for find in find_delay, find_delay_of_turning:
        for channel in channels:
            try:
                delay = find(channel, reference, constellation.centred, sps)
                return AlignedLabels(reference, delay, channel.size // sps)[:]
            except ValueError as error:
                failure = failure or error
    raise ValueError(str(failure))


def known_carrier(channels: npt.NDArray[np.complex64], sent: npt.NDArray[np.complex64], sps: int,
                  length: int) -> tuple[float, npt.NDArray | None]:
    """The frequency, in cycles per symbol, of a transmitter's carrier, and e^(j phase) of it at each sample,
    complex (n,): None where it stands still.

    channels: (channels, n); sent: complex (n // sps,), the points, 0 where not known; length: symbols that a filter
    spans after which it is followed.
    """
    around, symbols = length // 2, sent.size
    before = around * sps + sps // 2
    padded = np.pad(channels, ((0, 0), (before, (around + 1) * sps)))[:, :(symbols + 2 * around) * sps]
    owned = padded.reshape(len(channels), -1, sps).transpose(1, 2, 0).reshape(symbols + 2 * around, -1)
    frequency, phase = core.known_carrier(owned, sent, around)
    if not phase.size:
        return 0.0, None
    steady = 2 * np.pi * frequency * np.arange(symbols)
    at = np.arange(channels.shape[1]) / sps
    moving = np.interp(at, np.arange(symbols), np.unwrap(phase - steady))
    return frequency, np.exp(1j * (moving + 2 * np.pi * frequency * at)).astype(np.complex64)


def separate_known(channels: npt.NDArray[np.complex64],
                   labels: npt.NDArray[np.uint8] | Sequence[npt.NDArray[np.uint8]], constellation: core.constellation,
                   sps: int, length: int = 12) -> Separated:
    """Streams of least squares to known symbols at their middles: what a model is trained on.

    channels: (channels, n); labels: (outputs, n // sps), UNKNOWN where not known; length: symbols that the taps
    span. The taps stand still; each transmitter's carrier is followed by its labels. Raises ValueError if too few
    symbols are known.
    """
    reach = length * sps // 2
    points = constellation.centred / np.sqrt(np.mean(abs(constellation.centred) ** 2))
    padded = np.pad(channels, ((0, 0), (reach, reach)))
    windows = [np.lib.stride_tricks.sliding_window_view(each, 2 * reach + 1) for each in padded]
    streams, matrix, frequencies = [], [], []
    for sent in labels:
        known = np.flatnonzero(sent != UNKNOWN)[:_FITTED]
        unknowns = len(channels) * (2 * reach + 1)
        if known.size < 2 * unknowns:
            raise ValueError(f"{known.size} symbols are known, {unknowns} taps need twice as many")
        rows = np.concatenate([each[known * sps] for each in windows], axis=1)
        frequency, turned = known_carrier(channels, points_of(sent, points).astype(np.complex64), sps, length)
        wanted = points[sent[known]]
        if turned is not None:
            wanted = wanted * turned[known * sps]
        taps = np.linalg.lstsq(rows, wanted, rcond=None)[0].reshape(len(channels), -1)
        stream = np.sum([np.correlate(each, tap.conj(), "valid") for each, tap in zip(padded, taps)], axis=0)
        if turned is not None:
            stream *= turned.conj()
        frequencies.append(frequency)
        streams.append(normalized(stream.astype(np.complex64)))
        matrix.append(taps / np.std(stream))
    return Separated(np.stack(streams), np.stack(matrix).astype(np.complex64), frequencies)


def nearest_points(stream: npt.NDArray[np.complex64], constellation: core.constellation,
                   sps: int) -> tuple[npt.NDArray[np.uint8], float]:
    """What a stream says by itself: the labels of the points nearest to its symbols, uint8 (n // sps,), and the
    modulation error ratio in dB, the power of these points over that of the symbols' distances from them.

    stream: complex64 (n,), sample i*sps the middle of symbol i, its carrier taken out.
    """
    points = constellation.centred / np.sqrt(np.mean(abs(constellation.centred) ** 2))
    symbols = stream[::sps] / np.std(stream[::sps])
    labels = np.concatenate([abs(part[:, None] - points).argmin(1).astype(np.uint8)
                             for part in portions(symbols, size=_AT_ONCE)])
    decided = points[labels]
    return labels, modulation_error_ratio(symbols, decided)


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
    # Of each output at the end: its carrier's phase, and the scale that an equalizer after it finds.
    turned = [np.exp(-1j * each.phase) / np.std(stream) for each, stream in zip(status, streams)]
    return Separated(streams, (filter.taps * np.array(turned)[:, None, None]).astype(np.complex64),
                     [each.frequency for each in status], status)
