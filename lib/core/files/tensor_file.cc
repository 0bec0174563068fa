/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/tensor_file.h"

#include "core/files/write_file.h"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cerrno>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <stdexcept>
#include <system_error>

#include <sys/stat.h>

// The file holds little-endian numbers and they are copied as they are.
static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "needs a little-endian machine");

namespace gr::adann::core {

using json = nlohmann::json;

namespace {

constexpr std::size_t largest_file = std::size_t{ 1 } << 30;
constexpr std::size_t largest_header = std::size_t{ 1 } << 20;

std::string read_file(const std::string& path)
{
    struct stat about;
    if (stat(path.c_str(), &about) != 0)
        throw model_file_error(path, std::generic_category().message(errno));
    if (!S_ISREG(about.st_mode))
        throw model_file_error(path, "is not a file");
    if (static_cast<std::size_t>(about.st_size) > largest_file)
        throw model_file_error(path, "is larger than 1 GiB, so it is no model");
    std::string bytes(about.st_size, '\0');
    std::ifstream file(path, std::ios::binary);
    if (!file.read(bytes.data(), bytes.size()))
        throw model_file_error(path, "cannot be read");
    return bytes;
}

std::size_t item_size(const std::string& dtype)
{
    const std::string bits = dtype.substr(std::min<std::size_t>(1, dtype.size()));
    return bits == "64" ? 8 : bits == "32" ? 4 : 1;
}

} // namespace

void tensor_file::fail(const std::string& reason) const
{
    throw model_file_error(path, reason);
}

tensor_file tensor_file::load(const std::string& path)
{
    return parse(read_file(path), path);
}

tensor_file tensor_file::parse(const std::string& bytes, const std::string& name)
{
    tensor_file file;
    file.path = name;
    std::uint64_t length = 0;
    if (bytes.size() < sizeof length)
        file.fail("is truncated: " + std::to_string(bytes.size()) + " bytes");
    std::memcpy(&length, bytes.data(), sizeof length);
    if (length > bytes.size() - sizeof length)
        file.fail("is truncated, or not a safetensors file");
    if (length > largest_header)
        file.fail("has a header of " + std::to_string(length) +
                  " bytes, allowed: up to " + std::to_string(largest_header));
    const std::size_t data = sizeof length + length; // where the tensors start
    std::size_t read_bytes = 0;
    const json header =
        json::parse(bytes.begin() + sizeof length, bytes.begin() + data, nullptr, false);
    if (!header.is_object())
        file.fail("is not a safetensors file: its header is no JSON object");

    for (const auto& [name, about] : header.items()) {
        if (!about.is_object())
            file.fail(name + " is not described");
        if (name == "__metadata__") {
            for (const auto& [key, value] : about.items())
                if (value.is_string())
                    file.metadata[key] = value;
            continue;
        }
        tensor read{ name, "", {}, "" };
        if (const auto dtype = about.find("dtype");
            dtype != about.end() && dtype->is_string())
            read.dtype = *dtype;
        const json sizes = about.value("shape", json());
        if (std::all_of(sizes.begin(), sizes.end(), [](const json& size) {
                return size.is_number_unsigned();
            }))
            read.shape.assign(sizes.begin(), sizes.end());
        const json offsets = about.value("data_offsets", json());
        if (!offsets.is_array() || offsets.size() != 2 ||
            !offsets[0].is_number_unsigned() || !offsets[1].is_number_unsigned())
            file.fail(name + " has no data offsets");
        const std::size_t begin = offsets[0], end = offsets[1];
        if (end > bytes.size() - data || begin > end)
            file.fail("is truncated: " + name + " lies beyond its end");
        read_bytes += end - begin;
        if (read_bytes > bytes.size() - data)
            file.fail("has tensors that overlap");
        read.bytes = bytes.substr(data + begin, end - begin);
        file.tensors.push_back(std::move(read));
    }
    return file;
}

std::string tensor_file::contents() const
{
    std::vector<const tensor*> order;
    for (const std::size_t item : { 8, 4, 1 })
        for (const auto& each : tensors)
            if (item_size(each.dtype) == item)
                order.push_back(&each);
    nlohmann::ordered_json header;
    header["__metadata__"] = metadata;
    std::size_t end = 0;
    for (const auto* each : order) {
        const std::size_t begin = end;
        end += each->bytes.size();
        if (header.contains(each->name)) // other readers refuse such a file
            throw std::logic_error("two tensors are named " + each->name);
        header[each->name] = { { "dtype", each->dtype },
                               { "shape", each->shape },
                               { "data_offsets", { begin, end } } };
    }
    std::string text = header.dump(-1, ' ', false, json::error_handler_t::replace);
    text.resize((text.size() + 7) / 8 * 8, ' ');
    const std::uint64_t length = text.size();
    text.insert(0, reinterpret_cast<const char*>(&length), sizeof length);
    for (const auto* each : order)
        text += each->bytes;
    return text;
}

void tensor_file::save(const std::string& target) const
{
    try {
        write_file(target, contents());
    } catch (const std::runtime_error& error) {
        throw model_file_error(target, std::string("cannot be written: ") + error.what());
    }
}

const tensor_file::tensor* tensor_file::find(const std::string& name) const
{
    const auto found =
        std::find_if(tensors.begin(), tensors.end(), [&](const tensor& each) {
            return each.name == name;
        });
    return found == tensors.end() ? nullptr : &*found;
}

const tensor_file::tensor& tensor_file::named(const std::string& name) const
{
    const tensor* found = find(name);
    if (!found)
        fail("has no tensor " + name);
    return *found;
}

const std::string& tensor_file::bytes(const std::string& name,
                                      const std::string& dtype,
                                      std::size_t item,
                                      std::size_t count) const
{
    const tensor& found = named(name);
    if (found.dtype != dtype)
        fail(name + " has dtype '" + found.dtype + "', not " + dtype);
    if (found.bytes.size() != count * item)
        fail(name + " has " + std::to_string(found.bytes.size()) + " bytes where " +
             std::to_string(count * item) + " are needed");
    return found.bytes;
}

const std::vector<std::size_t>& tensor_file::shape(const std::string& name,
                                                   std::size_t dimensions) const
{
    const tensor& found = named(name);
    if (found.shape.size() != dimensions)
        fail(name + " does not have " + std::to_string(dimensions) + " dimensions");
    std::size_t fit = found.bytes.size(); // bytes of an element of the dimensions so far
    for (const std::size_t size : found.shape) {
        if (size > fit)
            fail(name + " has " + std::to_string(found.bytes.size()) +
                 " bytes, fewer than its shape needs");
        fit /= std::max<std::size_t>(size, 1);
    }
    return found.shape;
}

void tensor_file::floats(const std::string& name, float* out, std::size_t count) const
{
    std::memcpy(
        out, bytes(name, "F32", sizeof(float), count).data(), count * sizeof(float));
    if (!std::all_of(out, out + count, [](float v) { return std::isfinite(v); }))
        fail(name + " holds a value that is not finite");
}

const std::string& tensor_file::text(const std::string& key) const
{
    const auto found = metadata.find(key);
    if (found == metadata.end())
        fail("has no metadata '" + key + "'");
    return found->second;
}

} // namespace gr::adann::core
