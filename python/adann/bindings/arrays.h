/*
 * numpy arrays as the core sees them: checked, never copied.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/checks.h"
#include "core/signal/known_symbols.h"
#include "core/signal/windows.h"

#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>

namespace py = pybind11;

namespace gr::adann::core {

using floats = py::array_t<float, py::array::c_style | py::array::forcecast>;
// A size for labels of which those beyond the constellation are not known.
inline constexpr std::size_t any_label = 256;

using labels_array = py::array_t<std::uint8_t, py::array::c_style | py::array::forcecast>;

// Rows of a (N, dimension) array, which may be a strided (sliding window) view: not
// copied.
inline feature_view view_of(const py::array_t<float>& features, std::size_t dimension)
{
    constexpr auto item = static_cast<py::ssize_t>(sizeof(float));
    if (features.ndim() != 2 || features.shape(1) != static_cast<py::ssize_t>(dimension))
        refuse("features' shape",
               py::str(features.attr("shape")).cast<std::string>(),
               "(N, " + std::to_string(dimension) + ")");
    if (features.strides(1) != item || features.strides(0) < item ||
        features.strides(0) % item != 0)
        refuse("features' strides",
               py::str(features.attr("strides")).cast<std::string>(),
               "rows of neighbouring float32 values");
    return { features.data(),
             static_cast<std::size_t>(features.strides(0) / item),
             dimension,
             static_cast<std::size_t>(features.shape(0)) };
}

// Of `count` symbols, one each of 0 to size - 1, for what indexes by them; nullptr where
// there are none. not_known is one of them where not all have to be.
inline const std::uint8_t* labels_for(const std::optional<labels_array>& labels,
                                      std::size_t count,
                                      std::size_t size,
                                      bool all_known = true)
{
    if (!labels)
        return nullptr;
    if (labels->ndim() != 1 || labels->shape(0) != static_cast<py::ssize_t>(count))
        refuse("labels' shape",
               py::str(labels->attr("shape")).cast<std::string>(),
               "(" + std::to_string(count) + ",)");
    const std::uint8_t* const first = labels->data();
    const auto* const wrong = std::find_if(first, first + count, [=](std::uint8_t label) {
        return label >= size && (all_known || label != not_known);
    });
    if (wrong != first + count)
        check_range<std::size_t>(
            "labels[" + std::to_string(wrong - first) + "]", *wrong, 0, size - 1);
    return first;
}

} // namespace gr::adann::core
