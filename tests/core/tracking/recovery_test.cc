/* How a stream that is lost finds back. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/tracking/front_filter.h"
#include "core/tracking/recovery.h"
#include "tracking/links.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <functional>
#include <limits>

using namespace gr::adann::core;
namespace data = boost::unit_test::data;
using event = recovery_event;

namespace {

constexpr unsigned half_window = 2;

// What the states stand for, one by one.
struct flags {
    bool within = true, was_lost = false, leads = false,
         trained = false; // within the limit

    void happens(event what)
    {
        const bool stays = leads || trained;
        switch (what) {
        case event::exceeds:
            within = within && stays;
            return;
        case event::passes:
            within = within || !was_lost;
            return;
        case event::resets:
            *this = {};
            return;
        case event::trains:
            trained = true;
            return;
        default:
            break;
        }
        if (trained)
            return;
        leads = what == event::stays_better;
        within = what != event::fails;
        if (what == event::settles || what == event::known)
            was_lost = false;
        else if (what != event::explains)
            was_lost = true;
    }
    recovery_state state() const
    {
        if (trained)
            return recovery_state::trained;
        if (leads)
            return recovery_state::degraded;
        if (within)
            return was_lost ? recovery_state::doubtful : recovery_state::following;
        return was_lost ? recovery_state::lost : recovery_state::interrupted;
    }
};

struct report {
    double wrong; // of the latest 4096 symbols that are decided
    front_filter_status status;
    std::vector<tracking_state> states; // after each 64 symbols
    std::vector<std::uint8_t> sent, found;

    //! Of symbols from this one on.
    double wrong_part(std::size_t from, std::size_t n) const
    {
        double count = 0;
        for (std::size_t k = from; k < from + n; ++k)
            count += found[k] != sent[k];
        return count / static_cast<double>(n);
    }
};

// A front filter and its network behind a link with an echo, one and a half symbols late, that
// something happens to.
report received(const std::string& name,
                unsigned sps,
                std::size_t symbols,
                unsigned seed,
                const std::function<void(sent_symbols&, std::size_t middle)>& change,
                std::size_t piece = std::numeric_limits<std::size_t>::max())
{
    // Half the distance of two points is 2.9 deviations or more: 1 symbol in 300 is wrong at most.
    const float noise = name == "qpsk"    ? 0.2f
                        : name == "pam4"  ? 0.15f
                        : name == "16qam" ? 0.1f
                                          : 0.05f;
    const model receiver = make_slicer(name, sps, half_window, noise);
    front_filter filter(receiver);
    sent_symbols sent(name, symbols, sps, seed);
    const std::size_t late = (3 * sps + 1) / 2;
    for (std::size_t i = sent.samples.size(); i-- > late;)
        sent.samples[i] += (name == "64qam" ? 0.1f : 0.2f) * sent.samples[i - late];
    sent.add_noise(noise * noise, receiver.complex, seed + 1);
    change(sent, symbols / 2 * sps);
    const std::size_t before = receiver.window.samples_before() + filter.reach();
    const auto samples = sent.floats(receiver.complex, before, before + sps);
    const prepared_network net(receiver.net, receiver.window.stride());
    decider decides(receiver.net);
    std::vector<std::uint8_t> found(symbols);
    report all{};
    for (std::size_t k = 0; k < symbols;) {
        const std::size_t n = std::min({ symbols - k, filter.left(), piece });
        const auto seen = filter.filter({ &samples[k * receiver.window.stride()],
                                          receiver.window.stride(),
                                          filter.dimension(),
                                          n });
        decides.decide(net, seen, &found[k]);
        // What filter() gave is as it was after decided().
        const std::vector<float> was(seen.data, seen.data + seen.floats());
        filter.decided(&found[k], nullptr, n, decides, net);
        BOOST_REQUIRE(std::equal(was.begin(), was.end(), seen.data, [](float a, float b) {
            return a == b || (std::isnan(a) && std::isnan(b));
        }));
        k += n;
        if (k % front_filter::block == 0)
            all.states.push_back(filter.state());
    }
    all.sent = sent.labels;
    all.found = found;
    all.wrong = all.wrong_part(symbols - 4096 - 64, 4096);
    all.status = filter.status();
    return all;
}

bool has(const report& all, tracking_state state)
{
    return std::find(all.states.begin(), all.states.end(), state) != all.states.end();
}

// Packets from the middle on, with pauses between them in which noise comes alone.
struct packets {
    static constexpr std::size_t length = 1500, pause = 900, count = 5;
    static constexpr std::size_t symbols = 2 * (length + pause) * count;
    float noise;      // its power where the signal's is 1
    double turns = 0; // cycles per symbol of the carrier, from the middle on

    void operator()(sent_symbols& sent, std::size_t middle) const
    {
        std::mt19937 random(12);
        const std::size_t sps = sent.samples.size() / symbols;
        std::normal_distribution<float> normal(0, std::sqrt(noise / 2));
        for (std::size_t i = middle; i < sent.samples.size(); ++i) {
            if ((i - middle) / sps % (length + pause) >= length) {
                const float re = normal(random);
                sent.samples[i] = { re, normal(random) };
            } else if (turns != 0) {
                const auto since = static_cast<double>((i - middle) / sps);
                sent.samples[i] *=
                    std::complex<float>(std::polar(1.0, 2 * M_PI * turns * since));
            }
        }
    }
    //! The part of wrong symbols at the beginning of packets: of the first one it is without a pause before it.
    static double wrong(const report& all, std::size_t n)
    {
        double sum = 0;
        for (std::size_t i = 1; i < count; ++i)
            sum += all.wrong_part(symbols / 2 + i * (length + pause), n);
        return sum / (count - 1);
    }
};

// A long stretch without data from the middle on, up to `back` symbols before the end. The phase walks in the data. What
// an amplifier near saturation leaves as a residual is correlated with the samples of an idle word, not with data.
struct stretch_without_data {
    static constexpr std::size_t symbols = 131072, back = 8192;
    std::string of;

    void operator()(sent_symbols& sent, std::size_t middle) const
    {
        const std::size_t sps = sent.samples.size() / symbols;
        const std::size_t end = sent.samples.size() - back * sps, word = 16 * sps;
        std::mt19937 random(13);
        std::normal_distribution<double> walk(0, std::sqrt(2 * M_PI * 1e-6 / sps));
        std::normal_distribution<float> normal(0, std::sqrt(0.5f));
        const auto noise = [&](float rms) {
            const float re = normal(random);
            return rms * std::complex<float>(re, normal(random));
        };
        double phase = 0;
        for (std::size_t i = 0; i < sent.samples.size(); ++i) {
            std::complex<float>& sample = sent.samples[i];
            const bool is_data = i < middle || i >= end;
            sample *= std::complex<float>(
                std::polar(1.0, phase += is_data ? walk(random) : 0.0));
            sample *= 1 - 0.08f * std::norm(sample); // the amplifier
            if (is_data)
                continue;
            if (of == "noise")
                sample = noise(1);
            else if (of == "an idle word")
                sample = sent.samples[middle - word + (i - middle) % word] + noise(0.1f);
            else if ((i - middle) % sps == 0) // another constellation
                sample = std::polar(
                    1.0f, static_cast<float>((2 * (random() & 3) + 1) * M_PI / 4));
            else
                sample = sent.samples[i - 1];
        }
    }
};

const auto any_sps = data::make({ 1u, 2u, 4u, 8u, 16u });
const auto any_alphabet = data::make({ "pam4", "qpsk", "16qam" });

// Amplitude steps of 4 dB: taps that follow one make wrong decisions after the next, and learn from these. Where that was not
// found they made 12 times as many errors as without taps. Then `rest` symbols of a constant amplitude, with an echo or without.
struct amplitude_steps {
    static constexpr std::size_t symbols = 65536, rest = 4096, each = 500;
    const model receiver;
    front_filter filter;
    sent_symbols sent;
    std::vector<float> samples;
    const prepared_network net;
    decider decides;
    std::size_t passed = 0;
    bool is_known = false, is_held = false;

    struct wrong {
        std::size_t with = 0, without = 0; // the filter
    };

    amplitude_steps(unsigned sps, unsigned seed, float echo = 0)
        : receiver(make_slicer("16qam", sps, half_window, 0.1f)),
          filter(receiver),
          sent("16qam", symbols + rest, sps, 20 + seed),
          net(receiver.net, receiver.window.stride()),
          decides(receiver.net)
    {
        for (std::size_t i = sent.samples.size(); i-- > symbols * sps;)
            sent.samples[i] += echo * sent.samples[i - sps];
        sent.add_noise(0.01f, true, 30 + seed);
        for (std::size_t i = 0; i < symbols * sps; ++i)
            sent.samples[i] *= (i / (each * sps)) % 2 ? 1.26f : 0.79f;
        const std::size_t before = receiver.window.samples_before() + filter.reach();
        samples = sent.floats(true, before, before + sps);
    }
    //! The steps. Wrong labels from symbol `from` on.
    wrong pass(std::size_t from) { return pass(symbols, from); }
    wrong pass_rest(std::size_t n) { return pass(passed + n, passed); }

private:
    wrong pass(std::size_t end, std::size_t from)
    {
        const window_geometry& window = receiver.window;
        std::vector<std::uint8_t> found(256), unfiltered(256);
        wrong count;
        for (std::size_t n; passed < end; passed += n) {
            n = std::min(end - passed, filter.left());
            const float* const first = &samples[passed * window.stride()];
            const std::uint8_t* const labels = &sent.labels[passed];
            const auto seen =
                filter.filter({ first, window.stride(), filter.dimension(), n });
            decides.decide(net, seen, found.data());
            decides.decide(
                net, window.view(first + 2 * filter.reach(), n), unfiltered.data());
            for (std::size_t i = 0; passed >= from && i < n; ++i) {
                count.with += found[i] != labels[i];
                count.without += unfiltered[i] != labels[i];
            }
            if (is_held)
                filter.hold(found.data(), n);
            else
                filter.decided(
                    found.data(), is_known ? labels : nullptr, n, decides, net);
        }
        return count;
    }
};

} // namespace

BOOST_AUTO_TEST_SUITE(recoveries)

BOOST_AUTO_TEST_CASE(the_table_of_transitions_is_what_its_states_stand_for)
{
    std::mt19937 random(1);
    std::vector<int> seen(recovery_states);
    flags expected;
    recovery_state state = recovery_state::following;
    for (int i = 0; i < 100000; ++i) {
        const auto what = static_cast<event>(random() % 11);
        expected.happens(what);
        state = after(state, what);
        BOOST_REQUIRE((state == expected.state()));
        ++seen[static_cast<std::size_t>(state)];
    }
    for (const int times : seen)
        BOOST_TEST(times > 100);
}

// The table of docs/tracking.md.
BOOST_AUTO_TEST_CASE(people_are_told_whether_decisions_are_used_and_explain_the_samples)
{
    using s = recovery_state;
    for (const s state :
         { s::following, s::doubtful, s::interrupted, s::lost, s::degraded })
        BOOST_TEST((status_of(state, true) == tracking_state::lost));
    BOOST_TEST((status_of(s::following, false) == tracking_state::following));
    BOOST_TEST((status_of(s::doubtful, false) == tracking_state::doubtful));
    BOOST_TEST((status_of(s::degraded, false) == tracking_state::doubtful));
    for (const bool exceeds : { false, true }) {
        BOOST_TEST((status_of(s::interrupted, exceeds) == tracking_state::lost));
        BOOST_TEST((status_of(s::lost, exceeds) == tracking_state::lost));
        BOOST_TEST((status_of(s::trained, exceeds) == tracking_state::trained));
    }
}

BOOST_DATA_TEST_CASE(noise_is_a_loss_and_the_link_is_found_again,
                     any_alphabet* any_sps,
                     name,
                     sps)
{
    const auto all =
        received(name, sps, 16384, 3, [&](sent_symbols& sent, std::size_t middle) {
            std::mt19937 random(9);
            std::normal_distribution<float> normal;
            for (std::size_t i = middle; i < middle + 2000 * sps; ++i) {
                const float re = normal(random);
                sent.samples[i] = { re, normal(random) };
            }
        });
    BOOST_TEST(has(all, tracking_state::lost));
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(all.wrong < 0.01);
}

BOOST_DATA_TEST_CASE(a_level_that_steps_is_followed, any_alphabet* any_sps, name, sps)
{
    const auto all =
        received(name, sps, 16384, 4, [](sent_symbols& sent, std::size_t middle) {
            for (std::size_t i = middle; i < sent.samples.size(); ++i)
                sent.samples[i] *= 0.5f;
        });
    BOOST_TEST(all.wrong < 0.01);
}

// With the first one that ray closes the eye of PAM4; noise is enhanced where it is undone.
BOOST_DATA_TEST_CASE(an_echo_that_jumps_is_found, any_alphabet* any_sps, name, sps)
{
    const auto all =
        received(name, sps, 24576, 5, [&](sent_symbols& sent, std::size_t middle) {
            const std::size_t late = sps;
            for (std::size_t i = sent.samples.size(); i-- > middle;)
                sent.samples[i] -= 0.4f * sent.samples[i - late];
        });
    BOOST_TEST(all.wrong < 0.03);
}

// Beyond the limit by the noise that the model learnt: one symbol in 10 to 17 is wrong.
BOOST_DATA_TEST_CASE(noise_that_rises_is_no_loss,
                     (data::make({ "16qam", "64qam" }) * data::make({ 2u, 4u })) ^
                         data::make({ 0.112, 0.066, 0.112, 0.1 }),
                     name,
                     sps,
                     most)
{
    const float deviation =
        name == std::string("16qam") ? 0.17f : 0.078f; // in each dimension
    const auto all =
        received(name, sps, 32768, 14, [&](sent_symbols& sent, std::size_t middle) {
            std::mt19937 random(15);
            std::normal_distribution<float> normal(0, deviation);
            for (std::size_t i = middle; i < sent.samples.size(); ++i) {
                const float re = normal(random);
                sent.samples[i] += std::complex<float>(re, normal(random));
            }
        });
    const auto late =
        all.states.end() - static_cast<std::ptrdiff_t>(all.states.size() / 4);
    const auto following = std::count(late, all.states.end(), tracking_state::following);
    BOOST_TEST(10 * following > 9 * (all.states.end() - late));
    BOOST_TEST(all.wrong < most);
}

// It comes later than the taps reach, and closes the eye; where it is removed noise is enhanced.
BOOST_DATA_TEST_CASE(a_late_echo_that_closes_the_eye_is_removed,
                     data::make({ "pam4", "16qam" }) * data::make({ 1u, 2u, 4u }),
                     name,
                     sps)
{
    const auto all = received(name, sps, 98304, 11, [&](sent_symbols& sent, std::size_t) {
        const std::size_t late = 20 * sps + sps / 2;
        for (std::size_t i = sent.samples.size(); i-- > late;)
            sent.samples[i] += 0.35f * sent.samples[i - late];
    });
    BOOST_TEST(has(all, tracking_state::lost));
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(all.status.echo > 0.2f);
    BOOST_TEST(all.wrong < 0.03);
}

// It closes the eye: one that leaves it open is left to the taps.
BOOST_DATA_TEST_CASE(a_tone_is_removed,
                     data::make({ "16qam" }) * data::make({ 1u, 2u, 4u }),
                     name,
                     sps)
{
    const auto all = received(name, sps, 65536, 12, [&](sent_symbols& sent, std::size_t) {
        for (std::size_t i = 0; i < sent.samples.size(); ++i)
            sent.samples[i] += static_cast<std::complex<float>>(
                std::polar(0.4, 2 * M_PI * 0.13 * static_cast<double>(i) / sps));
    });
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(std::abs(all.status.tone - 0.4f) < 0.04f);
    BOOST_TEST(std::abs(all.status.tone_frequency - 0.13f) < 1e-4f);
    BOOST_TEST(all.wrong < 0.01);
}

// By the taps' offset.
BOOST_DATA_TEST_CASE(a_constant_is_removed,
                     data::make({ "qpsk", "16qam" }) * data::make({ 1u, 2u, 4u }),
                     name,
                     sps)
{
    const std::complex<float> constant(0.12f, -0.2f);
    const auto all =
        received(name, sps, 32768, 13, [&](sent_symbols& sent, std::size_t middle) {
            for (std::size_t i = middle; i < sent.samples.size(); ++i)
                sent.samples[i] += constant;
        });
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(std::abs(all.status.leakage - constant) < 0.03f);
    BOOST_TEST(all.wrong < 0.01);
}

// It is there from the start, and too fast for decisions to pull it in.
BOOST_DATA_TEST_CASE(a_fast_carrier_is_found,
                     data::make({ "qpsk", "16qam" }) * any_sps,
                     name,
                     sps)
{
    const auto all = received(name, sps, 12288, 6, [&](sent_symbols& sent, std::size_t) {
        for (std::size_t i = 0; i < sent.samples.size(); ++i)
            sent.samples[i] *= std::complex<float>(
                std::polar(1.0, 2 * M_PI * 4e-3 * static_cast<double>(i) / sps));
    });
    BOOST_TEST(std::abs(all.status.frequency - 4e-3) < 1e-4);
    BOOST_TEST(all.wrong < 0.01);
}

// By half a radian, 29°, which decisions of QPSK alone tolerate; the latest 4096 symbols begin 2048 after.
BOOST_DATA_TEST_CASE(a_phase_that_jumps_is_found,
                     data::make({ "16qam", "64qam" }) * any_sps,
                     name,
                     sps)
{
    const auto all =
        received(name, sps, 12288 + 64, 13, [](sent_symbols& sent, std::size_t middle) {
            for (std::size_t i = middle; i < sent.samples.size(); ++i)
                sent.samples[i] *= std::polar(1.0f, 0.5f);
        });
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(all.wrong < 0.01);
}

// By 2e-4 cycles per symbol: from one test to the next the phase passes through three quarters of a symmetry.
BOOST_DATA_TEST_CASE(a_frequency_that_steps_is_no_jump_of_the_phase,
                     data::make({ "qpsk", "16qam" }) * any_sps,
                     name,
                     sps)
{
    const auto all =
        received(name, sps, 16384, 15, [&](sent_symbols& sent, std::size_t middle) {
            for (std::size_t i = middle; i < sent.samples.size(); ++i)
                sent.samples[i] *= static_cast<std::complex<float>>(std::polar(
                    1.0, 2 * M_PI * 2e-4 * static_cast<double>(i - middle) / sps));
        });
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(std::abs(all.status.frequency - 2e-4) < 2e-5);
    BOOST_TEST(all.wrong < 0.01);
}

// Faster than its line is wide. Decisions of PSK that rotates leave little, so it was taken for followed.
BOOST_DATA_TEST_CASE(a_frequency_that_steps_far_is_found,
                     data::make({ "qpsk", "8psk", "8psk" }) ^ data::make({ 4u, 2u, 4u }),
                     name,
                     sps)
{
    const auto all =
        received(name, sps, 49152, 15, [&](sent_symbols& sent, std::size_t middle) {
            for (std::size_t i = middle; i < sent.samples.size(); ++i)
                sent.samples[i] *= static_cast<std::complex<float>>(std::polar(
                    1.0, 2 * M_PI * 3e-3 * static_cast<double>(i - middle) / sps));
        });
    BOOST_TEST(has(all, tracking_state::lost));
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(std::abs(all.status.frequency - 3e-3) < 1e-4);
}

// From the first symbol on one symbol in 16 to one in 5 is wrong, and a carrier of 1e-5 cycles a symbol rotates it once.
// The noise was that of the model, so that decisions counted as sure, and then as lost.
BOOST_DATA_TEST_CASE(more_noise_than_the_model_learnt_hides_no_carrier,
                     data::make({ "qpsk", "qpsk", "16qam", "16qam", "64qam" }) ^
                         data::make({ 2u, 4u, 2u, 4u, 4u }) ^
                         data::make({ 0.45f, 0.65f, 0.17f, 0.24f, 0.11f }) ^
                         data::make({ 0.11, 0.085, 0.15, 0.18, 0.25 }),
                     name,
                     sps,
                     deviation,
                     most)
{
    const auto all = received(name, sps, 98304, 16, [&](sent_symbols& sent, std::size_t) {
        for (std::size_t i = 0; i < sent.samples.size(); ++i)
            sent.samples[i] *= static_cast<std::complex<float>>(
                std::polar(1.0, 2 * M_PI * 1e-5 * static_cast<double>(i) / sps));
        sent.add_noise(deviation * deviation, true, 17);
    });
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(std::abs(all.status.frequency - 1e-5) < 5e-6);
    BOOST_TEST(all.wrong < most);
}

// As a radio loses them that is read too late: the instant is another one; 1024 symbols after that.
BOOST_DATA_TEST_CASE(samples_that_are_lost_shift_the_timing,
                     data::make({ "pam4", "16qam", "64qam" }) *
                         data::make({ 4u, 8u, 16u }) * data::make({ 1u, 3u }),
                     name,
                     sps,
                     quarters)
{
    const auto all =
        received(name, sps, 10240 + 64, 14, [&](sent_symbols& sent, std::size_t middle) {
            const auto from = sent.samples.begin() + static_cast<std::ptrdiff_t>(middle);
            std::rotate(from, from + quarters * sps / 4, sent.samples.end());
            if (quarters >
                2) // the symbol that is nearest to the one before is the next one
                std::rotate(
                    sent.labels.begin() + static_cast<std::ptrdiff_t>(middle / sps),
                    sent.labels.begin() + static_cast<std::ptrdiff_t>(middle / sps + 1),
                    sent.labels.end());
        });
    BOOST_TEST((all.status.state == tracking_state::following));
    BOOST_TEST(all.wrong < 0.01);
}

// Once the echo is learnt.
BOOST_DATA_TEST_CASE(a_still_link_is_left_alone, any_alphabet* any_sps, name, sps)
{
    const auto all = received(name, sps, 16384, 7, [](sent_symbols&, std::size_t) {});
    for (std::size_t i = 4096 / front_filter::block; i < all.states.size(); ++i)
        BOOST_TEST((all.states[i] == tracking_state::following));
    BOOST_TEST(all.status.resets == 0u);
    BOOST_TEST(all.wrong < 0.01);
}

// Phase noise that starts where the echo is learnt: no jump is seen in it.
BOOST_DATA_TEST_CASE(phase_noise_is_no_jump,
                     data::make({ 2u, 4u }) * data::xrange(6u),
                     sps,
                     draw)
{
    const auto all =
        received("16qam", sps, 65536, 20 + draw, [&](sent_symbols& sent, std::size_t) {
            std::mt19937 random(30 + draw);
            std::normal_distribution<double> walk(0, std::sqrt(2 * M_PI * 3e-5 / sps));
            double phase = 0;
            for (std::size_t i = 8192 * sps; i < sent.samples.size(); ++i)
                sent.samples[i] *=
                    std::complex<float>(std::polar(1.0, phase += walk(random)));
            sent.add_noise(0.01f, true, 40 + draw);
        });
    BOOST_TEST(all.status.resets == 0u);
}

// Silence, the receiver's own noise, and a discriminator's, which is above the signal.
BOOST_DATA_TEST_CASE(a_pause_costs_no_symbol,
                     any_alphabet* any_sps* data::make({ 0.0f, 0.01f, 2.0f }),
                     name,
                     sps,
                     noise)
{
    const auto all = received(name, sps, packets::symbols, 9, packets{ noise });
    BOOST_TEST(has(all, tracking_state::lost));
    BOOST_TEST(packets::wrong(all, packets::length) < 0.02);
    BOOST_TEST(packets::wrong(all, 256) < 0.05);
}

// The carrier turns once in 20,000 symbols: by a sixteenth of a turn from the end of a packet to the next symbol that
// shows it. Of 16QAM that is more than decisions tolerate.
BOOST_DATA_TEST_CASE(a_carrier_goes_on_in_a_pause,
                     data::make({ "qpsk", "16qam" }) * any_sps *
                         data::make({ 0.01f, 2.0f }),
                     name,
                     sps,
                     noise)
{
    const auto all = received(name, sps, packets::symbols, 9, packets{ noise, 5e-5 });
    BOOST_TEST(packets::wrong(all, packets::length) < 0.05);
}

BOOST_DATA_TEST_CASE(a_pause_is_the_same_however_calls_cut_it,
                     any_alphabet* data::make({ 0.01f, 2.0f }),
                     name,
                     noise)
{
    const packets all{ noise, std::string(name) == "pam4" ? 0 : 5e-5 };
    const auto whole = received(name, 2, packets::symbols, 9, all);
    const auto pieces = received(name, 2, packets::symbols, 9, all, 7);
    BOOST_TEST(whole.found == pieces.found, boost::test_tools::per_element());
}

// Taps, rotation and corrections after it are those before it.
BOOST_DATA_TEST_CASE(what_is_no_data_changes_nothing,
                     data::make({ "noise", "an idle word", "four points" }) *
                         data::make({ 2u, 4u }),
                     of,
                     sps)
{
    using stretch = stretch_without_data;
    const auto all = received("16qam", sps, stretch::symbols, 9, stretch{ of });
    const std::size_t first = stretch::symbols - stretch::back;
    BOOST_TEST(all.wrong_part(first + 256, stretch::back - 512) < 0.01);
    BOOST_TEST(all.wrong_part(first, 512) < 0.25);
    BOOST_TEST(std::abs(all.status.image) < 1e-3f);
}

// Noise alone, and idle words: no hypothesis is to be believed in the end.
BOOST_DATA_TEST_CASE(noise_alone_is_not_followed, any_alphabet* any_sps, name, sps)
{
    const auto all =
        received(name, sps, 16384, 8, [&](sent_symbols& sent, std::size_t middle) {
            std::mt19937 random(10);
            std::normal_distribution<float> normal(0, std::sqrt(0.5f));
            for (std::size_t i = middle; i < sent.samples.size(); ++i) {
                const float re = normal(random);
                sent.samples[i] = { re, normal(random) };
            }
        });
    std::size_t following = 0;
    for (std::size_t i = all.states.size() - 64; i < all.states.size(); ++i)
        following += all.states[i] == tracking_state::following;
    BOOST_TEST(following < 8u);
}

BOOST_DATA_TEST_CASE(a_filter_that_makes_decisions_worse_is_not_used,
                     data::make({ 1u, 2u, 4u }) * data::xrange(2),
                     sps,
                     seed)
{
    amplitude_steps link(sps, static_cast<unsigned>(seed));
    const auto [with, without] = link.pass(amplitude_steps::symbols / 2);
    BOOST_TEST(without > 100u);
    BOOST_TEST(static_cast<double>(with) < 3 * static_cast<double>(without));
    BOOST_TEST(link.filter.status().memory == 0u);
}

// Needed are its taps where an echo comes; known symbols are right labels; held it learns nothing.
BOOST_DATA_TEST_CASE(a_harmful_filter_is_used_again,
                     data::make({ "needed", "known", "held" }),
                     once)
{
    using namespace std::string_literals;
    amplitude_steps link(2, 0, once == "needed"s ? 0.3f : 0);
    link.pass(0);
    BOOST_REQUIRE(link.filter.status().memory == 0u);
    link.is_known = once == "known"s;
    link.is_held = once == "held"s;
    link.pass_rest(1500);
    BOOST_TEST(link.filter.status().memory > 0u);
    if (once == "needed"s) {
        const auto [with, without] = link.pass_rest(2000);
        BOOST_TEST(with < 40u);
        BOOST_TEST(without > 200u);
    }
}

// A stream that begins again: its overlap with the former one shows in the first symbol of the sequence.
BOOST_AUTO_TEST_CASE(a_training_sequence_may_be_the_first_symbols_after_a_restart)
{
    constexpr std::size_t length = 64, later = 1000;
    const model receiver = make_slicer("qpsk", 2, half_window, 0.1f);
    front_filter filter(receiver);
    sent_symbols sent("qpsk", 2 * later, 2, 40);
    sent.add_noise(0.01f, true, 41);
    const std::size_t before = receiver.window.samples_before() + filter.reach();
    const auto samples = sent.floats(true, before, before + 2);
    const prepared_network net(receiver.net, receiver.window.stride());
    decider decides(receiver.net);
    std::vector<std::uint8_t> found(256);
    const auto pass = [&](std::size_t first, std::size_t count) {
        auto result = acquisition_result::pending;
        for (std::size_t k = first, n; k < first + count; k += n) {
            n = std::min(first + count - k, filter.left());
            const auto seen = filter.filter({ &samples[k * receiver.window.stride()],
                                              receiver.window.stride(),
                                              filter.dimension(),
                                              n });
            decides.decide(net, seen, found.data());
            const auto now = filter.decided(found.data(), nullptr, n, decides, net);
            result = now == acquisition_result::pending ? result : now;
        }
        return result;
    };
    pass(0, 200);
    filter.start();
    filter.train(&sent.labels[later], length);
    BOOST_TEST((pass(later, length) == acquisition_result::acquired));
}

BOOST_AUTO_TEST_SUITE_END()
