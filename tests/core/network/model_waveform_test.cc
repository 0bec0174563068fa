/* Model files with an expected waveform: a round trip, and what is refused.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/tensor_file.h"
#include "core/network/model.h"

#include <boost/test/unit_test.hpp>

#include <cstdint>
#include <cstring>
#include <limits>
#include <numeric>

using namespace gr::adann::core;

namespace {

// The contents of a model file with an expected waveform, in memory.
struct model_with_waveform {
    model_with_waveform() : saved(network({ 12, 5, 4 }), 4, 1, false, "pam4")
    {
        expected_waveform waveform(saved.symbols, 4, false, 2, 1);
        std::vector<float> affine(6 * 4), table(4 * 4);
        std::iota(affine.begin(), affine.end(), -3.0f);
        std::iota(table.begin(), table.end(), 0.5f);
        std::vector<float> correlation(65);
        std::iota(correlation.begin(), correlation.end(), -15.0f);
        for (auto& each : correlation)
            each /= 32;
        waveform.set(affine, table, 0.25f, correlation);
        saved.set_waveform(waveform);
        bytes = model_contents(saved);
    }

    // Refuses the contents with `from` in their header replaced by `to`.
    void
    refused(const std::string& from, const std::string& to, const std::string& reason)
    {
        std::uint64_t length;
        std::memcpy(&length, bytes.data(), 8);
        std::string header = bytes.substr(8, length);
        const auto at = header.find(from);
        BOOST_REQUIRE_MESSAGE(at != header.npos, from << " is not in " << header);
        header.replace(at, from.size(), to);
        const std::uint64_t changed = header.size();
        refused(std::string(reinterpret_cast<const char*>(&changed), 8) + header +
                    bytes.substr(8 + length),
                reason);
    }
    static void refused(const std::string& contents, const std::string& reason)
    {
        BOOST_CHECK_EXCEPTION(
            parse_model(contents), model_file_error, [&](const auto& error) {
                BOOST_TEST_MESSAGE(error.what());
                return std::string(error.what()).find(reason) != std::string::npos;
            });
    }
    // The contents with the float `place` from the end, the last of the noise's correlation, replaced.
    std::string with(float value, std::size_t place)
    {
        std::string changed = bytes;
        std::memcpy(changed.data() + changed.size() - 4 * place, &value, 4);
        return changed;
    }

    model saved;
    std::string bytes;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(models_with_waveform, model_with_waveform)

BOOST_AUTO_TEST_CASE(a_waveform_is_loaded_and_saved_as_it_was)
{
    BOOST_TEST(bytes.find("adann/2") != bytes.npos);
    const model loaded = parse_model(bytes);
    BOOST_TEST((loaded.waveform == saved.waveform));
    BOOST_TEST(loaded.state.tensors.empty());
    BOOST_TEST(model_contents(loaded) == bytes);

    saved.waveform.reset();
    bytes = model_contents(saved);
    BOOST_TEST(bytes.find("adann/1") != bytes.npos);
    BOOST_TEST(!parse_model(bytes).waveform);
}

BOOST_AUTO_TEST_CASE(label_probabilities_are_in_a_file_where_they_differ)
{
    BOOST_TEST(bytes.find("waveform.probabilities") == bytes.npos);
    saved.waveform->set_probabilities({ 0.1f, 0.4f, 0.1f, 0.4f });
    expected_waveform shaped = *saved.waveform;
    BOOST_TEST(!(parse_model(bytes).waveform == shaped));
    saved.set_waveform(shaped);
    bytes = model_contents(saved);
    BOOST_TEST((parse_model(bytes).waveform == shaped));
    BOOST_TEST((parse_model(bytes).waveform->probabilities() == shaped.probabilities()));
    refused("[4,1]", "[2,2]", "waveform.probabilities does not have the shape (4, 1)");
}

BOOST_AUTO_TEST_CASE(a_waveform_of_another_signal_is_refused)
{
    const auto refuses = [&](const expected_waveform& other) {
        BOOST_CHECK_EXCEPTION(
            saved.set_waveform(other), std::invalid_argument, [](const auto& error) {
                return std::string(error.what()) ==
                       "waveform is of another signal, allowed: one of pam4, sps 4, "
                       "float samples";
            });
    };
    const auto learnt = [](const char* name, unsigned sps, bool complex) {
        expected_waveform other(constellation(name), sps, complex, 2, 1);
        other.set(other.affine(), other.table(), 1);
        return other;
    };
    refuses(learnt("pam2", 4, false));
    refuses(learnt("pam4", 2, false));
    refuses(learnt("pam4", 2, true)); // of as many floats
    refuses(learnt("qpsk", 2, true));
    BOOST_TEST((parse_model(bytes).waveform == saved.waveform));
}

BOOST_AUTO_TEST_CASE(a_polynomial_is_in_a_file_of_format_4)
{
    expected_waveform bent(saved.symbols, 4, false, 2, 1, 8);
    std::vector<float> polynomial(1 + 3 * 17);
    std::iota(polynomial.begin(), polynomial.end(), -7.0f);
    bent.set(saved.waveform->affine(), saved.waveform->table(), 0.25f, {}, polynomial);
    saved.set_waveform(bent);
    bytes = model_contents(saved);
    BOOST_TEST(bytes.find("\"adann/4\"") != bytes.npos);
    const model loaded = parse_model(bytes);
    BOOST_TEST((loaded.waveform == saved.waveform));
    BOOST_TEST((loaded.waveform->polynomial().coefficients() == polynomial));
    BOOST_TEST(loaded.waveform->reach() == 4);
    refused("\"waveform_memory\":\"8\"",
            "\"waveform_memory\":\"4\"",
            "waveform.polynomial does not have the shape (1, 28)");
    refused("\"waveform_memory\":\"8\"", "\"waveform_memory\":\"9\"", "memory is 9");
    refused("waveform.polynomial", "waveform.polynomiaL", "waveform.polynomial");
}

// What was trained before has no filters of the fifth degree.
BOOST_AUTO_TEST_CASE(a_polynomial_of_the_third_degree_is_read)
{
    model complex(network({ 24, 5, 4 }), 4, 1, true, "qpsk");
    expected_waveform bent(complex.symbols, 4, true, 1, 0, 2);
    std::vector<float> polynomial(2 * (1 + 11 * 5));
    std::iota(polynomial.begin(), polynomial.end(), -7.0f);
    bent.set(bent.affine(), bent.table(), 0.25f, {}, polynomial);
    complex.set_waveform(bent);
    auto file = tensor_file::parse(model_contents(complex), "it");
    for (auto& each : file.tensors)
        if (each.name == "waveform.polynomial") {
            BOOST_TEST((each.shape == std::vector<std::size_t>{ 2, 56 }));
            each.shape[1] = 46;
            each.bytes = each.bytes.substr(0, 46 * 4) + each.bytes.substr(56 * 4, 46 * 4);
        }
    const model loaded = parse_model(file.contents());
    for (const std::size_t row : { 0, 56 })
        std::fill_n(polynomial.begin() + row + 46, 10, 0.0f);
    BOOST_TEST((loaded.waveform->polynomial().coefficients() == polynomial));
}

BOOST_AUTO_TEST_CASE(damage_is_told)
{
    refused("adann/2", "adann/5", "reads 'adann/1', 'adann/2', 'adann/3' and 'adann/4'");
    refused("\"waveform_reach\":\"2\"",
            "\"waveform_reach\":\"3\"",
            "waveform.affine does not have the shape (8, 4)");
    refused("\"waveform_reach\":\"2\"", "\"waveform_reach\":\"65\"", "reach is 65");
    refused("waveform_reach", "waveform_reacH", "no metadata 'waveform_reach'");
    refused("\"waveform_context\":\"1\"",
            "\"waveform_context\":\"2\"",
            "waveform.table does not have the shape (16, 4)");
    refused("\"waveform_context\":\"1\"", "\"waveform_context\":\"6\"", "context is 6");
    refused("\"waveform_context\":\"1\"", "\"waveform_context\":\"-1\"", "no number");
    refused("waveform_context", "waveform_contexT", "no metadata 'waveform_context'");
    for (const char* noise : { "0", "-0.25", "1e9", "null", "NaN", "" })
        refused("\"0.25\"", '"' + std::string(noise) + '"', "waveform_noise");
    refused("waveform_noise", "waveform_noisE", "waveform noise is 0");
    refused("waveform.affine", "waveform.affinE", "no tensor waveform.affine");
    refused("waveform.table", "Waveform.table", "no tensor waveform.table");
    refused("waveform.noise", "Waveform.noise", "no tensor waveform.noise");
    refused("[65,1]", "[1,65]", "waveform.noise does not have the shape (65, 1)");
    refused("[6,4]", "[24]", "waveform.affine does not have 2 dimensions");
    refused("[6,4]", "[4,6]", "waveform.affine does not have the shape (6, 4)");
    refused("[6,4]", "[4000000000,4000000000]", "waveform.affine");
    const std::size_t affine = bytes.find("\"waveform.affine\"");
    std::string changed = bytes;
    changed[changed.find("F32", affine) + 1] = '1';
    refused(changed, "waveform.affine has dtype 'F12', not F32");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    refused(with(nan, 1), "waveform.noise holds a value that is not finite");
    refused(with(1001, 65), "a value of the waveform is not finite, or too large");
    refused(with(nan, 65 + 1), "waveform.table holds a value that is not finite");
    refused(with(nan, 65 + 16 + 1), "waveform.affine holds a value that is not finite");
    refused(with(1001, 65 + 16), "a value of the waveform is not finite, or too large");
    for (std::size_t size = 0; size < bytes.size(); size += 3)
        BOOST_CHECK_THROW(parse_model(bytes.substr(0, size)), model_file_error);
}

BOOST_AUTO_TEST_SUITE_END()
