/* Labels that the expected waveform refines.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/adaptation/label_refiner.h"
#include "core/files/archive.h"
#include "core/files/tensor_file.h"
#include "nonlinear_link.h"

#include <boost/test/data/test_case.hpp>
#include <boost/test/unit_test.hpp>

#include <cmath>
#include <numeric>

using namespace gr::adann::core;
using namespace nonlinear;
namespace data = boost::unit_test::data;

namespace {

constexpr std::size_t end = 20; // symbols that may stay as they are at a batch's ends

std::size_t differences(const std::vector<std::uint8_t>& labels, const std::uint8_t* sent)
{
    std::size_t found = 0;
    for (std::size_t i = end; i + end < labels.size(); ++i)
        found += labels[i] != sent[i];
    return found;
}

} // namespace

BOOST_AUTO_TEST_SUITE(refining_labels)

BOOST_DATA_TEST_CASE(wrong_neighbours_are_put_right_and_right_ones_stay,
                     data::make(kinds) * data::make({ 2, 64 }),
                     kind,
                     most_values)
{
    nonlinear_link received(kind.symbols, kind.sps, kind.is_complex, 3);
    received.send(40 * batch,
                  std::min<std::size_t>(received.symbols.size(), most_values));
    waveform_judge judge(received.trained, received.window, batch);
    label_refiner refiner(received.symbols, received.trained, batch);
    std::mt19937 random(4);
    std::size_t wrong = 0, left = 0, changed = 0, spoilt = 0;
    for (std::size_t first = 0; first < 40 * batch; first += batch) {
        const std::uint8_t* sent = received.sent(first);
        std::vector<std::uint8_t> right(sent, sent + batch), labels = right;
        for (auto& label : labels)
            if (random() % 20 == 0) {
                const auto& near = received.symbols.neighbours(label);
                label = near[random() % near.size()];
            }
        judge.look(received.view(first), labels.data());
        if (!judge.settled())
            continue;
        wrong += differences(labels, sent);
        changed += refiner.refine(judge, labels.data());
        left += differences(labels, sent);
        refiner.refine(judge, right.data());
        spoilt += differences(right, sent);
    }
    // The noise is a tenth of half the distance of two points, or less: no error is due.
    BOOST_TEST(wrong > 150u);
    BOOST_TEST(changed >= wrong - left);
    BOOST_TEST(left * 50 <= wrong);
    BOOST_TEST(spoilt == 0u);
}

BOOST_AUTO_TEST_CASE(what_is_left_of_the_samples_gets_less)
{
    // White noise, so that squares are as good as whitened ones.
    nonlinear_link received("pam4", 2, false, 5);
    received.send(40 * batch, 4);
    waveform_judge judge(received.trained, received.window, batch);
    label_refiner refiner(received.symbols, received.trained, batch);
    std::mt19937 random(6);
    const std::size_t symbols = batch - 2 * end;
    std::vector<float> rest(symbols * 2);
    const auto squares = [&](const std::vector<std::uint8_t>& labels) {
        judge.rest(labels.data(), end, batch - end, rest.data());
        return std::inner_product(rest.begin(), rest.end(), rest.begin(), 0.0);
    };
    for (std::size_t first = 0; first < 40 * batch; first += batch) {
        std::vector<std::uint8_t> labels(received.sent(first),
                                         received.sent(first) + batch);
        for (auto& label : labels)
            if (random() % 10 == 0)
                label = random() % 4;
        judge.look(received.view(first), received.sent(first));
        const double before = squares(labels);
        const std::size_t changed = refiner.refine(judge, labels.data());
        BOOST_TEST(changed > 0u);
        BOOST_TEST(squares(labels) < before);
    }
}

/* Steps of PAM4 of 2/√5, of which the table takes a part of the outer ones: all changes of such a
 * label have the same energy, whatever filter and noise. */
