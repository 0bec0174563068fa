# SPDX-License-Identifier: GPL-3.0-or-later
"""A model in whole numbers as C++ for high-level synthesis: a symbol in, a label out, weights at run time."""

from __future__ import annotations

from .. import core
from .c_source import identifier, rows, table, title
from .frozen import Frozen

_SYMBOLS = 200  # golden ones

_HEADER = """\
// {title}
// Made by gr-adann {version}: adann export --format hls. See README.md.
#pragma once

#include "ap_fixed.h"
#include "ap_int.h"
#include "hls_stream.h"

#ifndef {NAME}_II
#define {NAME}_II 1 // clocks a symbol
#endif

namespace {name} {{

const int classes = {classes}, outputs = {outputs}, inputs = {inputs}, stride = {stride}, half_window = {half_window};

// Nearest, halves away from zero, symmetrical limits.
typedef ap_fixed<{bits}, {integer_bits}, AP_RND_INF, AP_SAT_SYM> sample_t;
typedef ap_int<{bits}> weight_t;
typedef ap_uint<{hidden_bits}> hidden_t;
typedef ap_int<32> sum_t;
typedef ap_uint<5> shift_t;
typedef ap_uint<{label_bits}> label_t;

// The samples of one symbol{parts}: of symbol i those from i * {sps} - {sps} / 2 on.
struct frame_t {{
    sample_t values[stride];
}};

struct weights_t {{
{members}}};

// The label that each transmitter sent.
struct decision_t {{
    label_t labels[outputs];
}};

// The sums of the last layer, the logits times {logits_per_unit:g}.
void decide(const ap_int<{bits}> window[inputs], const weights_t &weights, sum_t logits[outputs * classes]);

// Takes a frame and gives the decision of the symbol {half_window} frames before it.
void top(hls::stream<frame_t> &frames, hls::stream<decision_t> &labels, const weights_t &weights);

}} // namespace {name}
"""

_SOURCE = """\
// {title}
// Made by gr-adann {version}: adann export --format hls. See README.md.
#include "{stem}.h"

namespace {name} {{

template <int N, typename value_t>
static sum_t sum(const weight_t weights[N], sum_t bias, const value_t x[N])
{{
#pragma HLS INLINE
    sum_t total = bias;
    for (int i = 0; i < N; ++i) {{
#pragma HLS UNROLL
        total += weights[i] * x[i];
    }}
    return total;
}}

static hidden_t rectified(sum_t total, shift_t shift)
{{
#pragma HLS INLINE
    const ap_int<33> half = shift > 0 ? ap_int<33>(ap_int<33>(1) << (shift - 1)) : ap_int<33>(0);
    const ap_int<33> positive = total > 0 ? total : sum_t(0);
    const ap_int<33> shifted = (positive + half) >> shift;
    return shifted < {largest_hidden} ? hidden_t(shifted) : hidden_t({largest_hidden});
}}

void decide(const ap_int<{bits}> window[inputs], const weights_t &weights, sum_t logits[outputs * classes])
{{
#pragma HLS INLINE
{layers}}}

void top(hls::stream<frame_t> &frames, hls::stream<decision_t> &labels, const weights_t &weights)
{{
#pragma HLS INTERFACE axis port=frames
#pragma HLS INTERFACE axis port=labels
#pragma HLS INTERFACE s_axilite port=weights
#pragma HLS INTERFACE ap_ctrl_none port=return
#pragma HLS PIPELINE II={NAME}_II
    static ap_int<{bits}> window[inputs];
#pragma HLS ARRAY_PARTITION variable=window complete
    const frame_t frame = frames.read();
    for (int i = 0; i < inputs - stride; ++i)
        window[i] = window[i + stride];
    for (int i = 0; i < stride; ++i)
        window[inputs - stride + i] = frame.values[i].range({bits} - 1, 0);
    sum_t logits[outputs * classes];
#pragma HLS ARRAY_PARTITION variable=logits complete
    decide(window, weights, logits);
    decision_t decision;
    for (int o = 0; o < outputs; ++o) {{
#pragma HLS UNROLL
        label_t label = 0;
        for (int i = 1; i < classes; ++i)
            if (logits[o * classes + i] > logits[o * classes + label])
                label = i;
        decision.labels[o] = label;
    }}
    labels.write(decision);
}}

}} // namespace {name}
"""

