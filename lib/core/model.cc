/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/model.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <vector>

#include <sys/stat.h>
#include <unistd.h>

// The file holds little-endian numbers and they are copied as they are.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "needs a little-endian machine");

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
               std::to_string(symbols.size()) + " for " + constellation_);
    if (symbols.is_complex() && !complex)
        refuse("constellation", constellation_, "a real one for float samples");
}

namespace {

constexpr std::size_t largest_file = std::size_t{ 1 } << 30;
constexpr char format[] = "adann/1";

std::string tensor_name(std::size_t layer, const char* what)
{
    return "layers." + std::to_string(layer) + "." + what;
}

std::vector<char> read_file(const std::string& path)
{
    struct stat about;
    if (stat(path.c_str(), &about) != 0)
        throw model_file_error(path, std::strerror(errno));
    if (!S_ISREG(about.st_mode))
        throw model_file_error(path, "is not a file");
    if (static_cast<std::size_t>(about.st_size) > largest_file)
        throw model_file_error(path, "is larger than 1 GiB, so it is no model");
    std::vector<char> bytes(about.st_size);
    std::ifstream file(path, std::ios::binary);
    if (!file.read(bytes.data(), bytes.size()))
        throw model_file_error(path, "cannot be read");
    return bytes;
}

//! One safetensors file in memory; every access is checked, every error names the file.
class safetensors
{
public:
    explicit safetensors(const std::string& path) : d_path(path), d_bytes(read_file(path))
    {
        std::uint64_t length = 0;
        if (d_bytes.size() < sizeof length)
            fail("is truncated: " + std::to_string(d_bytes.size()) + " bytes");
        std::memcpy(&length, d_bytes.data(), sizeof length);
        if (length > d_bytes.size() - sizeof length)
            fail("is truncated, or not a safetensors file");
        d_data = sizeof length + length;
        d_header = json::parse(
            d_bytes.begin() + sizeof length, d_bytes.begin() + d_data, nullptr, false);
        if (!d_header.is_object())
            fail("is not a safetensors file: its header is no JSON object");
    }

    [[noreturn]] void fail(const std::string& reason) const
    {
        throw model_file_error(d_path, reason);
    }

    bool has(const std::string& name) const { return d_header.contains(name); }

    std::string metadata(const std::string& key) const
    {
        const auto all = d_header.find("__metadata__");
        if (all == d_header.end() || !all->is_object() || !all->contains(key) ||
            !(*all)[key].is_string())
            fail("has no metadata '" + key + "'");
        return (*all)[key];
    }

    unsigned metadata_number(const std::string& key) const
    {
        const std::string text = metadata(key);
        if (text.empty() || text.size() > 6 ||
            text.find_first_not_of("0123456789") != text.npos)
            fail("has " + key + " '" + text + "', which is no number");
        return static_cast<unsigned>(std::stoul(text));
    }

    float
    metadata_number(const std::string& key, float low, float high, float unknown) const
    {
        if (!d_header["__metadata__"].contains(key))
            return unknown;
        const std::string text = metadata(key);
        const json number = json::parse(text, nullptr, false);
        if (!number.is_number() || !(number >= low && number <= high))
            fail("has " + key + " '" + text + "', allowed: " + json(low).dump() + " to " +
                 json(high).dump());
        return number;
    }

    std::vector<std::size_t> shape(const std::string& name, std::size_t dimensions) const
    {
        const json& about = tensor(name);
        std::vector<std::size_t> sizes;
        if (about.contains("shape") && about["shape"].is_array())
            for (const auto& size : about["shape"])
                if (size.is_number_unsigned())
                    sizes.push_back(size);
        if (sizes.size() != dimensions || about["shape"].size() != dimensions)
            fail(name + " does not have " + std::to_string(dimensions) + " dimensions");
        return sizes;
    }

    void read(const std::string& name, float* out, std::size_t count) const
    {
        const json& about = tensor(name);
        if (about.value("dtype", json()) != "F32")
            fail(name + " is not float32");
        const json offsets = about.value("data_offsets", json());
        if (!offsets.is_array() || offsets.size() != 2 ||
            !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
            fail(name + " has no data offsets");
        const std::size_t begin = offsets[0], end = offsets[1];
        if (end > d_bytes.size() - d_data || begin > end)
            fail("is truncated: " + name + " lies beyond its end");
        if (end - begin != count * sizeof(float))
            fail(name + " has " + std::to_string(end - begin) +
                 " bytes where its shape needs " + std::to_string(count * sizeof(float)));
        std::memcpy(out, d_bytes.data() + d_data + begin, end - begin);
        if (!std::all_of(out, out + count, [](float v) { return std::isfinite(v); }))
            fail(name + " holds a value that is not finite");
    }

private:
    const json& tensor(const std::string& name) const
    {
        const auto found = d_header.find(name);
        if (found == d_header.end() || !found->is_object())
            fail("has no tensor " + name);
        return *found;
    }

    std::string d_path;
    std::vector<char> d_bytes;
    std::size_t d_data; // where the tensors start
    json d_header;
};

network read_network(const safetensors& file)
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
        file.read(
            tensor_name(k, "weight"), p + layer.weights, layer.inputs * layer.outputs);
        file.read(tensor_name(k, "bias"), p + layer.biases, layer.outputs);
    }
    return net;
}