BOOST_AUTO_TEST_CASE(how_far_a_change_goes_is_learnt)
{
    constexpr float compressed = 0.4f; // part of the outer steps
    nonlinear_link received("pam4", 2, false, 7);
    auto& waveform = received.trained;
    const auto points = received.symbols.points();
    std::vector<float> affine(waveform.affine().size()), table(waveform.table().size());
    for (const std::size_t j : { 0, 1 }) {
        affine[3 * 2 + j] = 0.5f + 0.2f * static_cast<float>(j); // of the symbol itself
        for (std::size_t pattern = 0; pattern < waveform.patterns(); ++pattern) {
            const float level = points[pattern % 4].real() / std::abs(points[1].real());
            const float inwards = std::abs(level) < 2 ? 0 : level < 0 ? 1.0f : -1.0f;
            table[pattern * 2 + j] =
                inwards * compressed * 2 / std::sqrt(5.0f) * affine[3 * 2 + j];
        }
    }
    waveform.set(affine, table, 0.1f);
    received.send(40 * batch, 4);
    waveform_judge judge(waveform, received.window, batch);
    label_refiner refiner(received.symbols, waveform, batch);
    std::mt19937 random(8);
    for (std::size_t first = 0; first < 40 * batch; first += batch) {
        const std::uint8_t* sent = received.sent(first);
        std::vector<std::uint8_t> labels(sent, sent + batch);
        judge.look(received.view(first), labels.data());
        for (auto& label : labels)
            if (random() % 4 == 0)
                label = received.symbols.neighbours(label)[0];
        if (judge.settled())
            refiner.refine(judge, labels.data());
    }
    const auto& energies = refiner.found().energies;
    const float outer = (1 - compressed) * (1 - compressed);
    for (std::size_t one = 0; one < 4; ++one)
        for (const auto other : received.symbols.neighbours(one)) {
            const bool inner =
                std::abs(points[one].real() + points[other].real()) < 1e-3f;
            BOOST_TEST(std::abs(energies[4 * one + other] - (inner ? 1 : outer)) < 0.05f);
        }
}

/* A sender with memory: behind the label 3 the change of 0 to 1 is half as large, and another one, than
 * behind the others, so that the affine part hardly matches it. Half of these 0 are decided as 1.
 * The change's distance is 0.45, of which noise of 0.05 takes half at 4.5 deviations; 1 in 40 is
 * not tried. Of more than 300, a tenth would be left with a probability below 1e-9. */
BOOST_AUTO_TEST_CASE(a_change_that_is_small_behind_one_label_is_found)
{
    nonlinear_link received("pam4", 2, false, 7);
    auto& waveform = received.trained;
    std::vector<float> affine(waveform.affine().size()), table(waveform.table().size());
    affine[3 * 2] = 0.5f; // of the symbol itself
    affine[3 * 2 + 1] = 0.7f;
    const float step = 2 / std::sqrt(5.0f); // from label 0 to 1
    const std::size_t pattern = 3 * 4 + 0;  // of 3, then 0
    table[pattern * 2] = step * affine[3 * 2] - 0.4f;
    table[pattern * 2 + 1] = step * affine[3 * 2 + 1] + 0.2f;
    waveform.set(affine, table, 0.1f);
    constexpr std::size_t batches = 120;
    received.send(batches * batch, 4);
    waveform_judge judge(waveform, received.window, batch);
    label_refiner refiner(received.symbols, waveform, batch);
    std::mt19937 random(8);
    std::size_t wrong = 0, left = 0;
    for (std::size_t number = 0; number < batches; ++number) {
        const std::uint8_t* sent = received.sent(number * batch);
        std::vector<std::uint8_t> labels(sent, sent + batch);
        for (std::size_t i = 1; i < batch; ++i)
            if (sent[i - 1] == 3 && sent[i] == 0 && random() % 2)
                labels[i] = 1;
        const bool counts = number >= batches / 2; // tries are known then
        wrong += counts ? differences(labels, sent) : 0;
        judge.look(received.view(number * batch), labels.data());
        if (judge.settled())
            refiner.refine(judge, labels.data());
        left += counts ? differences(labels, sent) : 0;
    }
    BOOST_TEST(wrong > 300u);
    BOOST_TEST(left * 10 < wrong);
}

