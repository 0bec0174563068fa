# SPDX-License-Identifier: GPL-3.0-or-later
"""A model as one C99 file and its header: no allocation, no library, no state."""

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

#ifdef __cplusplus
extern "C" {{
#endif

#define {NAME}_CLASSES {classes}
#define {NAME}_WINDOW {inputs} /* floats of a window: {window} symbols, {sps} samples each{parts} */
#define {NAME}_STRIDE {stride} /* floats from one symbol's window to the next one's */
#define {NAME}_BEFORE {before} /* floats of a window before its symbol's middle sample */

/* The label, 0 to {NAME}_CLASSES - 1, of the symbol in the middle of a window. {expected}
 * logits: NULL, or room for {NAME}_CLASSES; their softmax gives the posteriors. */
unsigned char {name}_decide(const float *window, float *logits);

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

#include <stddef.h>

{tables}
static void layer(const float *weights, const float *biases, int inputs, int outputs, int rectify,
                  const float *x, float *y)
{{
    int i, o;
    for (o = 0; o < outputs; ++o) {{
        float sum = biases[o];
        for (i = 0; i < inputs; ++i)
            sum += weights[o * inputs + i] * x[i];
        y[o] = rectify && sum < 0 ? 0 : sum;
    }}
}}

unsigned char {name}_decide(const float *window, float *logits)
{{
    float {buffers};
    int i, label = 0;
    for (i = 0; i < {inputs}; ++i)
        even[i] = {normalized};
{calls}
    for (i = 1; i < {classes}; ++i)
        if ({last}[i] > {last}[label])
            label = i;
    if (logits)
        for (i = 0; i < {classes}; ++i)
            logits[i] = {last}[i];
    return (unsigned char)label;
}}

#ifdef ADANN_SELF_TEST
#include <stdio.h>

{golden_tables}
/* The exit status is 1 if a label differs, or a logit by more than {tolerance} of the largest. */
int main(void)
{{
    int wrong = 0, n, i;
    for (n = 0; n < {golden}; ++n) {{
        float logits[{classes}], largest = 0, off = 0;
        int differs = {name}_decide(golden_windows[n], logits) != golden_labels[n];
        for (i = 0; i < {classes}; ++i) {{
            const float size = golden_logits[n][i] < 0 ? -golden_logits[n][i] : golden_logits[n][i];
            const float far = logits[i] - golden_logits[n][i];
            if (size > largest)
                largest = size;
            if (far > off || -far > off)
                off = far < 0 ? -far : far;
        }}
        wrong += differs || !(off <= {tolerance}f * largest);
    }}
    printf("%d of {golden} golden windows differ\\n", wrong);
    return wrong != 0;
}}
#endif

#ifdef ADANN_FILTER
#include <stdio.h>
#include <string.h>

/* Samples, float32 as this machine has them, from stdin; labels, one byte each, to stdout. Sample i * {sps} is the
 * middle of symbol i; around the record there is no signal. */
static size_t next(float *to, size_t count)
{{
    const size_t got = fread(to, sizeof(float), count, stdin);
    size_t i;
    for (i = got; i < count; ++i)
        to[i] = {silence};
    return got;
}}

int main(void)
{{
    static float window[{inputs}];
    size_t i, come, decided;
    for (i = 0; i < {before}; ++i)
        window[i] = {silence};
    come = next(window + {before}, {inputs} - {before});
    for (decided = 0; (decided + 1) * {stride} <= come; ++decided) {{
        if (putchar({name}_decide(window, NULL)) == EOF)
            return 1;
        memmove(window, window + {stride}, ({inputs} - {stride}) * sizeof(float));
        come += next(window + {inputs} - {stride}, {stride});
    }}
    return fflush(stdout) != 0 || ferror(stdin) != 0;
}}
#endif
"""


def identifier(stem: str) -> str:
    """A C identifier of a file's stem, with which all names of the file begin."""
    name = re.sub(r"\W", "_", stem, flags=re.ASCII)
    return name if re.match("[A-Za-z]", name) else f"adann_{name}"


def c_source(frozen: Frozen, stem: str) -> dict[str, str]:
    """The contents of `stem`.c and `stem`.h by file name. A window and what is decided of it are float."""
    model, name = frozen.model, identifier(stem)
    classes, layers = model.constellation.size, frozen.layers
    windows = frozen.golden_windows()
    logits = _logits(layers, windows)
    tables, calls, buffers = [], [], ["even", "odd"]
    for k, (weights, biases) in enumerate(layers):
        tables += [_table(f"weights_{k}", weights.ravel()), _table(f"biases_{k}", biases)]
        outputs, inputs = weights.shape
        x, y = (buffers[k % 2], buffers[1 - k % 2])
        calls.append(f"    layer(weights_{k}, biases_{k}, {inputs}, {outputs}, "
                     f"{int(k + 1 < len(layers))}, {x}, {y});")
    if frozen.scaled:
        tables.append(_table("mean", frozen.offset))
    mean = "mean[i & 1]" if model.complex else "mean[0]"
    fields = {
        "title": _title(frozen), "version": core.__version__, "name": name, "NAME": name.upper(),
        "file": f"{stem}.c", "header": f"{stem}.h", "classes": classes, "inputs": frozen.inputs,
        "stride": frozen.stride, "sps": model.sps, "window": 2 * model.half_window + 1,
        "parts": ", I and Q" if model.complex else "",
        "before": frozen.floats_before, "golden": len(windows), "tolerance": _TOLERANCE,
        "expected": "Samples come as they\n * were recorded: mean and rms are taken off here."
        if frozen.scaled else "Samples are expected\n * with zero mean and unit power.",
        "tables": "\n".join(tables), "calls": "\n".join(calls),
        "buffers": ", ".join(f"{buffer}[{max(frozen.inputs, *model.network.sizes)}]"
                             for buffer in buffers),
        "last": buffers[len(layers) % 2],
        "normalized": f"(window[i] - {mean}) * {_number(1 / frozen.rms)}" if frozen.scaled else "window[i]",
        "silence": mean if frozen.scaled else "0",
        "golden_tables": "\n".join((
            _rows("golden_windows", frozen.as_they_come(windows)), _rows("golden_logits", logits),
            f"static const unsigned char golden_labels[] = {{\n    "
            f"{', '.join(map(str, logits.argmax(1)))}\n}};\n"))}
    return {f"{stem}.c": _SOURCE.format(**fields), f"{stem}.h": _HEADER.format(**fields)}


def _title(frozen):
    model = frozen.model
    sizes = "-".join(map(str, model.network.sizes))
    return f"Equalizer for {model.constellation.name}, a network of {sizes} neurons."


def _logits(layers, windows):
    x = windows.astype(np.float64)
    for k, (weights, biases) in enumerate(layers):
        x = (np.maximum(x, 0) if k else x) @ weights.T.astype(np.float64) + biases
    return x.astype(np.float32)


def _number(value: float) -> str:
    text = f"{np.float32(value):.9g}"
    return f"{text}f" if re.search("[.e]", text) else f"{text}.0f"


def _values(values, indent):
    texts = [_number(each) for each in values]
    lines = [", ".join(texts[start:start + 8]) for start in range(0, len(texts), 8)]
    return (",\n" + indent).join(lines)


def _table(name: str, values: npt.NDArray[np.float32]) -> str:
    return f"static const float {name}[] = {{\n    {_values(values, '    ')}\n}};\n"


def _rows(name, rows):
    inner = ",\n".join(f"    {{ {_values(row, '      ')} }}" for row in rows)
    return f"static const float {name}[][{rows.shape[1]}] = {{\n{inner}\n}};\n"
