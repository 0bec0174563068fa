/* What is saved can be restored.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include "core/files/archive.h"

#include <boost/test/unit_test.hpp>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace gr::adann::core;

namespace {

constexpr float most = 1000;

struct state_of_all {
    double number = 0;
    std::uint64_t count = 0;
    std::vector<float> list = std::vector<float>(20), array = list, free = list;

    void state(archive& members)
    {
        members("number", number, -1.0, 1.0);
        members("count", count, std::uint64_t{ 0 }, std::uint64_t{ 7 });
        members("list", list, -most, most);
        members.numbers("array", array.data(), { 4, 5 }, 0.0f, most);
        members.numbers("free", free.data(), { 20 }, archive::any);
    }
};

tensor_file saved(state_of_all& all)
{
    tensor_file file;
    archive to = archive::saving(file, "all");
    to("all", all);
    return file;
}

} // namespace

BOOST_AUTO_TEST_SUITE(archives)

// Of any size, to infinity; those within their range to the bit.
BOOST_AUTO_TEST_CASE(numbers_beyond_their_range_are_saved_as_its_ends)
{
    std::mt19937 random(1);
    std::normal_distribution<float> decades(0, 3);
    const auto draw = [&] {
        const float size = std::pow(10.0f, 3 * decades(random)); // infinite now and then
        return random() % 2 ? size : -size;
    };
    std::size_t beyond = 0;
    for (int round = 0; round < 200; ++round) {
        state_of_all all, found;
        all.number = draw();
        all.count = random() % 20;
        for (auto* values : { &all.list, &all.array, &all.free })
            for (float& value : *values)
                value = draw();
        const state_of_all before = all;
        tensor_file file = saved(all);
        BOOST_TEST((all.list == before.list)); // the member stays
        archive from = archive::restoring(file, "all");
        from("all", found);
        BOOST_TEST(found.number == std::clamp(all.number, -1.0, 1.0));
        BOOST_TEST(found.count == std::min<std::uint64_t>(all.count, 7));
        for (std::size_t i = 0; i < all.list.size(); ++i) {
            BOOST_TEST(found.list[i] == std::clamp(all.list[i], -most, most));
            BOOST_TEST(found.array[i] == std::clamp(all.array[i], 0.0f, most));
            BOOST_TEST(found.free[i] == all.free[i]);
            beyond += std::abs(all.list[i]) > most;
        }
    }
    BOOST_TEST(beyond > 500u);
}

// No file is better than one that nobody can read.
BOOST_AUTO_TEST_CASE(what_is_no_number_is_not_saved)
{
    const float none = std::numeric_limits<float>::quiet_NaN();
    state_of_all all;
    all.free[3] = none;
    BOOST_CHECK_NO_THROW(saved(all));
    all.list[3] = none;
    BOOST_CHECK_EXCEPTION(saved(all), model_file_error, [](const auto& error) {
        return std::string(error.what())
                   .find("all.all.list holds a value that is not finite") !=
               std::string::npos;
    });
}

// Of two tensors with one name other readers refuse the file.
BOOST_AUTO_TEST_CASE(a_name_is_given_once)
{
    tensor_file file;
    archive to = archive::saving(file, "all");
    double number = 0.5;
    to("number", number);
    BOOST_CHECK_NO_THROW(file.contents());
    to("number", number);
    BOOST_CHECK_THROW(file.contents(), std::logic_error);
}

BOOST_AUTO_TEST_SUITE_END()
