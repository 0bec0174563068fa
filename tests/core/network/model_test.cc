/* Model files: a round trip, and every way in which one can be damaged.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/network/model.h"
#include "core/training/initialize.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <functional>
#include <iterator>
#include <numeric>

#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

using namespace gr::adann::core;

namespace {

const std::string path = "model_test.safetensors";

struct saved_model {
    saved_model()
    {
        network net({ 12, 5, 4 });
        initialize(net, 3);
        save_model(path, model(net, 4, 1, false, "pam4", "by hand"));
        std::ifstream file(path, std::ios::binary);
        bytes.assign(std::istreambuf_iterator<char>(file), {});
    }
    ~saved_model() { std::remove(path.c_str()); }

    void write(const std::string& changed)
    {
        std::ofstream(path, std::ios::binary | std::ios::trunc) << changed;
    }

    // The file with `from` in its header replaced by `to`.
    void replace(const std::string& from, const std::string& to)
    {
        std::uint64_t length;
        std::memcpy(&length, bytes.data(), 8);
        std::string header = bytes.substr(8, length);
        const auto at = header.find(from);
        BOOST_REQUIRE_MESSAGE(at != header.npos, from << " is not in " << header);
        header.replace(at, from.size(), to);
        length = header.size();
        write(std::string(reinterpret_cast<const char*>(&length), 8) + header +
              bytes.substr(8 + (bytes.size() - 8 - data_size())));
    }

    static std::size_t data_size() { return (12 * 5 + 5 + 5 * 4 + 4) * sizeof(float); }

    static void refused(const std::string& reason)
    {
        BOOST_CHECK_EXCEPTION(load_model(path), model_file_error, [&](const auto& error) {
            const std::string what = error.what();
            BOOST_TEST_MESSAGE(what);
            return what.find(path) != what.npos && what.find(reason) != what.npos &&
                   what.find('\n') == what.npos;
        });
    }

    std::string bytes;
};

} // namespace

BOOST_FIXTURE_TEST_SUITE(model_files, saved_model)

BOOST_AUTO_TEST_CASE(sizes_that_the_file_cannot_hold_are_refused_before_memory_is_taken)
{
    replace("[5,12]", "[240,240]");
    refused("fewer than its shape needs");
    replace("[5,12]", "[4294967296,4294967296]");
    refused("fewer than its shape needs");
    write(std::string("\x00\x00\x20\x00\x00\x00\x00\x00", 8) + std::string(1 << 22, ' '));
    refused("a header of 2097152 bytes, allowed: up to 1048576");
}

BOOST_AUTO_TEST_CASE(tensors_that_overlap_are_refused)
{
    const auto of = [](const char* name) {
        return std::string("\"") + name +
               R"(":{"dtype":"F32","shape":[71],"data_offsets":[0,284]},)";
    };
    replace("\"layers.0", of("a") + of("b") + "\"layers.0");
    refused("overlap");
}

BOOST_AUTO_TEST_CASE(what_an_error_quotes_commands_no_terminal)
{
    replace("adann/1", "\\u001b]0;owned\\u0007\\u009b31m");
    refused("has format '\\x1b]0;owned\\x07\\x9b31m'");
}

BOOST_AUTO_TEST_CASE(what_killed_writers_left_is_removed_and_nothing_else)
{
    const std::string stale = path + ".1-0", live = path + ".2-0", other = path + ".old";
    for (const auto& each : { stale, live, other })
        std::ofstream(each) << "half a model";
    const int writing = open(live.c_str(), O_WRONLY);
    BOOST_REQUIRE(flock(writing, LOCK_EX) == 0);
    save_model(path, load_model(path));
    BOOST_TEST(!std::ifstream(stale).good());
    BOOST_TEST(std::ifstream(live).good());
    BOOST_TEST(std::ifstream(other).good());
    close(writing);
    save_model(path, load_model(path));
    BOOST_TEST(!std::ifstream(live).good());
    std::remove(other.c_str());
}

BOOST_AUTO_TEST_CASE(formats_of_whole_numbers_are_kept_and_checked)
{
    model with = load_model(path);
    const quantization formats{ 8, { 5, 4 }, { { 6, 6, 5, 6, 7 }, { 3, 3, 3, 3 } } };
    with.set_formats(formats);
    const std::string contents = model_contents(with);
    BOOST_TEST((parse_model(contents).formats == formats));
    BOOST_TEST(model_contents(parse_model(contents)) == contents);
    BOOST_TEST(!load_model(path).formats);

    const auto damaged = [&](const auto& change, const std::string& reason) {
        tensor_file file = tensor_file::parse(contents, path);
        change(file);
        write(file.contents());
        refused(reason);
    };
    const auto named = [](tensor_file & file, const std::string& name) -> auto&
    {
        return *std::find_if(file.tensors.begin(),
                             file.tensors.end(),
                             [&](const auto& each) { return each.name == name; });
    };
    damaged([](auto& file) { file.metadata["quantization_bits"] = "17"; },
            "bits is 17, allowed: 4 to 16");
    damaged([](auto& file) { file.metadata.erase("quantization_bits"); },
            "quantization_bits");
    damaged([&](auto& file) { named(file, "quantization.values").bytes[0] = 31; },
            "input exponent of layer 0 is 31, allowed: -30 to 30");
    damaged([&](auto& file) { named(file, "quantization.1.weights").bytes[4] = 2; },
            "weight exponent of layer 1 is 2");
    damaged([&](auto& file) { named(file, "quantization.values").dtype = "F32"; },
            "quantization.values");
    damaged([&](auto& file) { named(file, "quantization.0.weights").name = "other"; },
            "quantization.0.weights");
    damaged(
        [&](auto& file) {
            named(file, "quantization.0.weights").shape = { 1, 5 };
        },
        "quantization.0.weights");
}

BOOST_AUTO_TEST_CASE(a_model_in_memory_is_the_contents_of_its_file)
{
    BOOST_TEST(model_contents(load_model(path)) == bytes);
    BOOST_TEST(model_contents(parse_model(bytes)) == bytes);
    BOOST_CHECK_EXCEPTION(
        parse_model(bytes.substr(0, 20)), model_file_error, [](const auto& error) {
            return std::string(error.what()) ==
                   "model file in memory: is truncated, or not a safetensors file";
        });
}

BOOST_AUTO_TEST_CASE(what_was_saved_is_loaded)
{
    const model loaded = load_model(path);
    network expected({ 12, 5, 4 });
    initialize(expected, 3);
    BOOST_TEST((loaded.net.parameters() == expected.parameters()));
    BOOST_TEST((loaded.net.sizes() == expected.sizes()));
    BOOST_TEST(loaded.sps == 4u);
    BOOST_TEST(loaded.half_window == 1u);
    BOOST_TEST(!loaded.complex);
    BOOST_TEST(loaded.symbols.name() == "pam4");
    BOOST_TEST(loaded.training == "by hand");
}

BOOST_AUTO_TEST_CASE(a_missing_file_or_a_directory_is_named)
{
    std::remove(path.c_str());
    refused("No such file");
    BOOST_CHECK_THROW(load_model("/"), model_file_error);
}

BOOST_AUTO_TEST_CASE(every_truncation_is_refused)
{
    for (std::size_t size = 0; size < bytes.size(); size += 7) {
        write(bytes.substr(0, size));
        BOOST_CHECK_THROW(load_model(path), model_file_error);
    }
    write("");
    refused("truncated");
    write(bytes.substr(0, bytes.size() - 4));
    refused("truncated");
}

BOOST_AUTO_TEST_CASE(a_header_of_absurd_length_is_refused)
{
    std::string changed = bytes;
    std::memset(changed.data(), 0xff, 8);
    write(changed);
    refused("truncated, or not a safetensors file");
}

BOOST_AUTO_TEST_CASE(damage_in_the_header_is_told)
{
    replace("adann/1", "adann/4");
    refused("format 'adann/4'");
    replace("\"sps\":\"4\"", "\"sps\":\"x\"");
    refused("sps 'x'");
    replace("\"sps\":\"4\"", "\"sps\":\"3\"");
    refused("network input size is 12, allowed: 9");
    replace("\"sps\":\"4\"", "\"sps\":\"0\"");
    refused("sps is 0");
    replace("pam4", "pam8");
    refused("network output size is 4, allowed: 8");
    replace("pam4", "pam5");
    refused("constellation is 'pam5'");
    replace("\"false\"", "\"maybe\"");
    refused("complex 'maybe'");
    replace("F32", "F16");
    refused("has dtype 'F16', not F32");
    replace("[5,12]", "[5,13]");
    BOOST_CHECK_THROW(load_model(path), model_file_error);
    replace("[5,12]", "[60]");
    refused("2 dimensions");
    replace("[5,12]", "[-5,12]");
    refused("2 dimensions");
    replace("[5,12]", "[4000000000,4000000000]");
    BOOST_CHECK_THROW(load_model(path), model_file_error);
    replace("layers.1.weight", "layers.7.weight");
    BOOST_CHECK_THROW(load_model(path), model_file_error);
    replace("\"data_offsets\":[0", "\"data_offsets\":[9999999");
    BOOST_CHECK_THROW(load_model(path), model_file_error);
    replace("__metadata__", "__metadata_");
    refused("__metadata_ has no data offsets");
    replace("{", "[");
    refused("not a safetensors file");
}

BOOST_AUTO_TEST_CASE(a_weight_that_is_not_finite_is_refused)
{
    std::string changed = bytes;
    const std::uint32_t nan = 0x7fc00000;
    std::memcpy(changed.data() + changed.size() - 4, &nan, 4);
    write(changed);
    refused("layers.1.bias holds a value that is not finite");
}

BOOST_AUTO_TEST_CASE(a_file_may_be_read_by_whom_the_umask_lets)
{
    const model saved = load_model(path);
    for (const mode_t mask : { 022, 077 }) {
        const mode_t before = umask(mask);
        save_model(path, saved);
        umask(before);
        struct stat about;
        BOOST_REQUIRE(stat(path.c_str(), &about) == 0);
        BOOST_TEST((about.st_mode & 0777) == (0666 & ~mask));
    }
}

BOOST_AUTO_TEST_CASE(a_failed_save_leaves_the_old_file_and_nothing_else)
{
    BOOST_CHECK_THROW(save_model("no/such/directory/m", load_model(path)),
                      model_file_error);
    save_model(path, load_model(path));
    std::ifstream file(path, std::ios::binary);
    const std::string again(std::istreambuf_iterator<char>(file), {});
    BOOST_TEST((again == bytes));
}

BOOST_AUTO_TEST_SUITE_END()

namespace {

// The contents of a model file with an expected waveform, in memory.
struct model_with_waveform {
    model_with_waveform() : saved(network({ 12, 5, 4 }), 4, 1, false, "pam4")
    {
        expected_waveform waveform(saved.symbols, 4, false, 2, 1);
        std::vector<float> affine(6 * 4), table(4 * 4);
        std::iota(affine.begin(), affine.end(), -3.0f);
        std::iota(table.begin(), table.end(), 0.5f);
        std::vector<float> correlation(8 * 4);
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

BOOST_AUTO_TEST_CASE(damage_is_told)
{
    refused("adann/2", "adann/4", "reads 'adann/1', 'adann/2' and 'adann/3'");
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
    refused("[32,1]", "[1,32]", "waveform.noise does not have the shape (32, 1)");
    refused("[6,4]", "[24]", "waveform.affine does not have 2 dimensions");
    refused("[6,4]", "[4,6]", "waveform.affine does not have the shape (6, 4)");
    refused("[6,4]", "[4000000000,4000000000]", "waveform.affine");
    const std::size_t affine = bytes.find("\"waveform.affine\"");
    std::string changed = bytes;
    changed[changed.find("F32", affine) + 1] = '1';
    refused(changed, "waveform.affine has dtype 'F12', not F32");
    const float nan = std::numeric_limits<float>::quiet_NaN();
    refused(with(nan, 1), "waveform.noise holds a value that is not finite");
    refused(with(1.5f, 32), "waveform noise correlation is 1.5, allowed: -1 to 1");
    refused(with(nan, 32 + 1), "waveform.table holds a value that is not finite");
    refused(with(nan, 32 + 16 + 1), "waveform.affine holds a value that is not finite");
    refused(with(1001, 32 + 16), "a value of the waveform is not finite, or too large");
    for (std::size_t size = 0; size < bytes.size(); size += 3)
        BOOST_CHECK_THROW(parse_model(bytes.substr(0, size)), model_file_error);
}

BOOST_AUTO_TEST_SUITE_END()