_WEIGHTS = """\
// {title}
// What a host writes into weights_t.
#pragma once

#include "{stem}.h"

namespace {name} {{

{tables}
inline weights_t trained_weights()
{{
    weights_t weights;
{loads}    return weights;
}}

}} // namespace {name}
"""

_TEST = """\
// Frames and what the core decides of them. The exit status is 1 if a label differs, or a logit of the last window.
#include "{stem}_weights.h"

#include <cstdio>

{tables}
int main()
{{
    const {name}::weights_t weights = {name}::trained_weights();
    hls::stream<{name}::frame_t> frames;
    hls::stream<{name}::decision_t> labels;
    ap_int<{bits}> window[{name}::inputs];
    int wrong = 0;
    for (int i = 0; i < {symbols}; ++i) {{
        {name}::frame_t frame;
        for (int n = 0; n < {name}::stride; ++n)
            frame.values[n] = {name}::sample_t(golden_frames[i][n]);
        for (int n = 0; n < {name}::inputs - {name}::stride; ++n)
            window[n] = window[n + {name}::stride];
        for (int n = 0; n < {name}::stride; ++n)
            window[{name}::inputs - {name}::stride + n] = frame.values[n].range({bits} - 1, 0);
        frames.write(frame);
        {name}::top(frames, labels, weights);
        const {name}::decision_t decision = labels.read();
        for (int o = 0; o < {name}::outputs && i >= 2 * {name}::half_window; ++o)
            wrong += decision.labels[o] != golden_labels[i - 2 * {name}::half_window][o];
    }}
    {name}::sum_t logits[{name}::outputs * {name}::classes];
    {name}::decide(window, weights, logits);
    for (int i = 0; i < {name}::outputs * {name}::classes; ++i)
        wrong += logits[i] != golden_logits[i];
    std::printf("%d differences\\n", wrong);
    return wrong != 0;
}}
"""

_README = """\
# {title}
Made by gr-adann {version}: `adann export --format hls`. C++ for Vitis HLS and tools like it. It was simulated
with open `ap_fixed` and `hls_stream` headers and not synthesised: the figures below are counted from the network, none
is a tool's report.

- `{stem}.h`, `{stem}.cpp`: `{name}::top`, a frame of one symbol's samples in, a label out, by AXI streams; the label
  is that of the symbol {half_window} frames before. Weights come by AXI-Lite (`weights_t`) and can be changed
  while it runs: a host that adapts writes whole numbers of {bits} bits.
- `{stem}_weights.h`: those of the model.
- `{stem}_test.cpp`: a test bench, {symbols} golden frames:
  `g++ -I AP_TYPES {stem}.cpp {stem}_test.cpp -o test && ./test`

Samples are of zero mean and unit power, {sps} a symbol{parts}: `{name}::sample_t` of {bits} bits.

| | |
|---|---|
| multiplications a symbol | {products}, of {bits} by {input_bits} bits and less |
| weights, biases, shifts | {weight_count} of {bits} bits, {bias_count} of 32, {shift_count} of 5: {storage} bits |
| symbols a clock | 1; with `-D{NAME}_II=N` one in N clocks, with {products} / N multipliers |
| latency of the label | {half_window} symbols, and the pipeline's depth |
"""


