/* How fast a front filter, the network behind it, and what refines its labels are, on a link
 * that the model describes.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "bench.h"

#include "core/adaptation/label_refiner.h"
#include "core/adaptation/refined_stream.h"
#include "core/network/decider.h"
#include "core/network/model.h"
#include "core/tracking/front_filter.h"

#include <cmath>
#include <random>

namespace bench {

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

constexpr std::size_t symbols = 1 << 17; // goes round

/* What the model's waveform is for random labels, with noise; and, if it moves, with an echo
 * of one and a half symbols that comes and goes in 2^17 symbols, ±0.2. */
std::vector<float> received(const model& link, bool moves, std::size_t around)
{
    const expected_waveform& waveform = *link.waveform;
    std::mt19937 random(1);
    std::vector<std::uint8_t> labels(symbols + 2 * waveform.reach());
    for (std::size_t i = 0; i < labels.size(); ++i)
        labels[i] = i < symbols ? random() % waveform.classes() : labels[i - symbols];
    const std::size_t n = symbols * waveform.stride();
    std::vector<float> clean(n), samples(n + around), noise(n);
    waveform.expect(&labels[waveform.reach()], symbols, clean.data());
    gaussian_noise(2).fill(noise.data(), n);
    const std::size_t late = 3 * waveform.stride() / 2;
    for (std::size_t i = 0; i < samples.size(); ++i) {
        const std::size_t k = i % n;
        const auto turned = 2 * M_PI * static_cast<double>(k) / static_cast<double>(n);
        const float echo = moves ? 0.2f * static_cast<float>(std::sin(turned)) : 0.0f;
        samples[i] = clean[k] + echo * clean[(k + n - late) % n] +
                     0.5f * waveform.noise() * noise[k];
    }
    return samples;
}

/* What the learner's guard finds of the signal: batches of the first symbols, as the network
 * decides them. */
refinement found(const model& link, const feature_view& all, decider& decide)
{
    constexpr std::size_t batch = 512;
    const prepared_network net(link.net, link.window.stride());
    waveform_judge judge(*link.waveform, link.window, batch);
    label_refiner refiner(link.symbols, *link.waveform, batch);
    std::vector<std::uint8_t> labels(batch);
    for (std::size_t first = 0; first < 1 << 14; first += batch) {
        const feature_view view = all.from(first, batch);
        decide.decide(net, view, labels.data());
        judge.look(view, labels.data());
        refiner.refine(judge, labels.data());
    }
    return refiner.found();
}

} // namespace

double tracking(const std::string& path, const std::string& what, double seconds)
{
    const model link = load_model(path);
    front_filter filter(link);
    const prepared_network net(link.net, link.window.stride());
    decider decide(link.net);
    const auto samples = received(link, what == "moving", filter.dimension());
    std::vector<std::uint8_t> labels(8192);
    std::vector<float> posteriors(labels.size() * link.symbols.size()),
        refined(posteriors);
    const bool filters = what == "still" || what == "moving",
               soft = what == "refined, soft";
    const bool refines = soft || what == "refined";
    const feature_view all{ samples.data(),
                            link.window.stride(),
                            filters ? filter.dimension() : link.window.dimension(),
                            symbols };
    refined_stream stream(link.symbols, *link.waveform);
    const refinement signal =
        refines ? found(link, all, decide) : refinement(*link.waveform);
    std::size_t at = 0;
    const auto some = [&] {
        const feature_view view = all.from(at, labels.size());
        at = (at + labels.size()) % symbols;
        if (!filters) {
            decide.decide(net, view, labels.data(), soft ? posteriors.data() : nullptr);
            if (refines)
                stream.take(view,
                            labels.data(),
                            signal,
                            labels.data(),
                            {},
                            soft ? posteriors.data() : nullptr,
                            refined.data());
            return;
        }
        for (std::size_t done = 0, n; done < view.count; done += n) {
            n = std::min(view.count - done, filter.left());
            const feature_view seen = filter.filter(view.from(done, n));
            decide.decide(net, seen, &labels[done], nullptr, done);
            filter.decided(&labels[done], nullptr, n, decide, net);
        }
    };
    for (std::size_t i = 0; i < symbols / labels.size(); ++i)
        some(); // until it has settled
    const double found = rate(labels.size(), seconds, some);
    if (filters && filter.status().resets)
        throw std::runtime_error("the front filter does not follow the signal");
    return found;
}

} // namespace bench
