# SPDX-License-Identifier: GPL-3.0-or-later
"""A model as one C99 file and its header: no allocation, no library, no state.

In float, or in whole numbers if the model has quantization formats: those sums are the core's to the bit.
"""

from __future__ import annotations

import re

import numpy as np
import numpy.typing as npt

from .. import core
from .frozen import Frozen

_TOLERANCE = 1e-4  # of golden logits, in parts of their largest: a compiler may sum in another order

_HEADER = """\
/* {title}
 * Made by gr-adann {version}: adann export --format c. */
#ifndef {NAME}_H
#define {NAME}_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {{
#endif

#define {NAME}_CLASSES {classes}
{outputs_macro}#define {NAME}_WINDOW {inputs} /* values of a window: {window} symbols, {sps} samples each{parts} */
#define {NAME}_STRIDE {stride} /* values from one symbol's window to the next one's */
#define {NAME}_BEFORE {before} /* values of a window before its symbol's middle sample */
#define {NAME}_LOGIT {logit} /* the logit of one unit of {name}_decide's */

typedef {value} {name}_value;
typedef {sum} {name}_logit;

/* Makes window values of `count` samples' floats{interleaved}. {expected} */
void {name}_prepare(const float *samples, size_t count, {name}_value *values);

{decides}
{decide};

#ifdef __cplusplus
}}
#endif
#endif
"""

_SOURCE = """\
/* {title}
 * Made by gr-adann {version}: adann export --format c. C99; no library, but in the programs at its end:
 *   cc -DADANN_SELF_TEST {file} -o test && ./test            decides {golden} golden windows
 *   cc -DADANN_FILTER {file} -o decide && ./decide < rx.f32 > labels.u8 */
#include "{header}"

{tables}
{layers}
{decide}
{{
{buffers}    {name}_logit last[{logits}];
    int i{locals};
{calls}
{argmax}
    if (logits)
        for (i = 0; i < {logits}; ++i)
            logits[i] = last[i];
{returned}}}

#ifdef ADANN_SELF_TEST
#include <stdio.h>

{golden_tables}
/* The exit status is 1 if a label or a logit differs{tolerated}. */
int main(void)
{{
    int wrong = 0, n, i;
    for (n = 0; n < {golden}; ++n) {{
        {name}_value window[{inputs}];
        {name}_logit logits[{logits}], largest = 0, off = 0;
        {differing}
        for (i = 0; i < {logits}; ++i) {{
            const {name}_logit wanted = golden_logits[n][i];
            const {name}_logit size = wanted < 0 ? -wanted : wanted;
            const {name}_logit far = logits[i] < wanted ? wanted - logits[i] : logits[i] - wanted;
            largest = size > largest ? size : largest;
            off = far > off ? far : off;
        }}
        wrong += differs || !(off <= {tolerance} * largest);
    }}
    printf("%d of {golden} golden windows differ\\n", wrong);
    return wrong != 0;
}}
#endif

#ifdef ADANN_FILTER
#include <stdio.h>
#include <string.h>

/* Samples{of_channels}, float32 as this machine has them, from stdin; labels, one byte each, to stdout. Sample
 * i * {sps} is the middle of symbol i; around the record there is no signal. */
static {name}_value window[{inputs}];

static size_t next(size_t first)
{{
    float samples[{inputs}];
    const size_t got = fread(samples, sizeof(float), {inputs} - first, stdin);
    {name}_prepare(samples, got, window + first);
    memset(window + first + got, 0, ({inputs} - first - got) * sizeof *window);
    return got;
}}

int main(void)
{{
    size_t come = next({before}), decided;
    for (decided = 0; (decided + 1) * {stride} <= come; ++decided) {{
{put}
        memmove(window, window + {stride}, ({inputs} - {stride}) * sizeof *window);
        come += next({inputs} - {stride});
    }}
    return fflush(stdout) != 0 || ferror(stdin) != 0;
}}
#endif
"""

_FLOAT_LAYERS = """\
static void sums(const float *weights, const float *biases, int inputs, int outputs, const float *x, float *y)
{{
    int i, o;
    for (o = 0; o < outputs; ++o) {{
        y[o] = biases[o];
        for (i = 0; i < inputs; ++i)
            y[o] += weights[o * inputs + i] * x[i];
    }}
}}
{hidden}
void {name}_prepare(const float *samples, size_t count, {name}_value *values)
{{
    size_t i;
    for (i = 0; i < count; ++i)
        values[i] = {normalized};
}}
"""

_FLOAT_HIDDEN = """
static void hidden(const float *weights, const float *biases, int inputs, int outputs, const float *x, float *y)
{
    int o;
    sums(weights, biases, inputs, outputs, x, y);
    for (o = 0; o < outputs; ++o)
        y[o] = y[o] > 0 ? y[o] : 0;
}
"""