def hls_source(frozen: Frozen, stem: str) -> dict[str, str]:
    """The contents of a folder's files by name. Raises ValueError for a model that has no formats."""
    model, fixed, name = frozen.model, frozen.quantized, identifier(stem)
    if fixed is None:
        raise ValueError("the model is in float, allowed: one in whole numbers, see adann quantize")
    if frozen.scaled:
        raise ValueError("samples for high-level synthesis are normalised already, allowed: no capture")
    formats, sizes, classes = model.formats, model.network.sizes, model.constellation.size
    parts = ", I and Q in turn" if model.complex else ""
    if frozen.channels > 1:
        parts += f", of {frozen.channels} channels in turn"
    count = len(sizes) - 1
    members, layers, loads, tables = [], [], [], []
    for k in range(count):
        weights, biases, shifts, is_last = fixed.weight(k), fixed.bias(k), fixed.shift(k), k + 1 == count
        outputs, inputs = weights.shape
        members += [f"    weight_t layer_{k}[{outputs}][{inputs}];\n", f"    sum_t biases_{k}[{outputs}];\n"]
        tables += [rows("int", f"table_{k}", weights), table("int", f"table_biases_{k}", biases)]
        loads.append(f"    for (int o = 0; o < {outputs}; ++o) {{\n"
                     f"        for (int i = 0; i < {inputs}; ++i)\n"
                     f"            weights.layer_{k}[o][i] = table_{k}[o][i];\n"
                     f"        weights.biases_{k}[o] = table_biases_{k}[o];\n")
        total = f"sum<{inputs}>(weights.layer_{k}[o], weights.biases_{k}[o], {f'hidden_{k - 1}' if k else 'window'})"
        if not is_last:
            members.append(f"    shift_t shifts_{k}[{outputs}];\n")
            tables.append(table("int", f"table_shifts_{k}", shifts))
            loads[-1] += f"        weights.shifts_{k}[o] = table_shifts_{k}[o];\n"
            layers.append(f"    hidden_t hidden_{k}[{outputs}];\n"
                          f"#pragma HLS ARRAY_PARTITION variable=hidden_{k} complete\n")
            total = f"rectified({total}, weights.shifts_{k}[o])"
        loads[-1] += "    }\n"
        layers.append(f"    for (int o = 0; o < {outputs}; ++o) {{\n#pragma HLS UNROLL\n"
                      f"        {'logits' if is_last else f'hidden_{k}'}[o] = {total};\n    }}\n")
    frames = frozen.golden_record(_SYMBOLS)
    logits = fixed.decide(frozen.windows(frames.ravel()))[1]
    products, outputs = sum(a * b for a, b in zip(sizes, sizes[1:])), sum(sizes[1:])
    shift_count = outputs - sizes[-1]
    fields = {
        "title": title(frozen), "version": core.__version__, "name": name, "NAME": name.upper(), "stem": stem,
        "classes": classes, "outputs": frozen.outputs, "inputs": sizes[0], "stride": frozen.stride,
        "half_window": model.half_window, "sps": model.sps, "bits": formats.bits,
        "integer_bits": formats.bits - formats.values[0],
        "hidden_bits": formats.largest_hidden.bit_length(), "largest_hidden": formats.largest_hidden,
        "label_bits": max(1, (classes - 1).bit_length()), "parts": parts,
        "logits_per_unit": 1 / fixed.logit_scale, "members": "".join(members), "layers": "".join(layers),
        "loads": "".join(loads), "symbols": _SYMBOLS, "products": products,
        "input_bits": max(formats.bits, formats.largest_hidden.bit_length()),
        "weight_count": products, "bias_count": outputs, "shift_count": shift_count,
        "storage": products * formats.bits + outputs * 32 + shift_count * 5}
    golden = "\n".join((rows("float", "golden_frames", frames), rows("int", "golden_labels", frozen.labels(logits)),
                        table("int", "golden_logits", logits[-1])))
    return {f"{stem}.h": _HEADER.format(**fields), f"{stem}.cpp": _SOURCE.format(**fields),
            f"{stem}_weights.h": _WEIGHTS.format(tables="\n".join(tables), **fields),
            f"{stem}_test.cpp": _TEST.format(tables=golden, **fields), "README.md": _README.format(**fields)}
