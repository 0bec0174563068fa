# SPDX-License-Identifier: GPL-3.0-or-later
"""From samples at any rate to labels: a receiver in one block."""

from __future__ import annotations

from pathlib import Path

from gnuradio import filter, gr
from gnuradio.filter import firdes

from .. import core
from ..adann_python import ber_counter, coarse_carrier, equalizer, normalizer
from ..adann_python import carrier_recovery as _carrier_recovery
from .offset import SPS, OffsetChain
from .resampler import resampler

_MATCHED_SYMBOLS = 11  # that the matched filter lasts


class receiver(gr.hier_block2):
    """A source's samples in, labels out: carrier and clock recovery, equalizer, BER counter.

    Input 0: samples, float or complex as the model says. Outputs, as the equalizer's: 0 labels
    (byte); 1, optional: posteriors (M floats); 2, optional: the soft symbol. Message ports: status,
    control and known of the equalizer. With count_errors also input 1: the labels that were sent (byte);
    output 3, optional: the bit error rate of each batch (float); message port ber of the counter.

    model: core.model or path of a model file, which has samples per symbol, type and
        constellation; "" starts with nothing, see `equalizer`. Train it on what the resampler
        gives with the same clock recovery.
    sample_rate, symbol_rate, window, clock_recovery, loop_bandwidth: see `resampler`.
    count_errors: whether to count errors, and mutual information, see `ber_counter`.
    constellation, sps, half_window, complex: of what is received, without a model, see `equalizer`;
        others than the model's are refused.
    carrier_recovery: for complex samples of root-raised-cosine pulses, 2 to 64 a symbol: a
        `coarse_carrier`, which says how far it reaches, a matched filter, and after the clock
        recovery a `carrier_recovery` of the residual offset; else the carrier has to be recovered before.
        Of oqpsk, whose clock Gardner's detector sees only where I and Q come together, it comes before the clock
        recovery: Q is then half a symbol early until that is done. Its labels are right up to which of the two is I,
        signs, and a whole symbol between them.
    roll_off: of the pulses, 0.05 to 1. carrier_bandwidth: of the carrier's phase, see `carrier_recovery`.
    adaptation: settings of `equalizer` by their names, such as mode, checkpoint and guard; any loss
        without known labels.
    Raises ValueError naming the parameter that is out of range, core.ModelFileError (a ValueError)
    if the model file cannot be read.

    The parts are the attributes resampler, equalizer, with carrier_recovery carrier, whose
    frequency() is what is removed in all, and with count_errors counter; the equalizer's counts and
    estimates are methods of the receiver, too.
    Tags go to the symbol that their sample belongs to. With clock recovery they may land on a
    neighbour of it: symbol_sync rounds where it puts them, and can repeat one; carrier recovery
    delays them by its filters.
    """

    def __init__(self, model: core.model | str | Path, sample_rate: float, symbol_rate: float,
                 window: int = 65536, clock_recovery: bool = True, loop_bandwidth: float = 0.01,
                 count_errors: bool = False, constellation: object = None, sps: int | None = None,
                 half_window: int | None = None, complex: bool | None = None, carrier_recovery: bool = False,
                 roll_off: float = 0.35, carrier_bandwidth: float = 0.005, **adaptation: object) -> None:
        unsupervised = [name for name, takes in core.losses.items() if not takes.supervised]
        if adaptation.get("loss", unsupervised[0]) not in unsupervised:
            raise ValueError(f"loss is {adaptation['loss']!r}, allowed: {', '.join(unsupervised)}")
        if isinstance(model, core.model) or str(model):
            trained = model if isinstance(model, core.model) else core.load_model(str(model))
            self.equalizer = equalizer(model, constellation, sps, half_window, complex, **adaptation)
            symbols, rate = trained.constellation, trained.sps
            complex = trained.complex
        else:
            complex = complex is not False
            self.equalizer = equalizer("", constellation, sps, half_window, complex, **adaptation)
            symbols, rate = core.constellation(constellation), 2 if sps is None else int(sps)
        sample = gr.sizeof_gr_complex if complex else gr.sizeof_float
        inputs = [sample]
        outputs = [gr.sizeof_char, symbols.size * gr.sizeof_float, sample]
        if count_errors:
            inputs.append(gr.sizeof_char)
            outputs.append(gr.sizeof_float)
        # A hier block has no optional ports, but those that nobody connects do no harm.
        gr.hier_block2.__init__(self, "adann_receiver",
                                gr.io_signature.makev(len(inputs), len(inputs), inputs),
                                gr.io_signature.makev(len(outputs), len(outputs), outputs))

        self._before, self._after, self.carrier = [], [], None
        if carrier_recovery:
            _check("complex", complex, complex, "True for carrier_recovery")
            self._check_bandwidth(carrier_bandwidth)
            self._before = _matched(SPS if symbols.is_offset else sample_rate / symbol_rate, roll_off, window)
        if symbols.is_offset:
            chain = OffsetChain(sample_rate, symbol_rate, rate, window, clock_recovery, loop_bandwidth,
                                carrier_bandwidth if carrier_recovery else None, self._before)
            self._before, self.resampler, self._after = chain.before, chain.resampler, chain.after
            self.carrier = chain.carrier
        else:
            self.resampler = resampler(sample_rate, symbol_rate, rate, bool(complex), window=window,
                                       clock_recovery=clock_recovery, loop_bandwidth=loop_bandwidth)
            if carrier_recovery:
                coarse = coarse_carrier(sample_rate / symbol_rate, roll_off)
                self._before.insert(1, coarse)
                self._after = [_carrier_recovery(symbols.text, rate, carrier_bandwidth)]
                self.carrier = _Carrier(coarse, *self._after)
        self.connect(self, *self._before, self.resampler, *self._after, self.equalizer)
        for port in range(3):
            self.connect((self.equalizer, port), (self, port))
        for messages in ("control", "known"):
            self.message_port_register_hier_in(messages)
            self.msg_connect(self, messages, self.equalizer, messages)
        self.message_port_register_hier_out("status")
        self.msg_connect(self.equalizer, "status", self, "status")
        if count_errors:
            self.counter = ber_counter(symbols.text)
            self.connect(self.equalizer, self.counter, (self, 3))
            self.connect((self, 1), (self.counter, 1))
            self.connect((self.equalizer, 1), (self.counter, 2))
            self.message_port_register_hier_out("ber")
            self.msg_connect(self.counter, "ber", self, "ber")

    def set_loop_bandwidth(self, loop_bandwidth: float) -> None:
        """Of the clock recovery; nothing without it."""
        self.resampler.set_loop_bandwidth(loop_bandwidth)

    def set_carrier_bandwidth(self, carrier_bandwidth: float) -> None:
        """Of the carrier's phase; nothing without carrier recovery."""
        self._check_bandwidth(carrier_bandwidth)
        if self.carrier:
            self.carrier.set_bandwidth(carrier_bandwidth)

    @staticmethod
    def _check_bandwidth(given):
        _check("carrier_bandwidth", given, 0 < given < 0.5, "above 0, below 0.5")


