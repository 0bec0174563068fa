/* The normalizer on any floats: finite, bounded, the same however it is cut.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "input.h"

#include "core/signal/normalizer.h"

#include <cmath>

using namespace gr::adann::core;

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    fuzz::input from(bytes, size);
    const bool complex = from.flag();
    const std::size_t window = 1024 << from.up_to(7), piece = 1 + from.up_to(3000);
    static const std::vector<float> noise = [] {
        std::vector<float> values(4096);
        for (std::size_t i = 0; i < values.size(); ++i)
            values[i] = std::sin(0.7f * i * i);
        return values;
    }();
    // What is given, then noise-like numbers with more of it here and there.
    auto in = from.rest<float>(2000);
    const std::size_t given = in.size();
    for (std::size_t i = 0; i < noise.size() / (complex ? 1 : 2); ++i)
        in.push_back(given && i % 509 == 0 ? in[i % given] : noise[i]);
    const std::size_t parts = complex ? 2 : 1, samples = in.size() / parts;
    normalizer whole(complex, window), cut(complex, window);
    std::vector<float> out(in.size()), found(in.size());
    whole.process(in.data(), out.data(), samples);
    for (std::size_t i = 0; i < samples; i += piece)
        cut.process(in.data() + i * parts,
                    found.data() + i * parts,
                    std::min(piece, samples - i));
    fuzz::require(out == found, "the same however it is cut");
    for (const float y : out)
        fuzz::require(std::abs(y) <= 1000, "bounded output");
    return 0;
}
