/* Labels compared by their frequencies. SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/frequency_guard.h"
#include "receivers.h"

#include <boost/test/unit_test.hpp>

#include <functional>
#include <random>

using namespace gr::adann::core;

namespace {

constexpr std::size_t batch = 256, batches = frequency_guard::window / batch;

// PAM4, four equal samples a symbol, with noise of 0.1. Labels are a Gray code: 0, 1, 3, 2 from the lowest level on.
struct pam4_link {
    const model receiver = make_followed_receiver();
    frequency_guard guards{ receiver, batch };
    std::mt19937 random{ 1 };
    std::vector<std::uint8_t> sent = std::vector<std::uint8_t>(batch), labels = sent;
    std::vector<float> samples =
        std::vector<float>((batch - 1) * 4 + receiver.window.dimension());
    std::vector<float> received = samples;
    std::function<std::uint8_t()> sends = [this] { return random() % 4; };
    unsigned lost = 0;  // of eight of the lowest level, decided as the next one
    unsigned wrong = 0; // of a hundred labels, decided as any
    std::function<void(float*)> distorts = [](float*) {}; // the four samples received

    float level(std::uint8_t label) const
    {
        return receiver.symbols.unit_points()[label].real();
    }
    bool add()
    {
        std::normal_distribution<float> noise(0, 0.1f);
        for (float& sample : samples)
            sample = noise(random);
        constexpr std::size_t first =
            20; // sample of symbol 0: the window has five before
        for (std::size_t k = 0; k < batch; ++k) {
            sent[k] = sends();
            labels[k] = sent[k] == 0 && random() % 8 < lost ? 1
                        : random() % 100 < wrong            ? random() % 4
                                                            : sent[k];
            for (std::size_t i = 0; i < 4; ++i)
                samples[first + 4 * k + i] += level(sent[k]);
        }
        received = samples;
        for (std::size_t k = 0; k < batch; ++k)
            distorts(&received[first + 4 * k]);
        const feature_view view = receiver.window.view(received.data(), batch);
        return guards.add(
            receiver.window.view(samples.data(), batch), &view, labels.data());
    }
    // Whether labels are found to be worse in so many windows.
    bool is_found(std::size_t windows)
    {
        for (std::size_t i = 0; i < windows * batches; ++i)
            if (add())
                return true;
        return false;
    }
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(guarding_frequencies, pam4_link)

BOOST_AUTO_TEST_CASE(labels_that_hardly_have_a_point_are_worse_than_the_loaded_networks)
{
    lost = 5;
    BOOST_TEST(!is_found(1));
    BOOST_TEST(guards.compares());
    BOOST_TEST(is_found(1));
    BOOST_TEST(!guards.compares());
}

// Of a quarter that differs a quarter lacks the lowest level.
BOOST_AUTO_TEST_CASE(labels_that_noise_changes_are_not_worse)
{
    lost = 2;
    wrong = 20;
    BOOST_TEST(!is_found(20));
    wrong = 0;
    BOOST_TEST(is_found(64));
}

BOOST_AUTO_TEST_CASE(right_labels_are_not_even_compared)
{
    for (std::size_t i = 0; i < 100; ++i) {
        BOOST_TEST(!is_found(1));
        BOOST_TEST(!guards.compares());
    }
}

BOOST_AUTO_TEST_CASE(data_that_lacks_a_point_is_compared_ever_more_rarely)
{
    sends = [this] { return 1 + random() % 3; };
    std::vector<std::size_t> compared;
    for (std::size_t i = 0; i < 100; ++i) {
        BOOST_TEST(!is_found(1));
        if (guards.compares())
            compared.push_back(i);
    }
    BOOST_TEST(compared == (std::vector<std::size_t>{ 0, 4, 10, 20, 38, 72 }),
               boost::test_tools::per_element());
}

// Half of the points are sent, and the loaded network receives all, at random, as of a carrier that rotates.
BOOST_AUTO_TEST_CASE(labels_that_mostly_differ_are_not_compared)
{
    sends = [this] { return random() % 2; };
    distorts = [this](float* symbol) {
        const float any = level(random() % 4);
        std::fill_n(symbol, 4, any);
    };
    BOOST_TEST(!is_found(20));
}

// One in twelve symbols is received at the lowest level, which is never sent: both networks' labels lack it.
BOOST_AUTO_TEST_CASE(frequencies_that_both_lack_are_the_datas)
{
    sends = [this] { return 1 + random() % 3; };
    distorts = [this](float* symbol) {
        if (random() % 12 == 0)
            std::fill_n(symbol, 4, level(0));
    };
    BOOST_TEST(!is_found(20));
}

// The loaded network decides by the middle sample. One in seven of them is the lowest level, which is never sent.
BOOST_AUTO_TEST_CASE(right_labels_explain_the_samples)
{
    sends = [this] { return 1 + random() % 3; };
    distorts = [this](float* symbol) {
        if (random() % 7 == 0)
            symbol[2] = level(0);
    };
    BOOST_TEST(!is_found(20));
}

BOOST_AUTO_TEST_CASE(a_restored_one_goes_on)
{
    lost = 5;
    BOOST_TEST(!is_found(1));
    for (std::size_t i = 0; i < batches / 2; ++i)
        BOOST_TEST(!add());
    tensor_file saved;
    archive to = archive::saving(saved, "guard");
    guards.state(to);
    pam4_link other;
    archive from = archive::restoring(saved, "guard");
    other.guards.state(from);
    other.lost = 5;
    BOOST_TEST(other.guards.compares());
    for (std::size_t i = batches / 2; i + 1 < batches; ++i)
        BOOST_TEST(!other.add());
    BOOST_TEST(other.add());
}

BOOST_AUTO_TEST_SUITE_END()
