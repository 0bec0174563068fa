/* Model files: a round trip, and every way in which one can be damaged.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/common/printable.h"
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
    const std::string stale = path + ".1-0", live = path + ".27-31";
    std::vector<std::string> others;
    for (const char* ending :
         { ".old", ".1", ".1-", ".-0", ".-", ".1-0-2", ".1-0x", ".a-0" })
        others.push_back(path + ending);
    for (const auto& each : { stale, live })
        std::ofstream(each) << "half a model";
    for (const auto& each : others)
        std::ofstream(each) << "someone's";
    const int writing = open(live.c_str(), O_WRONLY);
    BOOST_REQUIRE(flock(writing, LOCK_EX) == 0);
    save_model(path, load_model(path));
    BOOST_TEST(!std::ifstream(stale).good());
    BOOST_TEST(std::ifstream(live).good());
    close(writing);
    save_model(path, load_model(path));
    BOOST_TEST(!std::ifstream(live).good());
    for (const auto& each : others) {
        BOOST_TEST(std::ifstream(each).good(), each);
        std::remove(each.c_str());
    }
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
    replace("adann/1", "adann/5");
    refused("format 'adann/5'");
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

BOOST_AUTO_TEST_CASE(a_save_follows_links_and_leaves_what_is_no_file)
{
    const model saved = load_model(path);
    const std::string link = "model_test.link", fifo = "model_test.fifo";
    BOOST_REQUIRE(symlink(path.c_str(), link.c_str()) == 0);
    for (int times = 0; times < 2; ++times) { // also to what is not there yet
        std::remove(path.c_str());
        save_model(link, saved);
        std::ifstream file(path, std::ios::binary);
        const std::string again(std::istreambuf_iterator<char>(file), {});
        BOOST_TEST((again == bytes));
    }
    std::remove(link.c_str());
    BOOST_REQUIRE(mkfifo(fifo.c_str(), 0600) == 0);
    BOOST_CHECK_THROW(save_model(fifo, saved), model_file_error); // nobody reads from it
    struct stat about;
    BOOST_TEST((lstat(fifo.c_str(), &about) == 0 && S_ISFIFO(about.st_mode)));
    std::remove(fifo.c_str());
}

BOOST_AUTO_TEST_CASE(what_is_no_utf8_is_shown_as_bytes)
{
    const std::string good = "\xc3\xa4 \xe2\x82\xac \xf0\x9f\x93\xbb \xf4\x8f\xbf\xbf";
    BOOST_TEST(printable(good) == good);
    BOOST_TEST(printable("\xb5m \xc3") == "\\xb5m \\xc3");
    BOOST_TEST(printable("\xc0\x80") == "\\xc0\\x80");                 // overlong
    BOOST_TEST(printable("\xed\xa0\x80") == "\\xed\\xa0\\x80");        // a surrogate
    BOOST_TEST(printable("\xf4\x90\x80\x80").substr(0, 4) == "\\xf4"); // beyond Unicode
    BOOST_TEST(printable("\xc2\x9b\x1b") == "\\x9b\\x1b"); // control characters
    BOOST_TEST(printable(std::string(399, 'a') + "\xe2\x82\xac b") ==
               std::string(399, 'a') + "\xe2\x82\xac...");
}

BOOST_AUTO_TEST_SUITE_END()
