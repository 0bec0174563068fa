/* A stream of labels, refined in one call and in many: the same to the bit, all of the alphabet; posteriors, too,
 * and with ratios of bits that are known a priori.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "alphabets.h"
#include "input.h"

#include "core/adaptation/refined_stream.h"
#include "core/training/noise.h"

#include <optional>
#include <stdexcept>

using namespace gr::adann;
using namespace gr::adann::core;

namespace {

constexpr std::size_t most = 512; // symbols of a stream
constexpr std::size_t patterns = 1024;

//! A waveform of 0.4 rms, a few of whose numbers are the input's own.
expected_waveform drawn_waveform(fuzz::input& from, const constellation& symbols)
{
    const bool complex = symbols.is_complex() || from.flag();
    const unsigned sps = 1 + from.up_to(3), reach = from.up_to(6);
    unsigned context = from.up_to(3);
    for (std::size_t of_context = patterns + 1; of_context > patterns;) {
        of_context = 1;
        for (unsigned i = 0; i < context; ++i)
            of_context *= symbols.size();
        context -= of_context > patterns;
    }
    expected_waveform waveform(
        symbols, sps, complex, reach, std::min(context, 2 * reach + 1), from.up_to(2));
    std::vector<float> affine(waveform.rows() * waveform.stride());
    std::vector<float> table(waveform.patterns() * waveform.stride());
    std::vector<float> polynomial(waveform.polynomial().coefficients().size());
    gaussian_noise(from.take<std::uint8_t>()).fill(affine.data(), affine.size());
    for (float& each : affine)
        each *= 0.4f;
    for (auto* numbers : { &affine, &table, &polynomial })
        for (std::size_t n = numbers->empty() ? 0 : from.up_to(4); n-- > 0;)
            (*numbers)[from.up_to(numbers->size() - 1)] = from.take<float>();
    waveform.set(affine, table, 0.1f * (1 + from.up_to(9)), {}, polynomial);
    return waveform;
}

//! Filters that change little, a tap or a power of which is the input's own.
refinement drawn_refinement(fuzz::input& from, const expected_waveform& waveform)
{
    refinement signal(waveform);
    signal.known = from.up_to(7) > 0;
    signal.taps[signal.taps.size() / 2 - 1] = 1;
    signal.whitening[0] = 1;
    for (auto* filter : { &signal.taps, &signal.whitening })
        if (from.flag())
            (*filter)[from.up_to(filter->size() - 1)] = { from.take<float>(),
                                                          from.take<float>() };
    signal.power = from.flag() ? 0.05f : from.take<float>();
    signal.power_along = from.flag() ? signal.power : from.take<float>();
    return signal;
}

//! What goes in: windows of samples that the labels explain but for noise, errors and a few numbers.
struct recorded {
    recorded(fuzz::input& from, const expected_waveform& waveform)
        : stride(waveform.stride()),
          dimension(stride * (1 + 2 * from.up_to(3))),
          labels(from.size_up_to(most)),
          samples((labels.size() - 1) * stride + dimension)
    {
        std::uint32_t state = from.take<std::uint32_t>() | 1;
        const auto dice = [&state] {
            return (state = state * 1664525 + 1013904223) >> 16;
        };
        for (auto& label : labels)
            label = dice() % waveform.classes();
        gaussian_noise(state).fill(samples.data(), samples.size());
        const std::size_t edge = waveform.reach();
        const float noise = 0.03f * from.up_to(20);
        if (labels.size() > 2 * edge) {
            std::vector<float> expected((labels.size() - 2 * edge) * stride);
            waveform.expect(
                labels.data() + edge, labels.size() - 2 * edge, expected.data());
            float* const middle = &samples[(dimension - stride) / 2 + edge * stride];
            for (std::size_t i = 0; i < expected.size(); ++i)
                middle[i] = expected[i] + noise * middle[i];
        }
        for (auto& label : labels)
            if (dice() % 40 == 0)
                label = dice() % waveform.classes();
        for (std::size_t n = from.up_to(8); n-- > 0;)
            samples[from.up_to(samples.size() - 1)] = from.take<float>();
    }
    feature_view windows(std::size_t first, std::size_t count) const
    {
        return { samples.data() + first * stride, stride, dimension, count };
    }

    std::size_t stride, dimension;
    std::vector<std::uint8_t> labels;
    std::vector<float> samples;
};

//! All that comes out of the stream; the signal changes at one place.
struct refined {
    //! \param ratios of each bit, or none
    refined(const constellation& symbols,
            const expected_waveform& waveform,
            bool soft,
            const std::vector<float>& ratios)
        : stream(symbols, waveform),
          classes(soft ? symbols.size() : 0),
          bits(symbols.bits_per_symbol()),
          a_priori(soft ? ratios : std::vector<float>())
    {
    }
    void take(const recorded& all,
              std::size_t first,
              std::size_t count,
              const refinement& signal)
    {
        make_room(count);
        // Decided without a doubt.
        std::vector<float> decided(count * classes);
        for (std::size_t i = 0; classes && i < count; ++i)
            decided[i * classes + all.labels[first + i]] = 1;
        keep(stream.take(all.windows(first, count),
                         all.labels.data() + first,
                         signal,
                         room.data(),
                         {},
                         classes ? decided.data() : nullptr,
                         classes ? soft_room.data() : nullptr,
                         a_priori.empty() ? nullptr : a_priori.data() + first * bits));
    }
    void flush(std::size_t at_once)
    {
        make_room(at_once);
        while (const std::size_t written = stream.flush(
                   room.data(), at_once, classes ? soft_room.data() : nullptr))
            keep(written);
    }
    void make_room(std::size_t count)
    {
        room.resize(count);
        soft_room.resize(count * classes);
    }
    void keep(std::size_t written)
    {
        out.insert(out.end(), room.begin(), room.begin() + written);
        posteriors.insert(
            posteriors.end(), soft_room.begin(), soft_room.begin() + written * classes);
    }

    refined_stream stream;
    std::size_t classes; // whose posteriors come out, too, or 0
    std::size_t bits;    // of a symbol
    std::vector<float> a_priori;
    std::vector<std::uint8_t> room, out;
    std::vector<float> soft_room, posteriors;
};

} // namespace

int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size)
{
    fuzz::input from(bytes, size);
    const constellation& symbols = from.of(fuzz::alphabets());
    std::optional<expected_waveform> waveform;
    try {
        waveform.emplace(drawn_waveform(from, symbols));
    } catch (const std::invalid_argument&) {
        return 0;
    }
    const recorded all(from, *waveform);
    refinement before = drawn_refinement(from, *waveform),
               after = drawn_refinement(from, *waveform);
    before.number = 1;
    after.number = 2;
    const std::size_t n = all.labels.size(), change = from.up_to(n);
    const bool ends = from.flag(); // there: another stream begins
    const bool soft = from.up_to(3) == 0;
    std::vector<float> ratios(from.flag() ? (n + 1) * symbols.bits_per_symbol() : 0);
    gaussian_noise(7).fill(ratios.data(), ratios.size());
    for (float& each : ratios)
        each *= 4;
    for (std::size_t k = ratios.empty() ? 0 : from.up_to(4); k-- > 0;)
        ratios[from.up_to(ratios.size() - 1)] = from.take<float>();
    refined whole(symbols, *waveform, soft, ratios), cut(whole);
    whole.take(all, 0, change, before);
    if (ends)
        whole.flush(n);
    whole.take(all, change, n - change, after);
    whole.flush(n);
    for (std::size_t done = 0; done < n;) {
        if (done == change && ends)
            cut.flush(1 + from.up_to(200));
        const std::size_t left = (done < change ? change : n) - done;
        const std::size_t count = std::min(left, 1 + from.up_to(40));
        cut.take(all, done, count, done < change ? before : after);
        done += count;
    }
    cut.flush(1 + from.up_to(200));
    fuzz::require(whole.out.size() == n, "all labels come out");
    fuzz::require(whole.out == cut.out, "the same however it is cut");
    fuzz::require(whole.posteriors.size() == n * whole.classes &&
                      whole.posteriors == cut.posteriors,
                  "posteriors, likewise");
    for (const float posterior : whole.posteriors)
        fuzz::require(posterior >= 0 && posterior <= 1, "posteriors from 0 to 1");
    for (const auto label : whole.out)
        fuzz::require(label < symbols.size(), "labels of the alphabet");
    return 0;
}
