/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cmath>

namespace gr::adann::core {

using json = nlohmann::json;

model::model(network net_,
             unsigned sps_,
             unsigned half_window_,
             bool complex_,
             const std::string& constellation_,
             std::string training_)
    : net(std::move(net_)),
      window(sps_, half_window_, complex_),
      sps(sps_),
      half_window(half_window_),
      complex(complex_),
      symbols(constellation_),
      training(std::move(training_))
{
    if (net.inputs() != window.dimension())
        refuse("network input size",
               net.inputs(),
               std::to_string(window.dimension()) + " for sps " + std::to_string(sps) +
                   ", half_window " + std::to_string(half_window) +
                   (complex ? ", complex samples" : ", float samples"));
    if (net.outputs() != symbols.size())
        refuse("network output size",
               net.outputs(),
               std::to_string(symbols.size()) + " for " + symbols.name());
    if (symbols.is_complex() && !complex)
        refuse("constellation", symbols.name(), "a real one for float samples");
}

void model::set_waveform(const expected_waveform& learnt)
{
    try {
        expected_waveform own(symbols,
                              sps,
                              complex,
                              learnt.affine_reach(),
                              learnt.context(),
                              learnt.polynomial().memory());
        own.set(learnt.affine(),
                learnt.table(),
                learnt.noise(),
                learnt.noise_correlation(),
                learnt.polynomial().coefficients());
        own.set_probabilities(learnt.probabilities());
        if (own == learnt) {
            waveform = std::move(own);
            return;
        }
    } catch (const std::invalid_argument&) { // of another size, too
    }
    refuse("waveform",
           "of another signal",
           "one of " + symbols.name() + ", sps " + std::to_string(sps) +
               (complex ? ", complex samples" : ", float samples"));
}

void model::set_formats(const quantization& chosen)
{
    check_formats(net, chosen);
    formats = chosen;
}

namespace {

constexpr char format[] = "adann/1";
constexpr char format_with_waveform[] = "adann/2";
constexpr char format_with_quantization[] = "adann/3";
constexpr char format_with_polynomial[] = "adann/4";

std::string tensor_name(std::size_t layer, const char* what)
{
    return "layers." + std::to_string(layer) + "." + what;
}

unsigned whole_number(const tensor_file& file, const std::string& key)
{
    const std::string& text = file.text(key);
    if (text.empty() || text.size() > 6 ||
        text.find_first_not_of("0123456789") != text.npos)
        file.fail("has " + key + " '" + text + "', which is no number");
    return static_cast<unsigned>(std::stoul(text));
}

float number(
    const tensor_file& file, const std::string& key, float low, float high, float unknown)
{
    if (!file.metadata.count(key))
        return unknown;
    const std::string& text = file.text(key);
    const json value = json::parse(text, nullptr, false);
    if (!value.is_number() || !(value >= low && value <= high))
        file.fail("has " + key + " '" + text + "', allowed: " + json(low).dump() +
                  " to " + json(high).dump());
    return value;
}

network read_network(const tensor_file& file)
{
    std::vector<std::size_t> sizes;
    for (std::size_t k = 0; file.has(tensor_name(k, "weight")); ++k) {
        const auto shape = file.shape(tensor_name(k, "weight"), 2);
        if (k == 0)
            sizes.push_back(shape[1]);
        if (shape[1] != sizes.back())
            file.fail(tensor_name(k, "weight") + " has " + std::to_string(shape[1]) +
                      " inputs where the layer before has " +
                      std::to_string(sizes.back()) + " outputs");
        if (file.shape(tensor_name(k, "bias"), 1)[0] != shape[0])
            file.fail(tensor_name(k, "bias") + " does not fit its weight");
        sizes.push_back(shape[0]);
    }
    if (sizes.empty())
        file.fail("has no tensor " + tensor_name(0, "weight"));
    network net(sizes);
    for (std::size_t k = 0; k < net.layers().size(); ++k) {
        const auto& layer = net.layers()[k];
        float* p = net.parameters().data();
        file.floats(
            tensor_name(k, "weight"), p + layer.weights, layer.inputs * layer.outputs);
        file.floats(tensor_name(k, "bias"), p + layer.biases, layer.outputs);
    }
    return net;
}

// A float32 tensor of this shape; memory is allocated only after the file was checked for it.
std::vector<float> read_matrix(const tensor_file& file,
                               const std::string& name,
                               std::size_t rows,
                               std::size_t columns)
{
    if (file.shape(name, 2) != std::vector<std::size_t>{ rows, columns })
        file.fail(name + " does not have the shape (" + std::to_string(rows) + ", " +
                  std::to_string(columns) + ") of its reach, context and constellation");
    file.bytes(name, "F32", sizeof(float), rows * columns);
    std::vector<float> values(rows * columns);
    file.floats(name, values.data(), values.size());
    return values;
}

// Also reads files without the fifth degree, whose filters come last and are zero then.
std::vector<float> read_polynomial(const tensor_file& file, const memory_polynomial& of)
{
    const std::string name = "waveform.polynomial";
    const std::size_t fewer = of.unknowns() - memory_polynomial::fifth_degree * of.taps();
    if (of.planes() == 1 || file.shape(name, 2)[1] != fewer)
        return read_matrix(file, name, of.planes(), of.unknowns());
    const auto known = read_matrix(file, name, of.planes(), fewer);
    std::vector<float> values(of.planes() * of.unknowns());
    for (std::size_t plane = 0; plane < of.planes(); ++plane)
        std::copy_n(&known[plane * fewer], fewer, &values[plane * of.unknowns()]);
    return values;
}

void read_waveform(const tensor_file& file, model& loaded)
{
    const unsigned reach = whole_number(file, "waveform_reach");
    const unsigned context = whole_number(file, "waveform_context");
    const unsigned memory = file.metadata.count("waveform_memory")
                                ? whole_number(file, "waveform_memory")
                                : 0;
    const auto shape = expected_waveform::shape_of(
        loaded.symbols, loaded.sps, loaded.complex, reach, context);
    auto affine = read_matrix(file, "waveform.affine", shape.rows, shape.stride);
    auto table = read_matrix(file, "waveform.table", shape.patterns, shape.stride);
    const float noise = number(
        file, "waveform_noise", 1e-6f, 1000, 0); // fit_waveform() gives 1e-6 or more
    loaded.waveform.emplace(
        loaded.symbols, loaded.sps, loaded.complex, reach, context, memory);
    auto correlation =
        read_matrix(file, "waveform.noise", loaded.waveform->lags(), 1 + loaded.complex);
    std::vector<float> polynomial;
    if (memory) {
        const auto& p = loaded.waveform->polynomial();
        polynomial = read_polynomial(file, p);
    }
    loaded.waveform->set(std::move(affine),
                         std::move(table),
                         noise,
                         std::move(correlation),
                         std::move(polynomial));
    const std::string name = "waveform.probabilities";
    if (file.has(name))
        loaded.waveform->set_probabilities(
            read_matrix(file, name, loaded.symbols.size(), 1));
}

std::vector<int> read_exponents(const tensor_file& file, const std::string& name)
{
    const std::size_t count = file.shape(name, 1)[0];
    const auto& bytes = file.bytes(name, "I32", sizeof(std::int32_t), count);
    std::vector<std::int32_t> values(count);
    std::copy_n(bytes.data(), bytes.size(), reinterpret_cast<char*>(values.data()));
    return { values.begin(), values.end() };
}

std::string exponents_name(std::size_t layer)
{
    return "quantization." + std::to_string(layer) + ".weights";
}

quantization read_formats(const tensor_file& file, const network& net)
{
    quantization formats{ whole_number(file, "quantization_bits"),
                          read_exponents(file, "quantization.values"),
                          {} };
    for (std::size_t k = 0; k < net.layers().size(); ++k)
        formats.weights.push_back(read_exponents(file, exponents_name(k)));
    return formats;
}

bool is_of_quantization(const std::string& name)
{
    return name.rfind("quantization.", 0) == 0;
}

bool is_of_waveform(const std::string& name) { return name.rfind("waveform.", 0) == 0; }

bool read_bool(const tensor_file& file, const std::string& name)
{
    const auto& found = file.text(name);
    if (found != "true" && found != "false")
        file.fail("has " + name + " '" + found + "', which is neither true nor false");
    return found == "true";
}

model read_model(tensor_file file)
{
    const auto& found = file.text("format");
    if (found != format && found != format_with_waveform &&
        found != format_with_quantization && found != format_with_polynomial)
        file.fail("has format '" + found + "', this program reads '" + format + "', '" +
                  format_with_waveform + "', '" + format_with_quantization + "' and '" +
                  format_with_polynomial + "'");
    const bool complex = read_bool(file, "complex");
    try {
        model loaded(read_network(file),
                     whole_number(file, "sps"),
                     whole_number(file, "half_window"),
                     complex,
                     file.text("constellation"),
                     file.text("training"));
        loaded.symbol_error_rate =
            number(file, "symbol_error_rate", 0, 1, loaded.symbol_error_rate);
        loaded.refined_symbol_error_rate = number(
            file, "refined_symbol_error_rate", 0, 1, loaded.refined_symbol_error_rate);
        loaded.refined_errors_per_doubt = number(file,
                                                 "refined_errors_per_doubt",
                                                 0.01f,
                                                 100,
                                                 loaded.refined_errors_per_doubt);
        loaded.temperature = number(file, "temperature", 0.05f, 20, 1);
        loaded.adapted_temperature = number(file, "adapted_temperature", 0.05f, 20, 1);
        loaded.calibrated =
            !file.metadata.count("calibrated") || read_bool(file, "calibrated");
        if (file.metadata.count("waveform_reach") ||
            std::any_of(file.tensors.begin(), file.tensors.end(), [](const auto& each) {
                return is_of_waveform(each.name);
            }))
            read_waveform(file, loaded);
        if (file.metadata.count("quantization_bits") ||
            std::any_of(file.tensors.begin(), file.tensors.end(), [](const auto& each) {
                return is_of_quantization(each.name);
            }))
            loaded.set_formats(read_formats(file, loaded.net));
        loaded.state.path = file.path;
        for (auto& each : file.tensors)
            if (each.name.rfind("layers.", 0) != 0 && !is_of_waveform(each.name) &&
                !is_of_quantization(each.name))
                loaded.state.tensors.push_back(std::move(each));
        return loaded;
    } catch (const std::invalid_argument& error) {
        file.fail(error.what());
    }
}

bool has_polynomial(const model& saved)
{
    return saved.waveform && saved.waveform->polynomial().memory();
}

tensor_file tensors_of(const model& saved)
{
    tensor_file file;
    file.metadata = {
        { "format",
          has_polynomial(saved) ? format_with_polynomial
          : saved.formats       ? format_with_quantization
          : saved.waveform      ? format_with_waveform
                                : format },
        { "sps", std::to_string(saved.sps) },
        { "half_window", std::to_string(saved.half_window) },
        { "complex", saved.complex ? "true" : "false" },
        { "constellation", saved.symbols.text() },
        { "training", saved.training },
    };
    if (!std::isnan(saved.symbol_error_rate)) {
        file.metadata["symbol_error_rate"] = json(saved.symbol_error_rate).dump();
        file.metadata["temperature"] = json(saved.temperature).dump();
        file.metadata["adapted_temperature"] = json(saved.adapted_temperature).dump();
        file.metadata["calibrated"] = saved.calibrated ? "true" : "false";
    }
    if (!std::isnan(saved.refined_symbol_error_rate))
        file.metadata["refined_symbol_error_rate"] =
            json(saved.refined_symbol_error_rate).dump();
    if (!std::isnan(saved.refined_errors_per_doubt))
        file.metadata["refined_errors_per_doubt"] =
            json(saved.refined_errors_per_doubt).dump();
    const auto add = [&](const std::string& name,
                         std::vector<std::size_t> shape,
                         const float* values,
                         std::size_t count) {
        const auto* bytes = reinterpret_cast<const char*>(values);
        file.tensors.push_back(
            { name, "F32", std::move(shape), { bytes, count * sizeof(float) } });
    };
    for (std::size_t k = 0; k < saved.net.layers().size(); ++k) {
        const auto& layer = saved.net.layers()[k];
        const float* values = saved.net.parameters().data();
        add(tensor_name(k, "weight"),
            { layer.outputs, layer.inputs },
            values + layer.weights,
            layer.inputs * layer.outputs);
        add(tensor_name(k, "bias"),
            { layer.outputs },
            values + layer.biases,
            layer.outputs);
    }
    if (saved.waveform) {
        const auto& w = *saved.waveform;
        file.metadata["waveform_reach"] = std::to_string(w.affine_reach());
        file.metadata["waveform_context"] = std::to_string(w.context());
        file.metadata["waveform_noise"] = json(w.noise()).dump();
        add("waveform.affine",
            { w.rows(), w.stride() },
            w.affine().data(),
            w.affine().size());
        add("waveform.table",
            { w.patterns(), w.stride() },
            w.table().data(),
            w.table().size());
        add("waveform.noise",
            { w.lags(), 1u + w.is_complex() },
            w.noise_correlation().data(),
            w.noise_correlation().size());
        if (!w.has_equal_probabilities())
            add("waveform.probabilities",
                { w.classes(), 1 },
                w.probabilities().data(),
                w.probabilities().size());
        if (has_polynomial(saved)) {
            const auto& p = w.polynomial();
            file.metadata["waveform_memory"] = std::to_string(p.memory());
            add("waveform.polynomial",
                { p.planes(), p.unknowns() },
                p.coefficients().data(),
                p.coefficients().size());
        }
    }
    if (saved.formats) {
        file.metadata["quantization_bits"] = std::to_string(saved.formats->bits);
        const auto add_exponents = [&](const std::string& name,
                                       const std::vector<int>& exponents) {
            const std::vector<std::int32_t> values(exponents.begin(), exponents.end());
            file.tensors.push_back({ name,
                                     "I32",
                                     { values.size() },
                                     { reinterpret_cast<const char*>(values.data()),
                                       values.size() * sizeof(std::int32_t) } });
        };
        add_exponents("quantization.values", saved.formats->values);
        for (std::size_t k = 0; k < saved.formats->weights.size(); ++k)
            add_exponents(exponents_name(k), saved.formats->weights[k]);
    }
    file.tensors.insert(
        file.tensors.end(), saved.state.tensors.begin(), saved.state.tensors.end());
    return file;
}

} // namespace

model load_model(const std::string& path) { return read_model(tensor_file::load(path)); }

model parse_model(const std::string& contents, const std::string& name)
{
    return read_model(tensor_file::parse(contents, name));
}

std::string model_contents(const model& saved) { return tensors_of(saved).contents(); }

void save_model(const std::string& path, const model& saved)
{
    tensors_of(saved).save(path);
}

} // namespace gr::adann::core