// Puts the bytes beside `path` and renames them into place: a reader never sees half a
// file.
void write_file(const std::string& path, const std::string& bytes)
{
    std::string temporary = path + ".XXXXXX";
    const int descriptor = mkstemp(temporary.data());
    if (descriptor < 0)
        throw model_file_error(path,
                               std::string("cannot be written: ") + std::strerror(errno));
    const mode_t mask = umask(0);
    umask(mask);
    std::size_t done = 0;
    bool good = fchmod(descriptor, 0666 & ~mask) == 0;
    while (good && done < bytes.size()) {
        const ssize_t n = write(descriptor, bytes.data() + done, bytes.size() - done);
        good = n > 0 || (n < 0 && errno == EINTR);
        done += n > 0 ? n : 0;
    }
    good = good && fsync(descriptor) == 0;
    good = close(descriptor) == 0 && good;
    if (!good || std::rename(temporary.c_str(), path.c_str()) != 0) {
        const std::string reason = std::strerror(errno);
        unlink(temporary.c_str());
        throw model_file_error(path, "cannot be written: " + reason);
    }
}

} // namespace

model load_model(const std::string& path)
{
    const safetensors file(path);
    if (const auto found = file.metadata("format"); found != format)
        file.fail("has format '" + found + "', this program reads '" + format + "'");
    const auto complex = file.metadata("complex");
    if (complex != "true" && complex != "false")
        file.fail("has complex '" + complex + "', which is neither true nor false");
    try {
        model loaded(read_network(file),
                     file.metadata_number("sps"),
                     file.metadata_number("half_window"),
                     complex == "true",
                     file.metadata("constellation"),
                     file.metadata("training"));
        loaded.symbol_error_rate =
            file.metadata_number("symbol_error_rate", 0, 1, loaded.symbol_error_rate);
        loaded.temperature = file.metadata_number("temperature", 0.05f, 20, 1);
        loaded.adapted_temperature =
            file.metadata_number("adapted_temperature", 0.05f, 20, 1);
        return loaded;
    } catch (const std::invalid_argument& error) {
        file.fail(error.what());
    }
}

void save_model(const std::string& path, const model& saved)
{
    nlohmann::ordered_json header;
    header["__metadata__"] = {
        { "format", format },
        { "sps", std::to_string(saved.sps) },
        { "half_window", std::to_string(saved.half_window) },
        { "complex", saved.complex ? "true" : "false" },
        { "constellation", saved.symbols.name() },
        { "training", saved.training },
    };
    if (!std::isnan(saved.symbol_error_rate)) {
        header["__metadata__"]["symbol_error_rate"] =
            json(saved.symbol_error_rate).dump();
        header["__metadata__"]["temperature"] = json(saved.temperature).dump();
        header["__metadata__"]["adapted_temperature"] =
            json(saved.adapted_temperature).dump();
    }
    // The parameters' order is the tensors' order, so they are written in one piece.
    const auto describe = [&](const std::string& name,
                              std::vector<std::size_t> shape,
                              std::size_t first,
                              std::size_t count) {
        header[name] = { { "dtype", "F32" },
                         { "shape", shape },
                         { "data_offsets",
                           { first * sizeof(float), (first + count) * sizeof(float) } } };
    };
    for (std::size_t k = 0; k < saved.net.layers().size(); ++k) {
        const auto& layer = saved.net.layers()[k];
        describe(tensor_name(k, "weight"),
                 { layer.outputs, layer.inputs },
                 layer.weights,
                 layer.inputs * layer.outputs);
        describe(tensor_name(k, "bias"), { layer.outputs }, layer.biases, layer.outputs);
    }
    std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = text.size();
    std::string bytes(reinterpret_cast<const char*>(&length), sizeof length);
    bytes += text;
    const auto& parameters = saved.net.parameters();
    bytes.append(reinterpret_cast<const char*>(parameters.data()),
                 parameters.size() * sizeof(float));
    write_file(path, bytes);
}

} // namespace gr::adann::core
