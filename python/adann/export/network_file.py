# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks that were trained elsewhere: fully-connected layers from ONNX files and torch state dicts.

Files of strangers: nothing in them is executed, no other file is opened, and what is not a chain of
fully-connected layers with ReLU between them is refused by one sentence.
"""

from __future__ import annotations

import json
import math
import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from .. import core
from ..captures.alignment import find_delay
from ..captures.files import check_file, first_line
from ..captures.statistics import normalized
from ..offline.calibration import calibrate
from ..offline.training import feature_view, fit_waveform
from .onnx_file import import_onnx

_MOST_BYTES = 2**28
_TYPES = {"F64": "<f8", "F32": "<f4", "F16": "<f2"}
_IDLE = {"Identity", "Flatten", "Reshape", "Squeeze", "Unsqueeze", "Dropout"}  # they keep the order


def read_network(path: str | Path) -> core.network:
    """core.network of a .onnx file, or of the state dict of a torch module as
    safetensors.torch.save_file writes it.

    ONNX: Gemm, or MatMul and Add, with Relu between them and, if there is one, a Softmax at the end. A
    state dict: NAME.weight (outputs, inputs) and NAME.bias, the layers in the order of their names,
    numbers as numbers; that ReLU is between them it does not contain.
    Raises ValueError for what is missing, damaged or anything else; ImportError without onnx.
    """
    path = Path(path)
    if path.suffix not in (".onnx", ".safetensors"):
        raise ValueError(f"{path}: allowed: .onnx, or a state dict as safetensors.torch.save_file writes it, "
                         ".safetensors")
    if check_file(path) > _MOST_BYTES:
        raise ValueError(f"{path}: larger than {_MOST_BYTES >> 20} MiB")
    try:
        layers = _read_onnx(path) if path.suffix == ".onnx" else _read_state_dict(path)
        if sum(weights.nbytes for _, weights, _ in layers) > path.stat().st_size:
            raise ValueError("uses weights twice, allowed: a layer's own ones")
        return _network(layers)
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from error


def _network(layers):
    """Of [name, weights (outputs, inputs), biases or None]."""
    if not layers:
        raise ValueError("has no fully-connected layer")
    sizes = [layers[0][1].shape[1]]
    for name, weights, biases in layers:
        if weights.shape[1] != sizes[-1]:
            raise ValueError(f"layer {name} has {weights.shape[1]} inputs where {sizes[-1]} values come")
        if biases is not None and (biases.size not in (1, len(weights))
                                   or biases.shape[-1:] not in ((biases.size,), ())):
            raise ValueError(f"layer {name} has {len(weights)} outputs and biases of shape {biases.shape}")
        sizes.append(len(weights))
    network = core.network(sizes)
    for k, (name, weights, biases) in enumerate(layers):
        with np.errstate(over="ignore"):
            network.weight(k)[:] = weights
            network.bias(k)[:] = 0 if biases is None else biases.ravel()
        if not (np.isfinite(network.weight(k)).all() and np.isfinite(network.bias(k)).all()):
            raise ValueError(f"layer {name} has weights that are not finite as float32")
    return network


def _read_onnx(path):
    onnx = import_onnx()
    try:
        graph = onnx.load(str(path), load_external_data=False).graph
    except Exception as error:  # protobuf's own exceptions, of several kinds
        raise ValueError(f"no ONNX file: {first_line(error)}") from error
    values = _constants(onnx, graph)
    streams = [each for each in graph.input if each.name not in values]
    if len(streams) != 1:
        raise ValueError(f"has {len(streams)} inputs, allowed: 1")
    stream, layers, ended, rectified = streams[0].name, [], False, True
    dimensions = [each.dim_value for each in streams[0].type.tensor_type.shape.dim][1:]  # 0: not given
    width = math.prod(dimensions) if dimensions and all(dimensions) else None  # values that come, where it is given
    for node in graph.node:
        if node.domain not in ("", "ai.onnx"):
            raise ValueError(f"{node.op_type} {_named(node)} is of the domain {node.domain!r:.60}, allowed: ONNX's own")
        kind, constants = node.op_type, [values.get(name) for name in node.input if name != stream]
        if kind == "Constant":
            continue
        if list(node.input).count(stream) != 1 or (kind not in _IDLE and any(each is None for each in constants)):
            raise ValueError(f"{kind} {_named(node)} is not part of a chain of fully-connected layers")
        if ended and kind not in _IDLE:
            raise ValueError(f"{kind} {_named(node)} after a Softmax, which has to be the last layer")
        attributes = {each.name: onnx.helper.get_attribute_value(each) for each in node.attribute}
        if kind in ("Gemm", "MatMul"):
            if not rectified:
                raise ValueError(f"no Relu before {kind} {_named(node)}")
            layers.append([_named(node), *_layer(node, stream, constants, attributes)])
            if width not in (None, layers[-1][1].shape[1]):
                raise ValueError(f"layer {_named(node)} has {layers[-1][1].shape[1]} inputs where {width} values come")
            rectified, width = False, None
        elif kind == "Add" and len(constants) == 1 and layers and layers[-1][2] is None and not rectified:
            layers[-1][2] = constants[0]
        elif kind == "Relu" and layers and not rectified:
            rectified = True
        elif kind in ("Softmax", "LogSoftmax") and attributes.get("axis", -1) in (1, -1):
            ended = True
        elif kind not in _IDLE:
            raise ValueError(f"{kind} {_named(node)}, allowed: Gemm, MatMul, Add, Relu, Softmax over the last axis")
        elif kind == "Reshape":
            width = _row(constants[0])
        elif kind == "Flatten":
            width = None
        stream = node.output[0]
    if rectified and layers:
        raise ValueError("ends with a Relu, allowed: a fully-connected layer or a Softmax")
    if [each.name for each in graph.output] != [stream]:
        raise ValueError(f"has {len(graph.output)} outputs that are not those of its last node")
    return layers


def _row(shape):
    """How long rows of this constant shape are; None: it is not given, or as long as what comes."""
    if shape is None or not shape.size or shape[-1] <= 0 and all(each in (-1, 0, 1) for each in shape[:-1]):
        return None
    return max(0, int(shape[-1]))


def _named(node):
    return node.name or node.output[0]


def _constants(onnx, graph):
    tensors = [(each.name, each) for each in graph.initializer]
    tensors += [(node.output[0], attribute.t) for node in graph.node if node.op_type == "Constant"
                for attribute in node.attribute if attribute.name == "value"]
    values = {}
    for name, tensor in tensors:
        if tensor.data_location == onnx.TensorProto.EXTERNAL:
            raise ValueError(f"tensor {name} lies in another file, allowed: all in one")
        if any(size < 0 for size in tensor.dims):
            raise ValueError(f"tensor {name} has the shape {list(tensor.dims)}, allowed: 0 and above")
        try:
            values[name] = onnx.numpy_helper.to_array(tensor)
        except Exception as error:  # TypeError, ValueError, struct.error, ... of what is damaged
            raise ValueError(f"tensor {name} is damaged: {first_line(error)}") from error
    return values


def _layer(node, stream, constants, attributes):
    """Weights (outputs, inputs) and biases, or None, of a node."""
    if not constants or node.input[0] != stream:
        raise ValueError(f"{node.op_type} {_named(node)}, allowed: what comes, times constant weights")
    weights, biases = constants[0], constants[1] if len(constants) > 1 else None
    if weights.dtype.kind != "f":
        raise ValueError(f"weights of {_named(node)} are {weights.dtype}, allowed: floats")
    if weights.ndim != 2:
        raise ValueError(f"weights of {_named(node)} have {weights.ndim} dimensions, allowed: 2")
    if node.op_type == "MatMul":
        if len(constants) != 1:
            raise ValueError(f"MatMul {_named(node)} of {len(node.input)} inputs, allowed: 2")
        return weights.T, None
    alike = {"alpha": 1.0, "beta": 1.0, "transA": 0}
    if any(attributes.get(each, value) != value for each, value in alike.items()):
        raise ValueError(f"Gemm {_named(node)} is scaled, allowed: alpha 1, beta 1, transA 0")
    return (weights if attributes.get("transB", 0) else weights.T), biases


def _read_state_dict(path):
    contents = memoryview(path.read_bytes())
    length = int.from_bytes(contents[:8], "little")
    try:
        header = json.loads(bytes(contents[8:8 + length]))
        tensors = {name: _tensor(each, contents[8 + length:]) for name, each in header.items()
                   if name != "__metadata__"}
    except (ValueError, TypeError, KeyError, AttributeError, RecursionError) as error:
        raise ValueError(f"no state dict in a safetensors file: {first_line(error)}") from error
    layers = []
    for name in sorted(tensors, key=lambda name: [int(part) if part.isdigit() else part
                                                  for part in re.split(r"(\d+)", name)]):
        layer, _, kind = name.rpartition(".")
        if kind == "weight" and tensors[name].ndim == 2:
            layers.append([layer, tensors[name], tensors.get(f"{layer}.bias")])
        elif kind != "bias" or f"{layer}.weight" not in tensors:
            raise ValueError(f"tensor {name} of {tensors[name].ndim} dimensions, allowed: NAME.weight of 2 and "
                             "NAME.bias of fully-connected layers")
    return layers


def _tensor(entry, data):
    kind, shape, (start, end) = entry["dtype"], entry["shape"], entry["data_offsets"]
    if kind not in _TYPES:
        raise ValueError(f"numbers of type {kind}, allowed: {', '.join(_TYPES)}")
    dtype = np.dtype(_TYPES[kind])
    if not all(type(each) is int and each >= 0 for each in (*shape, start, end)) or not (
            end <= len(data) and end - start == dtype.itemsize * math.prod(shape)):
        raise ValueError(f"shape {shape} does not fit the bytes {start} to {end} of {len(data)}")
    return np.frombuffer(data, dtype, math.prod(shape), start).reshape(shape)


@dataclass
class Imported:
    """model: core.model. delay: of the labels, see alignment.find_delay, and errors: symbols that the network
    decides differently of `symbols`; 0 where no record was given."""

    model: core.model
    delay: int = 0
    errors: int = 0
    symbols: int = 0


def import_network(network: core.network, constellation: core.constellation, sps: int,
                   half_window: int, source: str, samples: npt.NDArray | None = None,
                   labels: npt.NDArray[np.uint8] | None = None) -> Imported:
    """The model of a network that takes windows of normalised samples as core.model's takes them.

    sps, half_window: as of core.model; complex samples are those of twice as many inputs. source: what
    the model says of its training. samples: float32 or complex64 (n,), a record at sps, and labels:
    uint8 (m,), those sent: the network's error rate, its temperatures and the expected waveform are learnt
    from them, which adaptation needs. Raises ValueError for what does not fit together.
    """
    window = sps * (2 * half_window + 1)
    if network.sizes[0] not in (window, 2 * window):
        raise ValueError(f"the network has {network.sizes[0]} inputs, allowed: {window} of real and "
                         f"{2 * window} of complex samples, for sps {sps} and half_window {half_window}")
    model = core.model(network, sps, half_window, network.sizes[0] != window, constellation, source)
    if samples is None or labels is None:
        return Imported(model)
    if np.iscomplexobj(samples) != model.complex:
        raise ValueError(f"{'complex' if np.iscomplexobj(samples) else 'real'} samples, the network "
                         f"has the inputs of {'complex' if model.complex else 'real'} ones")
    samples = normalized(samples)
    delay = find_delay(samples, labels, constellation.points, sps)
    features = feature_view(samples, sps, half_window)[max(0, delay):labels.size + delay]
    labels = labels[max(0, -delay):][:len(features)]
    errors = int(np.count_nonzero(network.decide(features)[0] != labels))
    model.waveform = fit_waveform(model, features, labels)
    calibrate(model, features, labels)
    return Imported(model, delay, errors, labels.size)
