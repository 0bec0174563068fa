# SPDX-License-Identifier: GPL-3.0-or-later
"""Networks from elsewhere: torch's state dicts and ONNX graphs, against torch and onnxruntime."""

import json
import struct
import tracemalloc

import numpy as np
import onnx
import pytest
import torch
from gnuradio.adann import core
from gnuradio.adann.export.frozen import Frozen
from gnuradio.adann.export.network_file import import_network, read_network
from gnuradio.adann.export.onnx_file import onnx_contents
from onnx import helper, numpy_helper
from safetensors.torch import save_file

SIZES = 14, 6, 6, 4


@pytest.fixture(scope="module")
def module():
    torch.manual_seed(1)
    layers = []
    for inputs, outputs in zip(SIZES, SIZES[1:]):
        layers += [torch.nn.Linear(inputs, outputs), torch.nn.ReLU()]
    return torch.nn.Sequential(*layers[:-1])


@pytest.fixture(scope="module")
def windows():
    return np.random.default_rng(2).standard_normal((1000, SIZES[0])).astype(np.float32)


def decided_by_torch(module, windows):
    with torch.no_grad():
        return torch.softmax(module(torch.from_numpy(windows)), 1).numpy()


def test_a_torch_module_s_state_dict(module, windows, tmp_path):
    save_file(module.state_dict(), tmp_path / "net.safetensors")
    network = read_network(tmp_path / "net.safetensors")
    assert network.sizes == list(SIZES)
    np.testing.assert_allclose(network.decide(windows)[1], decided_by_torch(module, windows), atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float64])
def test_other_floats(module, windows, tmp_path, dtype):
    state = {name: value.to(dtype) for name, value in module.state_dict().items()}
    save_file(state, tmp_path / "net.safetensors")
    np.testing.assert_allclose(read_network(tmp_path / "net.safetensors").decide(windows)[1],
                               decided_by_torch(module, windows), atol=2e-3)


def test_layers_are_ordered_by_their_numbers(tmp_path):
    """10 behind 9."""
    sizes = [14, *range(24, 13, -1), 4]
    state = {f"{k}.weight": torch.randn(outputs, inputs)
             for k, (inputs, outputs) in enumerate(zip(sizes, sizes[1:]))}
    save_file(state, tmp_path / "net.safetensors")
    network = read_network(tmp_path / "net.safetensors")
    assert network.sizes == sizes and not network.bias(3).any()


def graph(nodes, constants, inputs=("x",), output="y"):
    floats = onnx.TensorProto.FLOAT
    return helper.make_model(helper.make_graph(
        nodes, "net", [helper.make_tensor_value_info(name, floats, ["n", SIZES[0]]) for name in inputs],
        [helper.make_tensor_value_info(output, floats, ["n", SIZES[-1]])],
        [numpy_helper.from_array(value, name) for name, value in constants.items()]))


def layers_of(module):
    return [(layer.weight.detach().numpy(), layer.bias.detach().numpy()) for layer in module[::2]]


def chain(module, style):
    nodes, constants, x = [], {}, "x"
    for k, (weights, biases) in enumerate(layers_of(module)):
        constants |= {f"w{k}": weights if style == "transB" else np.ascontiguousarray(weights.T), f"b{k}": biases}
        if style == "MatMul":
            nodes += [helper.make_node("MatMul", [x, f"w{k}"], [f"m{k}"]),
                      helper.make_node("Add", [f"b{k}", f"m{k}"], [f"l{k}"])]
        else:
            nodes.append(helper.make_node("Gemm", [x, f"w{k}", f"b{k}"], [f"l{k}"], transB=int(style == "transB")))
        x = f"l{k}"
        if k + 2 < len(SIZES):
            nodes.append(helper.make_node("Relu", [x], [f"r{k}"]))
            x = f"r{k}"
    return [*nodes, helper.make_node("Softmax", [x], ["y"])], constants


@pytest.mark.parametrize("style", ["transB", "Gemm", "MatMul"])
def test_onnx_chains(module, windows, tmp_path, style):
    onnx.save(graph(*chain(module, style)), str(tmp_path / "net.onnx"))
    np.testing.assert_allclose(read_network(tmp_path / "net.onnx").decide(windows)[1],
                               decided_by_torch(module, windows), atol=1e-6)


