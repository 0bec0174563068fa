# SPDX-License-Identifier: GPL-3.0-or-later
"""A record at any rate to one whose sample i*sps is the middle of symbol i."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt
import scipy.fft
from gnuradio import gr

from ..blocks.resampler import resampler
from ..captures.carrier import find_carrier
from ..captures.statistics import normalized, record_statistics
from ..captures.timing import find_clock
from .arrays import array_sink, array_source

_LEAST = 4            # samples a symbol at which the clock is looked for
_DRIFTS = 0.02        # symbols over the whole record: an offset of the clock that is taken out
_WANDERS = 0.05       # symbols rms: more, and the clock has to be followed


@dataclass
class Resampled:
    """samples: float32 or complex64 (n,), zero mean, unit power. symbol_rate: as it was found, in
    the unit of the rates given. said: sentences on what was done."""

    samples: npt.NDArray
    symbol_rate: float
    said: list[str] = field(default_factory=list)


def resample(samples: npt.NDArray, sample_rate: float, symbol_rate: float, sps: int = 4,
             clock_recovery: bool = False, carrier: bool = False) -> Resampled:
    """Bring a record to sps samples a symbol, middles first.

    samples: float32 or complex64 (n,); sample_rate, symbol_rate: in the same unit; a symbol rate
    that is up to 0.5 % off is corrected. sps: 1 to 64. clock_recovery: follow a clock that wanders, by
    digital.symbol_sync, whose first some hundred symbols may be wrong. carrier: take out the offset
    that turns the constellation of complex samples.
    Raises ValueError for rates out of resampler's range and where no symbol clock stands out.
    """
    inner = sps * -(-_LEAST // sps)
    said = []
    if clock_recovery:
        done = _run(samples, sample_rate, symbol_rate, sps, True)
        said.append("the clock was followed by symbol_sync")
        nominal = symbol_rate * samples.size / sample_rate
        found = symbol_rate * (done.size / sps) / nominal
        said.append(f"{done.size // sps} symbols for {nominal:.0f} by the rates")
    else:
        done = _run(samples, sample_rate, symbol_rate, inner)
        clock = find_clock(done, inner)
        found = symbol_rate
        if abs(clock.offset) * done.size / inner > _DRIFTS:
            found *= 1 + clock.offset
            said.append(f"the symbol rate is {1e6 * clock.offset:+.1f} ppm off the one given: "
                        f"{found:.9g}")
            done = _run(samples, sample_rate, found, inner)
            clock = find_clock(done, inner)
        said.append(f"the middle of a symbol was {clock.phase * sps:.2f} samples (of {sps} a symbol) "
                    "after the first sample")
        if clock.wander > _WANDERS:
            said.append(f"the clock wanders by {clock.wander:.2f} symbols rms: adann resample "
                        "--clock-recovery follows it")
        done = _advanced(done, clock.phase * inner)[::inner // sps]
    if carrier and np.iscomplexobj(done):
        line = find_carrier(done[::sps])
        if line is None:
            said.append("no carrier was found: no power of the symbols has a line")
        elif line.turns:
            said.append(f"a carrier of {line.frequency:.3g} cycles a symbol was taken out (line of the "
                        f"{line.power}th power)")
            turn = np.exp(-2j * np.pi * line.frequency / sps * np.arange(done.size))
            done = done * turn.astype(np.complex64)
    return Resampled(normalized(done), found, said)


def _run(samples, sample_rate, symbol_rate, sps, clock_recovery=False):
    """The whole record through adann.resampler."""
    is_complex = np.iscomplexobj(samples)
    samples = normalized(samples)
    mean, rms = record_statistics(samples)
    block = resampler(sample_rate, symbol_rate, sps, is_complex, "record", mean=mean, rms=rms,
                      clock_recovery=clock_recovery)
    held = 0 if clock_recovery else block.tail()
    wanted = int(samples.size * sps * symbol_rate / sample_rate)
    # A loop that follows a slower or faster clock has some more or fewer.
    sink = array_sink(wanted + clock_recovery * (wanted // 50 + 1024), samples.dtype)
    # A Python block lives as long as its name: GNU Radio keeps no reference.
    source = array_source([samples, np.zeros(held, samples.dtype)])
    top = gr.top_block("adann resample")
    top.connect(source, block, sink)
    top.run()
    return sink.items


def _advanced(samples, delay):
    """The record `delay` samples, 0 or more, later: whole ones cut off, the rest by its spectrum."""
    whole = int(delay)
    samples = samples[whole:]
    length = scipy.fft.next_fast_len(samples.size + 64)  # the ends do not meet
    frequencies = scipy.fft.fftfreq(length)
    spectrum = scipy.fft.fft(samples, length) * np.exp(2j * np.pi * frequencies * (delay - whole))
    shifted = scipy.fft.ifft(spectrum)[:samples.size]
    return (shifted if np.iscomplexobj(samples) else shifted.real).astype(samples.dtype)
