/*
 * gnuradio.adann.core: error counting.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#include "core_python.h"

#include "core/counting/error_counter.h"

#include <pybind11/numpy.h>
#include <pybind11/stl.h>

namespace py = pybind11;
using namespace gr::adann::core;

namespace {

using labels = py::array_t<std::uint8_t, py::array::c_style>;
using floats = py::array_t<float, py::array::c_style>;

// Keeps the batches until they are asked for.
class collecting_counter : public error_counter
{
public:
    collecting_counter(const constellation& symbols,
                       std::size_t batch,
                       unsigned search,
                       bool posteriors)
        : error_counter(symbols, batch, search, posteriors),
          d_size(posteriors ? symbols.size() : 0)
    {
    }

    std::pair<std::size_t, std::size_t> push(const labels& decided,
                                             const labels& sent,
                                             const std::optional<floats>& posteriors)
    {
        check("decided", decided);
        check("sent", sent);
        const std::vector<py::ssize_t> wanted{ decided.size(), py::ssize_t(d_size) };
        const std::vector<py::ssize_t> given =
            posteriors
                ? std::vector<py::ssize_t>(posteriors->shape(),
                                           posteriors->shape() + posteriors->ndim())
                : std::vector<py::ssize_t>{ decided.size(), 0 };
        if (given != wanted)
            throw std::invalid_argument(
                "posteriors: allowed are one row of floats for each decided label and column "
                "for each point, of a counter with posteriors=True; else none");
        std::size_t from_decided = 0, from_sent = 0, taken;
        do {
            const std::size_t n = append_decided(
                decided.data() + from_decided,
                decided.size() - from_decided,
                posteriors ? posteriors->data() + from_decided * d_size : nullptr);
            const std::size_t m =
                append_sent(sent.data() + from_sent, sent.size() - from_sent);
            from_decided += n;
            from_sent += m;
            taken = n + m;
            collect();
        } while (taken);
        return { from_decided, from_sent };
    }
    void finish()
    {
        end_decided();
        end_sent();
        collect();
    }
    std::vector<batch_result> batches() { return std::exchange(d_batches, {}); }

private:
    static void check(const char* name, const labels& array)
    {
        if (array.ndim() != 1)
            throw std::invalid_argument(std::string(name) + " has " +
                                        std::to_string(array.ndim()) +
                                        " dimensions, allowed: 1");
    }
    void collect()
    {
        while (const auto batch = next())
            d_batches.push_back(*batch);
    }

    const std::size_t d_size; // of a row of posteriors
    std::vector<batch_result> d_batches;
};

} // namespace

void bind_error_counter(py::module& m)
{
    py::class_<error_counts>(
        m, "error_counts", "Compared symbols and bits, and errors in them.")
        .def_readonly("symbols", &error_counts::symbols)
        .def_readonly("symbol_errors", &error_counts::symbol_errors)
        .def_readonly("bits", &error_counts::bits)
        .def_readonly("bit_errors", &error_counts::bit_errors)
        .def_property_readonly("ber", &error_counts::ber, "nan before the first bit")
        .def_property_readonly(
            "gmi",
            &error_counts::gmi,
            "generalized mutual information, bits a symbol; nan before the first one and without "
            "posteriors")
        .def_property_readonly(
            "ngmi",
            &error_counts::ngmi,
            "normalized: gmi over the bits of a symbol, the code rate of an ideal code")
        .def_property_readonly(
            "ci95",
            [](const error_counts& c) {
                const auto [low, high] = c.ci95();
                return py::make_tuple(low, high);
            },
            "exact 95 % interval of the bit error rate");

    py::class_<batch_result>(
        m, "batch_result", "Errors of consecutive decided labels at one alignment.")
        .def_readonly("index", &batch_result::index, "0, 1, 2 ...")
        .def_readonly("first", &batch_result::first, "number of its first decided label")
        .def_property_readonly("delay",
                               [](const batch_result& b) { return b.where.delay; })
        .def_property_readonly("symmetry",
                               [](const batch_result& b) { return b.where.symmetry; })
        .def_readonly("counts", &batch_result::counts)
        .def_readonly(
            "smoothed", &batch_result::smoothed, "counts of the latest 8 batches");

    py::class_<collecting_counter>(
        m,
        "error_counter",
        R"(Counts errors between streams of decided and sent labels that it aligns itself.

It finds the delay (up to `search` symbols, either way) and the inversion or rotation;
until then, and after the alignment is lost, it counts nothing. Symbols inserted or
deleted end a batch early. batch: symbols of a result, 1 to 2**30; search: 0 to 16384;
posteriors: whether push gets them, for the generalized mutual information.)")
        .def(py::init([](const py::object& symbols,
                         std::size_t batch,
                         unsigned search,
                         bool posteriors) {
                 return std::make_unique<collecting_counter>(
                     constellation_from(symbols), batch, search, posteriors);
             }),
             py::arg("constellation"),
             py::arg("batch") = 8192,
             py::arg("search") = 1024,
             py::arg("posteriors") = false)
        .def(
            "push",
            &collecting_counter::push,
            py::arg("decided").noconvert(),
            py::arg("sent").noconvert(),
            py::arg("posteriors") = py::none(),
            R"(Takes uint8 labels of both streams, any number of each, and float32 posteriors of the decided
ones, (n, M). Returns how many it took: all, unless one stream is more than 65536 labels ahead of the other.)")
        .def(
            "finish",
            &collecting_counter::finish,
            "Both streams end here: counts what has not been counted, in a last, shorter batch.")
        .def("batches",
             &collecting_counter::batches,
             "The batches completed since the last call.")
        .def_property_readonly("locked", &collecting_counter::locked)
        .def_property_readonly(
            "delay",
            [](const collecting_counter& c) { return c.where().delay; },
            "decided[i] belongs to sent[i - delay]; of the latest lock")
        .def_property_readonly(
            "symmetry",
            [](const collecting_counter& c) { return c.where().symmetry; },
            "index into constellation.symmetries; of the latest lock")
        .def_property_readonly(
            "permutation",
            [](const collecting_counter& c) {
                return std::vector<unsigned>(c.permutation().begin(),
                                             c.permutation().end());
            },
            "[l] is the label decided for the sent label l, while there is no lock because the "
            "labels are permuted; else empty")
        .def_property_readonly("relocks",
                               &collecting_counter::relocks,
                               "How often an alignment was found after the first.")
        .def_property_readonly(
            "totals",
            [](const collecting_counter& c) { return c.totals(); },
            "counts of all batches and of the unfinished one, as they are now");

    m.def(
        "clopper_pearson",
        [](std::uint64_t errors, std::uint64_t trials, double confidence) {
            const auto [low, high] = clopper_pearson(errors, trials, confidence);
            return py::make_tuple(low, high);
        },
        py::arg("errors"),
        py::arg("trials"),
        py::arg("confidence") = 0.95,
        R"(Exact interval (low, high) of the probability of which `errors` in `trials` were seen.)");
}