_FIXED_LAYERS = """\
static int32_t sum(const {weight} *weights, int32_t bias, int inputs, const {value} *x)
{{
    int i;
    for (i = 0; i < inputs; ++i)
        bias += (int32_t)weights[i] * x[i];
    return bias;
}}

static void sums(const {weight} *weights, const int32_t *biases, int inputs, int outputs, const {value} *x, int32_t *y)
{{
    int o;
    for (o = 0; o < outputs; ++o)
        y[o] = sum(weights + o * inputs, biases[o], inputs, x);
}}
{hidden}
/* The nearest whole number, halves away from zero. */
void {name}_prepare(const float *samples, size_t count, {name}_value *values)
{{
    size_t i;
    for (i = 0; i < count; ++i) {{
        float x = {normalized} * {scale};
        x = x != x ? 0 : x < -{largest} ? -{largest} : x > {largest} ? {largest} : x;
        values[i] = ({value})x;
        x -= values[i];
        values[i] = ({value})(values[i] + (x >= 0.5f) - (x <= -0.5f));
    }}
}}
"""

_FIXED_HIDDEN = """
static void hidden(const {weight} *weights, const int32_t *biases, const unsigned char *shifts, int inputs,
                   int outputs, const {value} *x, {value} *y)
{{
    int o;
    for (o = 0; o < outputs; ++o) {{
        int32_t s = sum(weights + o * inputs, biases[o], inputs, x);
        s = s > 0 ? s : 0;
        s = shifts[o] ? (s + ((int32_t)1 << (shifts[o] - 1))) >> shifts[o] : s;
        y[o] = ({value})(s < {largest_hidden} ? s : {largest_hidden});
    }}
}}
"""


# What differs between the labels of one transmitter, which are returned, and those of several.
_ONE = {
    "outputs_macro": "",
    "of_channels": "",
    "decides": """\
/* The label, 0 to {NAME}_CLASSES - 1, of the symbol in the middle of a window.
 * logits: NULL, or room for {NAME}_CLASSES; the softmax of {NAME}_LOGIT times them is the posteriors.
 * {not_finite} */""",
    "decide": "unsigned char {name}_decide(const {name}_value *window, {name}_logit *logits)",
    "locals": ", label = 0",
    "argmax": """\
    for (i = 1; i < {classes}; ++i)
        if (last[i] > last[label])
            label = i;""",
    "returned": "    return (unsigned char)label;\n",
    "differing": """\
int differs;
        {name}_prepare(golden_windows[n], {inputs}, window);
        differs = {name}_decide(window, logits) != golden_labels[n];""",
    "put": """\
        if (putchar({name}_decide(window, NULL)) == EOF)
            return 1;"""}

_SEVERAL = {
    "outputs_macro": "#define {NAME}_OUTPUTS {outputs} /* transmitters */\n",
    "of_channels": " of the channels in turn",
    "decides": """\
/* The labels, 0 to {NAME}_CLASSES - 1, that the transmitters sent in the middle of a window.
 * logits: NULL, or room for {NAME}_OUTPUTS times {NAME}_CLASSES; the softmax of {NAME}_LOGIT times those of a
 * transmitter is its posteriors.
 * {not_finite} */""",
    "decide": "void {name}_decide(const {name}_value *window, unsigned char *labels, {name}_logit *logits)",
    "locals": ", o",
    "argmax": """\
    for (o = 0; o < {outputs}; ++o) {{
        labels[o] = 0;
        for (i = 1; i < {classes}; ++i)
            if (last[o * {classes} + i] > last[o * {classes} + labels[o]])
                labels[o] = (unsigned char)i;
    }}""",
    "returned": "",
    "differing": """\
unsigned char labels[{outputs}];
        int differs = 0;
        {name}_prepare(golden_windows[n], {inputs}, window);
        {name}_decide(window, labels, logits);
        for (i = 0; i < {outputs}; ++i)
            differs |= labels[i] != golden_labels[n * {outputs} + i];""",
    "put": """\
        unsigned char labels[{outputs}];
        {name}_decide(window, labels, NULL);
        if (fwrite(labels, 1, {outputs}, stdout) != {outputs})
            return 1;"""}


