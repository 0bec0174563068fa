/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/network.h"

#include "core/common/checks.h"

#include <algorithm>

namespace gr::adann::core {

network::network(std::vector<std::size_t> sizes) : d_sizes(std::move(sizes))
{
    check_range<std::size_t>("number of layer sizes", d_sizes.size(), 2, 64);
    for (const auto size : d_sizes)
        check_range<std::size_t>("layer size", size, 1, 65536);
    check_range<std::size_t>("size of the last layer", d_sizes.back(), 2, 256);

    std::size_t offset = 0;
    for (std::size_t k = 0; k + 1 < d_sizes.size(); ++k) {
        const std::size_t in = d_sizes[k], out = d_sizes[k + 1];
        d_layers.push_back({ in, out, offset, offset + in * out });
        offset += in * out + out;
    }
    check_range<std::size_t>("number of parameters", offset, 1, std::size_t{ 1 } << 26);
    d_parameters.assign(offset, 0.0f);
}

std::size_t network::widest_layer() const
{
    return *std::max_element(d_sizes.begin() + 1, d_sizes.end());
}

} // namespace gr::adann::core
