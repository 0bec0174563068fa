/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/phase_decisions.h"

#include <algorithm>
#include <string>

namespace gr::adann::core {

phase_decisions::phase_decisions(const constellation& alphabet,
                                 const window_geometry& window,
                                 std::size_t reach,
                                 std::size_t symbols)
    : d_window(window),
      d_later(1 + static_cast<float>(reach) / step),
      d_search(alphabet),
      d_labelled(d_search.angles().size(), std::vector<std::uint8_t>(symbols)),
      d_turned((step - 1) * window.stride() + window.dimension())
{
}

void phase_decisions::decide(const float* filtered,
                             std::complex<float> rotated,
                             const network_decider& decides,
                             std::size_t symbol)
{
    const feature_view windows = d_window.view(d_turned.data(), step);
    const std::complex<float> back =
        rotated * std::polar(1.0f, -d_search.expected(d_later));
    for (std::size_t a = 0; a < angles(); ++a) {
        rotate(filtered,
               back * std::polar(1.0f, -d_search.angles()[a]),
               windows.floats() / 2,
               d_turned.data());
        decides(windows, &d_labelled[a][symbol]);
    }
}

void phase_decisions::set_labels(const std::uint8_t* labels, std::size_t end)
{
    for (auto& each : d_labelled)
        std::copy_n(labels, end, each.begin());
}

void phase_decisions::move_back(std::size_t symbols)
{
    for (auto& each : d_labelled)
        std::copy(each.begin() + symbols, each.end(), each.begin());
}

void phase_decisions::state(archive& members,
                            std::size_t first,
                            std::size_t n,
                            std::size_t classes)
{
    members("search", d_search);
    for (std::size_t a = 0; a < angles(); ++a)
        members.numbers("labelled" + std::to_string(a),
                        &d_labelled[a][first],
                        { n },
                        std::uint8_t{ 0 },
                        static_cast<std::uint8_t>(classes - 1));
}

} // namespace gr::adann::core