def identifier(stem: str) -> str:
    """A C identifier of a file's stem, with which all names of the file begin."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return name if re.match("[A-Za-z]", name) else f"adann_{name}"


def c_source(frozen: Frozen, stem: str) -> dict[str, str]:
    """The contents of `stem`.c and `stem`.h by file name."""
    model, name, fixed = frozen.model, identifier(stem), frozen.quantized
    count, classes = len(frozen.layers), model.constellation.size
    windows = frozen.as_they_come(frozen.golden_windows())
    logits = frozen.logits(frozen.prepared(windows))
    value = "float" if fixed is None else "int16_t"
    weight = "float" if fixed is None else "int8_t" if model.formats.bits <= 8 else "int16_t"
    names = {"name": name, "value": value, "weight": weight, "normalized": _normalized(frozen)}
    if fixed is not None:
        names |= {"largest": model.formats.largest, "largest_hidden": model.formats.largest_hidden,
                  "scale": _number(fixed.sample_scale)}
    hidden, layers = (_FLOAT_HIDDEN, _FLOAT_LAYERS) if fixed is None else (
        _FIXED_HIDDEN.format(**names), _FIXED_LAYERS)
    tables, calls = _layers(frozen, weight)
    width = max(model.network.sizes[1:-1], default=0)
    channels = f", of {frozen.channels} channels in turn" if frozen.channels > 1 else ""
    fields = names | {
        "title": title(frozen), "version": core.__version__, "NAME": name.upper(),
        "file": f"{stem}.c", "header": f"{stem}.h", "classes": classes, "inputs": frozen.inputs,
        "outputs": frozen.outputs, "logits": frozen.outputs * classes,
        "stride": frozen.stride, "sps": model.sps, "window": 2 * model.half_window + 1,
        "parts": (", I and Q" if model.complex else "") + channels,
        "interleaved": f", I and Q in turn{channels}, the first an I" if model.complex else "",
        "before": frozen.floats_before, "golden": len(windows),
        "sum": "float" if fixed is None else "int32_t",
        "logit": "1.0f" if fixed is None else _number(fixed.logit_scale),
        "expected": "Samples come as they were\n * recorded: mean and rms are taken off here."
        if frozen.scaled else "Samples are expected with\n * zero mean and unit power.",
        "not_finite": "Where a value of the window, or a logit, is NaN or infinite, the label is in range, but not"
        "\n * defined: it may differ from the equalizer's." if fixed is None else
        "A sample that is NaN is prepared as 0.",
        "tables": "\n".join(tables), "calls": "\n".join(calls),
        "layers": layers.format(hidden=hidden * (count > 1), **names),
        "buffers": f"    {name}_value {', '.join(f'hidden_{k}[{width}]' for k in range(min(count - 1, 2)))};\n"
        if count > 1 else "",
        "tolerance": f"{_TOLERANCE}f" if fixed is None else "0",
        "tolerated": f" by more than {_TOLERANCE} of the largest" if fixed is None else "",
        "golden_tables": "\n".join((
            rows("float", "golden_windows", windows),
            rows("float" if fixed is None else "int32_t", "golden_logits", logits),
            table("unsigned char", "golden_labels", frozen.labels(logits).ravel())))}
    fields |= {key: text.format(**fields) for key, text in (_ONE if frozen.outputs == 1 else _SEVERAL).items()}
    return {f"{stem}.c": _SOURCE.format(**fields), f"{stem}.h": _HEADER.format(**fields)}


def _layers(frozen, weight):
    """The tables of all layers, and the statements that run them."""
    tables, calls = [], []
    fixed, count = frozen.quantized, len(frozen.layers)
    if frozen.scaled:
        tables += [table("float", "mean", frozen.offset), table("float", "rms", frozen.scale)]
    for k, (weights, biases) in enumerate(frozen.layers):
        is_last = k + 1 == count
        named = [f"weights_{k}", f"biases_{k}"]
        if fixed is not None:
            weights, biases = fixed.weight(k), fixed.bias(k)
        tables += [table(weight, named[0], weights.ravel()),
                   table("float" if fixed is None else "int32_t", named[1], biases)]
        if fixed is not None and not is_last:
            named.append(f"shifts_{k}")
            tables.append(table("unsigned char", named[2], fixed.shift(k)))
        outputs, inputs = weights.shape
        calls.append(f"    {'sums' if is_last else 'hidden'}({', '.join(named)}, {inputs}, {outputs}, "
                     f"{f'hidden_{(k - 1) % 2}' if k else 'window'}, {'last' if is_last else f'hidden_{k % 2}'});")
    return tables, calls


def title(frozen: Frozen) -> str:
    """What the first line of a file says."""
    model = frozen.model
    bits = f", {model.formats.bits} bits" if model.formats else ""
    return (f"Equalizer for {model.constellation.name}, a network of "
            f"{'-'.join(map(str, model.network.sizes))} neurons{bits}.")


def _normalized(frozen):
    if not frozen.scaled:
        return "samples[i]"
    place = f"i % {frozen.floats}" if frozen.floats > 1 else "0"
    return f"(samples[i] - mean[{place}]) / rms[{place}]"


def _number(value: float) -> str:
    if np.asarray(value).dtype.kind != "f":
        return str(value)
    text = f"{np.float32(value):.9g}"
    return f"{text}f" if re.search("[.e]", text) else f"{text}.0f"


def _values(values, indent):
    texts = [_number(each) for each in values]
    lines = [", ".join(texts[start:start + 8]) for start in range(0, len(texts), 8)]
    return (",\n" + indent).join(lines)


def table(kind: str, name: str, values: npt.NDArray) -> str:
    """A constant array (n,)."""
    return f"static const {kind} {name}[] = {{\n    {_values(values, '    ')}\n}};\n"


def rows(kind: str, name: str, values: npt.NDArray) -> str:
    """A constant array (n, m)."""
    inner = ",\n".join(f"    {{ {_values(row, '      ')} }}" for row in values)
    return f"static const {kind} {name}[][{values.shape[1]}] = {{\n{inner}\n}};\n"
