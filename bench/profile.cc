/* Where the time goes: every kernel of a table behind a stopwatch.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench.h"

#include "core/network/decider.h"
#include "core/training/trainer.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <map>

namespace bench {

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

using clock = std::chrono::steady_clock;

const simd::kernels* watched;
std::map<std::string, double> nanoseconds;
constexpr double interruption = 2e5; // ns: no kernel takes so long on a tile
double overhead;                     // of looking at the clock, in ns

double since(clock::time_point start)
{
    return std::chrono::duration<double, std::nano>(clock::now() - start).count();
}

// The function of `watched` that Member points to, timed into `slot`.
template <auto Member>
struct stopwatch;
template <typename Result,
          typename... Arguments,
          Result (*simd::kernels::*Member)(Arguments...)>
struct stopwatch<Member> {
    static inline double* slot;
    static Result run(Arguments... arguments)
    {
        struct timer {
            clock::time_point start = clock::now();
            ~timer()
            {
                const double spent = since(start) - overhead;
                if (spent < interruption)
                    *slot += spent;
            }
        } running;
        return (watched->*Member)(arguments...);
    }
};

template <auto Member>
void watch(simd::kernels& table, const char* name)
{
    stopwatch<Member>::slot = &nanoseconds[name];
    table.*Member = stopwatch<Member>::run;
}

template <typename Work>
void print(const std::string& title, double items, double seconds, Work work)
{
    const double whole = 1e9 / rate(items, seconds, work);
    for (auto& [name, spent] : nanoseconds)
        spent = 0;
    double calls = 0;
    for (const double end = thread_seconds() + seconds; thread_seconds() < end; ++calls)
        work();
    std::printf("%s: %.2f ns/symbol with the stopwatch\n", title.c_str(), whole);
    double rest = whole;
    for (const auto& [name, spent] : nanoseconds)
        if (spent > 0) {
            std::printf("    %-18s %6.2f\n", name.c_str(), spent / items / calls);
            rest -= spent / items / calls;
        }
    std::printf("    %-18s %6.2f\n", "the rest", rest); // narrow_pairs is part of it
}

} // namespace

void profile(const simd::kernels& kernels, const scene& data, double seconds)
{
    overhead = interruption;
    for (int i = 0; i < 1000; ++i)
        overhead = std::min(overhead, since(clock::now()));

    watched = &kernels;
    simd::kernels table = kernels;
    watch<&simd::kernels::split>(table, "split");
    watch<&simd::kernels::affine>(table, "affine");
    watch<&simd::kernels::outer>(table, "outer");
    watch<&simd::kernels::row_sums>(table, "row_sums");
    watch<&simd::kernels::softmax>(table, "softmax");
    watch<&simd::kernels::argmax>(table, "argmax");
    watch<&simd::kernels::cross_entropy>(table, "cross_entropy");
    watch<&simd::kernels::posterior_change>(table, "posterior_change");
    watch<&simd::kernels::differences>(table, "differences");
    watch<&simd::kernels::rectify>(table, "rectify");
    watch<&simd::kernels::set_length>(table, "set_length");
    watch<&simd::kernels::logarithm>(table, "logarithm");
    watch<&simd::kernels::add_noise>(table, "add_noise");

    decider decide(data.net, table);
    const prepared_network prepared(data.net, data.view.stride);
    std::vector<std::uint8_t> labels(data.view.count);
    print("inference", data.view.count, seconds, [&] {
        decide.decide(prepared, data.view, labels.data());
    });
    const auto parts = constellation(data.net.outputs() == 4 ? "pam4" : "16qam").parts();
    for (const auto& loss : words(loss_kind{}))
        for (const auto& noise : words(noise_kind{})) {
            if (loss.supervised())
                continue;
            training_settings settings;
            settings.loss = loss.value;
            settings.pseudo_label = pseudo_label_kind::clean;
            settings.sigma = settings.epsilon = 0.1f;
            settings.learning_rate = 0.002f;
            trainer trained(data.net, parts, settings, noise.value, table);
            print(std::string(loss.name) + ", " + noise.name + " noise",
                  data.view.count,
                  seconds,
                  [&] { trained.step(data.view); });
        }
}

} // namespace bench