class _Carrier:
    """The recovery of a carrier, in two steps."""

    def __init__(self, coarse, fine):
        self._coarse, self._fine = coarse, fine

    def frequency(self):
        """The offset that is removed, in cycles a symbol."""
        return self._coarse.frequency() + self._fine.frequency()

    def set_bandwidth(self, bandwidth):
        self._fine.set_bandwidth(bandwidth)


def _forwarded(name):
    def method(self, *values):
        return getattr(self.equalizer, name)(*values)
    method.__name__ = name
    method.__doc__ = getattr(equalizer, name).__doc__
    return method


for _name in ("steps", "updates", "rejected", "dropped", "queued", "rollbacks", "estimated_ber",
              "estimated_bit_error_rate", "network", "modulation_error_ratio", "frequency", "bursts",
              "front_filter", "set_front_filter", "set_frozen"):
    setattr(receiver, _name, _forwarded(_name))


def _check(name, value, good, allowed):
    if not good:
        raise ValueError(f"{name} is {value}, allowed: {allowed}")


def _matched(samples, roll_off, window):
    """Matched filter, at so many samples a symbol."""
    _check("sample_rate", samples, 2 <= samples <= 64, "2 to 64 times symbol_rate for carrier_recovery")
    _check("roll_off", roll_off, 0.05 <= roll_off <= 1, "0.05 to 1")
    return [normalizer(True, window),
            filter.fir_filter_ccf(1, firdes.root_raised_cosine(
                1, samples, 1, roll_off, int(_MATCHED_SYMBOLS * samples) | 1))]