def changed(module, case):
    nodes, constants = chain(module, "transB")
    if case == "no Relu":
        nodes[2].input[0] = "l0"
        del nodes[1]
    elif case == "Sigmoid":
        nodes[1].op_type = "Sigmoid"
    elif case == "residual":
        nodes.insert(3, helper.make_node("Add", ["l1", "l0"], ["sum"]))
        nodes[4].input[0] = "sum"
    elif case == "computed":
        constants.pop("w1")
        nodes.insert(0, helper.make_node("RandomNormal", [], ["w1"], shape=[6, 6]))
    elif case == "scaled":
        nodes[0].attribute.append(helper.make_attribute("alpha", 2.0))
    elif case == "behind":
        nodes[-1].output[0] = "s"
        nodes.append(helper.make_node("Relu", ["s"], ["y"]))
    elif case == "infinite":
        constants["b1"] = np.full(6, np.inf, np.float32)
    elif case == "narrow":
        constants["w1"] = np.ones((6, 5), np.float32)
    elif case == "huge":
        constants["w1"] = np.full((6, 6), 1e300)
    elif case == "domain":
        nodes[0].domain = "com.example"
    elif case == "twice itself":
        nodes[-2:] = [helper.make_node("MatMul", ["r1", "m"], ["h"]), helper.make_node("Add", ["h", "h"], ["y"])]
        constants["m"] = np.ones((6, 4), np.float32)
    elif case == "own bias":
        nodes[0].input[2] = "x"
    elif case == "swapped":
        nodes[0].input[:2] = [nodes[0].input[1], "x"]
    elif case == "upright bias":
        constants["b1"] = np.ones((6, 1), np.float32)
    elif case == "other axis":
        nodes[-1].attribute.append(helper.make_attribute("axis", 0))
    elif case == "wide input":
        made = graph(nodes, constants)
        shape = made.graph.input[0].type.tensor_type.shape
        for size in 1, 15:
            shape.dim.add().dim_value = size
        del shape.dim[:-2]
        return made
    elif case == "reshaped":
        constants["s"] = np.array([7, 2])
        nodes.insert(0, helper.make_node("Reshape", ["x", "s"], ["x2"]))
        nodes[1].input[0] = "x2"
    elif case == "negative":
        made = graph(nodes, constants)
        made.graph.initializer[0].dims[0] = -1
        return made
    elif case == "none":
        return graph([helper.make_node("Softmax", ["x"], ["y"])], {})
    elif case == "two":
        return graph(nodes, constants, ("x", "z"))
    return graph(nodes, constants)


@pytest.mark.parametrize("shapes", [[[-1, 14]], [[1, 14]], [[0, -1]], [[-1, 7, 2], [-1, 14]]])
def test_shapes_that_keep_the_windows_are_passed_over(module, windows, tmp_path, shapes):
    nodes, constants = chain(module, "transB")
    for k, shape in enumerate(shapes):
        constants[f"s{k}"] = np.array(shape)
        nodes.insert(k, helper.make_node("Reshape", [f"x{k}" if k else "x", f"s{k}"], [f"x{k + 1}"]))
    nodes[len(shapes)].input[0] = f"x{len(shapes)}"
    onnx.save(graph(nodes, constants), str(tmp_path / "net.onnx"))
    np.testing.assert_allclose(read_network(tmp_path / "net.onnx").decide(windows)[1],
                               decided_by_torch(module, windows), atol=1e-6)


@pytest.mark.parametrize("case, said", [
    ("no Relu", "no Relu before Gemm"), ("Sigmoid", "Sigmoid r0, allowed: Gemm, MatMul, Add, Relu, Softmax"),
    ("residual", "Add sum is not part of a chain"), ("computed", "RandomNormal w1 is not part of a chain"),
    ("scaled", "is scaled"), ("behind", "after a Softmax"), ("infinite", "not finite"),
    ("huge", "not finite as float32"), ("domain", "Gemm l0 is of the domain 'com.example', allowed: ONNX's own"),
    ("twice itself", "Add y is not part of a chain"), ("own bias", "Gemm l0 is not part of a chain"),
    ("swapped", "Gemm l0, allowed: what comes, times constant weights"),
    ("upright bias", "6 outputs and biases of shape (6, 1)"), ("other axis", "allowed: Gemm, MatMul"),
    ("wide input", "layer l0 has 14 inputs where 15 values come"),
    ("reshaped", "layer l0 has 14 inputs where 2 values come"),
    ("negative", "tensor w0 has the shape [-1, 14], allowed: 0 and above"),
    ("narrow", "has 5 inputs where 6 values come"), ("none", "no fully-connected layer"), ("two", "has 2 inputs")])
def test_other_graphs_are_refused_by_one_sentence(module, tmp_path, case, said):
    (tmp_path / "net.onnx").write_bytes(changed(module, case).SerializeToString())
    with pytest.raises(ValueError) as told:
        read_network(tmp_path / "net.onnx")
    assert said in str(told.value) and str(told.value).startswith(f"{tmp_path / 'net.onnx'}: ")
    assert "\n" not in str(told.value)


def test_tensors_in_other_files_are_not_opened(module, tmp_path):
    made = graph(*chain(module, "transB"))
    onnx.external_data_helper.set_external_data(made.graph.initializer[0], "/etc/hostname")
    made.graph.initializer[0].ClearField("raw_data")
    (tmp_path / "net.onnx").write_bytes(made.SerializeToString())
    with pytest.raises(ValueError, match="lies in another file"):
        read_network(tmp_path / "net.onnx")


def test_what_export_writes_is_no_chain_of_fully_connected_layers(pam4, tmp_path):
    (tmp_path / "net.onnx").write_bytes(onnx_contents(Frozen(pam4)))
    with pytest.raises(ValueError, match="allowed: Gemm"):
        read_network(tmp_path / "net.onnx")


