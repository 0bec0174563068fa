# SPDX-License-Identifier: GPL-3.0-or-later
"""A capture's file as a source of samples."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pmt
from gnuradio import blocks, gr

from ..captures.files import stored_capture

# Bits of an integer: what adds a constant to it, and what makes it a float divided by a scale.
_INTEGERS = {8: (blocks.add_const_bb, blocks.char_to_float),
             16: (blocks.add_const_ss, blocks.short_to_float),
             32: (blocks.add_const_ii, blocks.int_to_float)}


class capture_source(gr.hier_block2):
    """The samples of a capture: a SigMF pair or archive, or raw .f32, .c64 or .cfile.

    path: as for `captures.read_capture`; integers are scaled to ±1 as there, float64 is refused.
    complex: whether the samples are complex; the file must agree.
    repeat: begin again at the end, for ever.
    sample_rate: samples per second, above 0 for a file without one; 0: the file's.
    Raises ValueError for anything else, and for what is wrong with the file.

    The first sample, of each repetition too, has the tag rx_rate, if the rate is known. Without
    `repeat`, the message port `end` sends (end . number of samples) when the last sample has gone
    out; the blocks after it may still hold some. Nothing here slows the samples down to their rate:
    a `blocks.throttle` does.
    """

    def __init__(self, path: str | Path, complex: bool = False, repeat: bool = False,
                 sample_rate: float = 0) -> None:
        if not 0 <= sample_rate < float("inf"):
            raise ValueError(f"sample_rate is {sample_rate}, allowed: 0 (the file's) and above")
        stored = stored_capture(path)
        if stored.is_complex != complex:
            raise ValueError(f"complex is {complex}, allowed for {path}: {stored.is_complex}")
        self._sample_rate = sample_rate or stored.sample_rate
        self._size = stored.size
        item = gr.sizeof_gr_complex if complex else gr.sizeof_float
        super().__init__("adann_capture_source", gr.io_signature(0, 0, 0),
                         gr.io_signature(1, 1, item))
        self.message_port_register_hier_out("end")

        chain = _reader(stored, path, repeat)
        if self._sample_rate:
            # A tag every `size` samples, of which the strobe leaves out the first.
            tags = blocks.tags_strobe(gr.sizeof_char, pmt.from_double(self._sample_rate),
                                      stored.size, pmt.intern("rx_rate"))
            tagged = blocks.tag_share(item, gr.sizeof_char)
            self.connect(tags, blocks.skiphead(gr.sizeof_char, stored.size), (tagged, 1))
            chain.append(tagged)
        self.connect(*chain, self)
        if not repeat:
            last = blocks.skiphead(item, stored.size - 1)
            self._end = _end(complex, stored.size)
            self.connect(chain[-1], last, self._end)
            self.msg_connect(self._end, "end", self, "end")

    def sample_rate(self) -> float | None:
        """Samples per second, None if neither the file nor the parameter has it."""
        return self._sample_rate

    def size(self) -> int:
        """Samples in the file."""
        return self._size


def _reader(stored, path, repeat):
    """The blocks from the file to floats or complex floats."""
    kind, bits = stored.component.kind, 8 * stored.component.itemsize
    if kind == "f" and bits != 32:
        raise ValueError(f"{path}: core:datatype is {stored.datatype}, allowed: 32-bit floats and "
                         "integers")
    swap = [blocks.endian_swap(bits // 8)] if stored.datatype.endswith("_be") else []
    components = stored.size * (1 + stored.is_complex)
    if stored.offset % (bits // 8):  # the source counts in items
        chain = [blocks.file_source(1, str(stored.path), repeat, stored.offset,
                                    components * bits // 8),
                 blocks.stream_to_vector(1, bits // 8)]
    else:
        chain = [blocks.file_source(bits // 8, str(stored.path), repeat,
                                    stored.offset * 8 // bits, components)]
    chain += swap
    if kind != "f":
        add, convert = _INTEGERS[bits]
        full_scale = 2 ** (bits - 1)
        # Half of the range is added in modular arithmetic: unsigned becomes signed.
        chain += [add(full_scale if bits == 8 else -full_scale)] if kind == "u" else []
        chain.append(convert(1, full_scale))
    return chain + ([blocks.stream_to_vector(gr.sizeof_float, 2)] if stored.is_complex else [])


class _end(gr.sync_block):
    """Gets one sample, the last, and says so."""

    def __init__(self, complex, size):
        super().__init__("capture_end", [np.complex64 if complex else np.float32], None)
        self.message_port_register_out(pmt.intern("end"))
        self._size = size

    def work(self, input_items, output_items):
        self.message_port_pub(pmt.intern("end"),
                              pmt.cons(pmt.intern("end"), pmt.from_long(self._size)))
        return len(input_items[0])
