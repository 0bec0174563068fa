/* SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/training/optimizer.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace gr::adann::core {

optimizer::optimizer(optimizer_kind kind, float learning_rate, std::size_t parameters)
    : d_kind(kind),
      d_learning_rate(learning_rate),
      d_first(parameters),
      d_second(parameters)
{
}

void optimizer::update(std::vector<float>& parameters, const std::vector<float>& gradient)
{
    ++d_updates;
    const float rate = d_learning_rate;
    const double t = static_cast<double>(d_updates);
    const float unbias1 = static_cast<float>(1.0 / (1.0 - std::pow(0.9, t)));
    const float unbias2 = static_cast<float>(1.0 / (1.0 - std::pow(0.999, t)));

    // One loop for each kind, so that it runs in vectors.
    const auto each = [&](auto change) {
        float* p = parameters.data();
        float* m = d_first.data();
        float* v = d_second.data();
        const float* g = gradient.data();
        for (std::size_t i = 0; i < parameters.size(); ++i)
            p[i] -= rate * change(g[i], m[i], v[i]);
    };
    switch (d_kind) {
    case optimizer_kind::sgd:
        each([](float g, float&, float&) { return g; });
        break;
    case optimizer_kind::momentum:
        each([](float g, float& m, float&) { return m = 0.9f * m + g; });
        break;
    case optimizer_kind::nesterov:
        each([](float g, float& m, float&) {
            m = 0.9f * m + g;
            return g + 0.9f * m;
        });
        break;
    case optimizer_kind::adagrad:
        each([](float g, float&, float& v) {
            v += g * g;
            return g / (std::sqrt(v) + 1e-10f);
        });
        break;
    case optimizer_kind::rmsprop:
        each([](float g, float&, float& v) {
            v = 0.99f * v + 0.01f * g * g;
            return g / (std::sqrt(v) + 1e-8f);
        });
        break;
    case optimizer_kind::adam:
        each([=](float g, float& m, float& v) {
            m = 0.9f * m + 0.1f * g;
            v = 0.999f * v + 0.001f * g * g;
            return m * unbias1 / (std::sqrt(v * unbias2) + 1e-8f);
        });
        break;
    }
}

bool optimizer::is_finite() const
{
    const auto finite = [](float x) { return std::isfinite(x); };
    return std::all_of(d_first.begin(), d_first.end(), finite) &&
           std::all_of(d_second.begin(), d_second.end(), finite);
}

void optimizer::reset()
{
    d_updates = 0;
    std::fill(d_first.begin(), d_first.end(), 0.0f);
    std::fill(d_second.begin(), d_second.end(), 0.0f);
}

void optimizer::state(archive& members)
{
    const std::string name = row(d_kind).name;
    std::string saved = name;
    members("name", saved);
    if (saved != name)
        members.refuse("name",
                       "is '" + saved + "', but the optimizer is set to '" + name +
                           "': set it to '" + saved + "' to go on");
    members("updates", d_updates);
    members("first", d_first);
    members("second", d_second, 0.0f, std::numeric_limits<float>::max());
}

} // namespace gr::adann::core
