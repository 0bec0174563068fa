# SPDX-License-Identifier: GPL-3.0-or-later
"""A model as an ONNX network: frames of samples in, posteriors out.

A frame is the samples of one symbol, so that GNU Radio 4's ONNX block, which keeps a history of
frames, runs the file as it is: it reads the frame's size and the history's depth from the metadata
(fair-acc/gnuradio4, blocks/onnx/README.md). The first layer is a convolution over frames, which takes
the windows; those after it are convolutions over single symbols.
"""

from __future__ import annotations

import numpy as np

from .frozen import Frozen

_OPSET, _IR_VERSION = 13, 8  # those of Debian 12's onnx are enough


def import_onnx() -> object:
    """The package onnx. Raises ImportError of one sentence if it is not there."""
    try:
        import onnx
    except ImportError as error:
        raise ImportError("ONNX files need the package onnx: apt-get install python3-onnx, or "
                          f"pip install onnx ({error})") from error
    return onnx


def onnx_contents(frozen: Frozen) -> bytes:
    """The contents of the .onnx file.

    Input `samples`, float32 (1, frames, floats of a symbol), complex ones as I, Q. Frame i holds the
    samples from i*sps - sps // 2 on, a sample of each channel in turn. Output `posteriors`, float32
    (1, frames - 2*half_window, M): those of symbols half_window, half_window + 1, …; of several
    transmitters (1, frames - 2*half_window, outputs, M). Raises ImportError without the package onnx.
    """
    onnx = import_onnx()
    helper, model = onnx.helper, frozen.model
    width, frames = frozen.stride, 2 * model.half_window + 1
    nodes: list = []
    constants: list = []

    def add(kind, name, *values, **attributes):
        names = [f"{name}.{number}" for number, _ in enumerate(values)]
        constants.extend(onnx.numpy_helper.from_array(value, each)
                         for value, each in zip(values, names))
        last = nodes[-1].output[0] if nodes else "samples"
        nodes.append(helper.make_node(kind, [last, *names], [name], name=name, **attributes))

    if frozen.scaled:
        add("Sub", "without_mean", np.tile(frozen.offset, model.sps))
        add("Div", "normalized", np.tile(frozen.scale, model.sps))
    add("Transpose", "by_position", perm=[0, 2, 1])
    for k, (weights, biases) in enumerate(frozen.layers):
        # (outputs, frames, floats) → (outputs, channels, kernel)
        kernels = weights.reshape(len(weights), frames, width).transpose(0, 2, 1)
        add("Conv", f"layers.{k}", np.ascontiguousarray(kernels), biases)
        frames, width = 1, len(weights)
        if k + 1 < len(frozen.layers):
            add("Relu", f"layers.{k}.relu")
    add("Transpose", "by_symbol", perm=[0, 2, 1])
    shape = [1, "symbols", model.constellation.size]
    if frozen.outputs > 1:
        shape[2:] = [frozen.outputs, model.constellation.size]
        add("Reshape", "by_output", np.array([0, 0, *shape[2:]], np.int64))
    add("Softmax", "posteriors", axis=len(shape) - 1)
    floats = onnx.TensorProto.FLOAT
    made = helper.make_model(
        helper.make_graph(
            nodes, "adann",
            [helper.make_tensor_value_info("samples", floats, [1, "frames", frozen.stride])],
            [helper.make_tensor_value_info("posteriors", floats, shape)], constants),
        producer_name="gr-adann", opset_imports=[helper.make_opsetid("", _OPSET)],
        ir_version=_IR_VERSION)
    helper.set_model_props(made, {
        "input_size": str(frozen.stride), "history_depth": str(2 * model.half_window + 1),
        "normalise_mode": "None", "architecture": "adann", "sps": str(model.sps),
        "half_window": str(model.half_window), "channels": str(frozen.channels),
        "outputs": str(frozen.outputs), "complex": str(model.complex).lower(),
        "constellation": model.constellation.text, "training": model.training})
    onnx.checker.check_model(made)
    return made.SerializeToString()
