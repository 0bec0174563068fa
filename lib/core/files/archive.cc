/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/archive.h"

#include <algorithm>
#include <cmath>
#include <cstring>

namespace gr::adann::core {

namespace {
template <typename T>
bool all_finite(const std::string& bytes)
{
    for (std::size_t at = 0; at < bytes.size(); at += sizeof(T)) {
        T value;
        std::memcpy(&value, bytes.data() + at, sizeof value);
        if (!std::isfinite(value))
            return false;
    }
    return true;
}
} // namespace

void archive::move(const std::string& name,
                   const std::string& dtype,
                   std::size_t item,
                   void* first,
                   const std::vector<std::size_t>& shape,
                   allowed values)
{
    const std::size_t count = size_of(shape);
    if (d_saves)
        d_file.tensors.push_back({ full(name),
                                   dtype,
                                   shape,
                                   { static_cast<const char*>(first), count * item } });
    const std::string& bytes = d_saves ? d_file.tensors.back().bytes
                                       : d_file.bytes(full(name), dtype, item, count);
    if (values == finite && ((dtype == "F32" && !all_finite<float>(bytes)) ||
                             (dtype == "F64" && !all_finite<double>(bytes))))
        refuse(name, "holds a value that is not finite");
    if (d_saves)
        return;
    if (dtype == "BOOL" &&
        std::any_of(bytes.begin(), bytes.end(), [](char c) { return c & ~1; }))
        refuse(name, "holds a value that is neither true nor false");
    std::copy(bytes.begin(), bytes.end(), static_cast<char*>(first));
}

void archive::operator()(const std::string& name, std::string& member)
{
    member.resize(shape(name, { member.size() })[0]);
    move(name, "U8", 1, member.data(), { member.size() }, any);
}

std::vector<std::size_t> archive::shape(const std::string& name,
                                        const std::vector<std::size_t>& shape) const
{
    return d_saves ? shape : d_file.shape(full(name), shape.size());
}

} // namespace gr::adann::core
