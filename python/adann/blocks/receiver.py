# SPDX-License-Identifier: GPL-3.0-or-later
"""From samples at any rate to labels: a receiver in one block."""

from __future__ import annotations

from pathlib import Path

from gnuradio import gr

from .. import core
from ..adann_python import ber_counter, equalizer
from .resampler import resampler


class receiver(gr.hier_block2):
    """A source's samples in, labels out: resampler with clock recovery, equalizer, BER counter.

    Input 0: samples, float or complex as the model says, whose carrier has been recovered.
    Outputs, as the equalizer's: 0 labels (byte); 1, optional: posteriors (M floats); 2, optional:
    the soft symbol. Message ports: status and control of the equalizer. With count_errors also
    input 1: the labels that were sent (byte); output 3, optional: the bit error rate of each batch
    (float); message port ber of the counter.

    model: core.model or path of a model file, which tells samples per symbol, type and
        constellation. Train it on what the resampler gives with the same clock recovery.
    sample_rate, symbol_rate, window, clock_recovery, loop_bandwidth: see `resampler`.
    count_errors: whether to count errors, see `ber_counter`.
    adaptation: settings of `equalizer` by their names, such as mode; any loss without known labels.
    Raises ValueError naming the parameter that is out of range, core.ModelFileError (a ValueError)
    if the model file cannot be read.

    The parts are the attributes resampler, equalizer and, with count_errors, counter: their
    setters and counts are there. Tags go to the symbol that their sample belongs to. With clock
    recovery they may land on a neighbour of it: symbol_sync rounds where it puts them, and can
    repeat one.
    """

    def __init__(self, model: core.model | str | Path, sample_rate: float, symbol_rate: float,
                 window: int = 65536, clock_recovery: bool = True, loop_bandwidth: float = 0.01,
                 count_errors: bool = False, **adaptation: object) -> None:
        unsupervised = [name for name, takes in core.losses.items() if not takes.supervised]
        if adaptation.get("loss", unsupervised[0]) not in unsupervised:
            raise ValueError(f"loss is {adaptation['loss']!r}, allowed: {', '.join(unsupervised)}")
        trained = model if isinstance(model, core.model) else core.load_model(str(model))
        sample = gr.sizeof_gr_complex if trained.complex else gr.sizeof_float
        inputs = [sample]
        outputs = [gr.sizeof_char, trained.constellation.size * gr.sizeof_float, sample]
        if count_errors:
            inputs.append(gr.sizeof_char)
            outputs.append(gr.sizeof_float)
        # A hier block has no optional ports, but those that nobody connects do no harm.
        gr.hier_block2.__init__(self, "adann_receiver",
                                gr.io_signature.makev(len(inputs), len(inputs), inputs),
                                gr.io_signature.makev(len(outputs), len(outputs), outputs))

        self.resampler = resampler(sample_rate, symbol_rate, trained.sps, trained.complex,
                                   window=window, clock_recovery=clock_recovery,
                                   loop_bandwidth=loop_bandwidth)
        self.equalizer = equalizer(model, **adaptation)
        self.connect(self, self.resampler, self.equalizer)
        for port in range(3):
            self.connect((self.equalizer, port), (self, port))
        self.message_port_register_hier_in("control")
        self.msg_connect(self, "control", self.equalizer, "control")
        self.message_port_register_hier_out("status")
        self.msg_connect(self.equalizer, "status", self, "status")
        if count_errors:
            self.counter = ber_counter(trained.constellation.text)
            self.connect(self.equalizer, self.counter, (self, 3))
            self.connect((self, 1), (self.counter, 1))
            self.message_port_register_hier_out("ber")
            self.msg_connect(self.counter, "ber", self, "ber")