// As of a checkpoint: what it has been whitened by is not in it, and has to come back.
BOOST_DATA_TEST_CASE(a_restored_one_goes_on_to_the_bit, data::make(kinds), kind)
{
    constexpr std::size_t all = 100 * batch,
                          stop = 90 * batch; // a round of model_mismatch() before
    nonlinear_link received(kind.symbols, kind.sps, kind.is_complex, 3);
    received.send(all, received.symbols.size());
    waveform_judge judge(received.trained, received.window, batch), other_judge(judge);
    label_refiner refiner(received.symbols, received.trained, batch), other(refiner);
    const auto refine =
        [&](waveform_judge& by, label_refiner& refines, std::size_t first) {
            std::vector<std::uint8_t> labels(received.sent(first),
                                             received.sent(first) + batch);
            by.look(received.view(first), labels.data());
            refines.refine(by, labels.data());
        };
    for (std::size_t first = 0; first < stop; first += batch)
        refine(judge, refiner, first);
    tensor_file file;
    archive::saving(file, "it")("judge", judge);
    archive::saving(file, "it")("refiner", refiner);
    archive::restoring(file, "it")("judge", other_judge);
    archive::restoring(file, "it")("refiner", other);
    BOOST_TEST(std::isfinite(refiner.model_mismatch()));
    for (std::size_t first = stop; first < all; first += batch) {
        BOOST_TEST(refiner.model_mismatch() == other.model_mismatch());
        refine(judge, refiner, first);
        refine(other_judge, other, first);
        BOOST_TEST(refiner.found().power == other.found().power);
        const auto &its = refiner.found().gain_weights,
                   &others = other.found().gain_weights;
        BOOST_TEST((its.phase == others.phase && its.amplitude == others.amplitude &&
                    its.mean_amplitude == others.mean_amplitude));
        BOOST_TEST(its.mean_amplitude != 0.0f);
    }
}

/* Noise of one spectrum, then skipped batches, then noise of another one. A prediction that has seen the second noise
 * alone is the same but for gains that are corrected; one without the pause differs by an average of the two. */
BOOST_AUTO_TEST_CASE(noise_before_skipped_batches_is_forgotten)
{
    nonlinear_link received("pam4", 2, false, 9);
    received.send(12 * batch, 4);
    std::mt19937 random(10);
    std::normal_distribution<float> normal(0, 0.1f);
    const std::size_t changes = (received.margin + 6 * batch) * received.trained.stride();
    float last = 0;
    for (std::size_t i = 0; i < received.samples.size(); ++i) {
        const float next = normal(random);
        received.samples[i] += i < changes ? next - last : next + last;
        last = next;
    }
    const auto whitening = [&](std::size_t from, std::size_t apart) {
        waveform_judge judge(received.trained, received.window, batch);
        label_refiner refiner(received.symbols, received.trained, batch);
        for (std::size_t k = from; k < 12; ++k) {
            std::vector<std::uint8_t> labels(received.sent(k * batch),
                                             received.sent(k * batch) + batch);
            judge.look(received.view(k * batch), labels.data());
            refiner.refine(judge, labels.data(), k == 6 ? apart : 1);
        }
        return refiner.found().whitening;
    };
    const auto alone = whitening(6, 1), paused = whitening(0, 1000),
               mixed = whitening(0, 1);
    BOOST_TEST(std::abs(alone[1] - paused[1]) < 0.05f);
    BOOST_TEST(std::abs(alone[1] - mixed[1]) > 0.15f);
}

BOOST_AUTO_TEST_SUITE_END()