def safetensors(header, data=b""):
    text = json.dumps(header).encode() if isinstance(header, dict) else header
    return struct.pack("<Q", len(text)) + text + data


@pytest.mark.parametrize("contents, said", [
    (b"", "empty"), (b"\x80\x02}q\x00.", "no state dict"), (safetensors({}), "no fully-connected layer"),
    (safetensors(b"[1]"), "no state dict"), (safetensors(b"[" * 100_000), "no state dict"),
    (safetensors({"0.weight": 1}), "no state dict"),
    (safetensors({"0.weight": {"dtype": "I8", "shape": [2, 2], "data_offsets": [0, 4]}}, bytes(4)), "type I8"),
    (safetensors({"0.weight": {"dtype": "F32", "shape": [2, 2], "data_offsets": [0, 16]}}, bytes(15)), "does not fit"),
    (safetensors({"0.weight": {"dtype": "F32", "shape": [2, -2], "data_offsets": [0, 16]}}, bytes(16)), "does not fit"),
    (safetensors({"0.weight": {"dtype": "F32", "shape": [2, 2, 1], "data_offsets": [0, 16]}}, bytes(16)),
     "tensor 0.weight of 3 dimensions"),
    (safetensors({"0.bias": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}}, bytes(8)), "tensor 0.bias"),
    (safetensors({"0.weight": {"dtype": "F32", "shape": [1, 3], "data_offsets": [0, 12]}}, bytes(12)),
     "size of the last layer is 1")])
def test_damaged_state_dicts_are_refused_by_one_sentence(tmp_path, contents, said):
    path = tmp_path / "net.safetensors"
    path.write_bytes(contents)
    with pytest.raises(ValueError) as told:
        read_network(path)
    assert said in str(told.value) and str(told.value).startswith(f"{path}: ") and "\n" not in str(told.value)


def tensor(shape, first=0):
    return {"dtype": "F32", "shape": shape, "data_offsets": [first, first + 4 * int(np.prod(shape))]}


def test_a_state_dict_is_not_copied_for_each_of_its_tensors(tmp_path):
    """16 MiB that belong to no tensor, 50 layers: 1.6 GB of copies before."""
    header, place = {}, 0
    for layer, (inputs, outputs) in enumerate(zip([14] + 49 * [2], 49 * [2] + [4])):
        for name, shape in ("weight", [outputs, inputs]), ("bias", [outputs]):
            header[f"{layer}.{name}"] = tensor(shape, place)
            place = header[f"{layer}.{name}"]["data_offsets"][1]
    (tmp_path / "net.safetensors").write_bytes(safetensors(header, bytes(place + (16 << 20))))
    tracemalloc.start()
    assert len(read_network(tmp_path / "net.safetensors").sizes) == 51
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert most < 32 << 20


def test_weights_that_are_used_twice_are_refused(tmp_path):
    """A small file cannot ask for much memory."""
    path = tmp_path / "net.safetensors"
    path.write_bytes(safetensors({f"{k}.weight": tensor([100, 100]) for k in range(60)}, bytes(40_000)))
    with pytest.raises(ValueError, match="net.safetensors: uses weights twice, allowed: a layer's own ones"):
        read_network(path)


@pytest.mark.parametrize("seed", range(40))
def test_a_damaged_onnx_file_is_refused_or_read(module, tmp_path, seed):
    """Never anything but a ValueError."""
    random = np.random.default_rng(seed)
    contents = bytearray(graph(*chain(module, "MatMul")).SerializeToString())
    for place in random.integers(0, len(contents), 8):
        contents[place] = random.integers(0, 256)
    (tmp_path / "net.onnx").write_bytes(contents[:random.integers(1, len(contents))] if seed % 2 else contents)
    try:
        read_network(tmp_path / "net.onnx")
    except ValueError as error:
        assert str(tmp_path) in str(error)


def test_pickles_are_not_opened(tmp_path):
    (tmp_path / "net.pt").write_bytes(b"cos\nsystem\n(S'false'\ntR.")
    with pytest.raises(ValueError, match="as safetensors.torch.save_file writes it"):
        read_network(tmp_path / "net.pt")


def test_with_a_record_the_model_is_what_training_makes(link):
    """All but the network's own training: error rate, temperature, waveform."""
    samples, labels = link.record(30_000, 5)
    weights = core.network(link.model.network.sizes)
    weights.parameters[:] = link.model.network.parameters
    made = import_network(weights, link.constellation, link.model.sps, link.model.half_window, "elsewhere",
                          samples, labels[7:])
    assert made.delay == 7 and made.symbols == labels.size - 7
    assert made.errors / made.symbols == pytest.approx(made.model.symbol_error_rate)
    assert made.model.waveform.noise == pytest.approx(link.model.waveform.noise, rel=0.05)
    assert made.model.complex == link.model.complex


def test_a_window_of_another_size_is_refused(pam4):
    with pytest.raises(ValueError, match="has 14 inputs, allowed: 10 of real and 20 of complex samples"):
        import_network(pam4.network, pam4.constellation, 2, 2, "")
