/* -*- c++ -*- */
/*
 * Searches the linear equalizer of a blind start.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/adaptation/linear_network.h"
#include "core/adaptation/start_symbols.h"

#include <optional>
#include <string>
#include <vector>

namespace gr::adann::core {

/*! Fits a linear equalizer to the symbols of a blind start: to known labels, blindly, and then to its
 * own decisions. blind_start.h has the method.
 *
 * Where no equalizer is accepted, functions throw eye_closed. */
class start_search
{
public:
    //! Symbols from which on a linear equalizer is searched blindly.
    static constexpr std::size_t first_look = 4096;

    explicit start_search(const linear_network& slicer);

    start_symbols& symbols() { return d_symbols; }
    const start_symbols& symbols() const { return d_symbols; }
    linear_network& linear() { return d_linear; }
    const linear_network& linear() const { return d_linear; }
    //! Of the carrier that the symbols were rotated back by, cycles per symbol. Its phase is 0 at the
    //! latest one.
    double carrier_frequency() const { return d_carrier_frequency; }
    //! Result of the comparison with the labels in use; empty if there are none.
    const std::string& compared() const { return d_compared; }
    //! Whether look() has found an equalizer since forget_news().
    bool has_news() const { return d_has_news; }
    void forget_news() { d_has_news = false; }

    bool knows_enough() const; //!< whether known labels alone determine the equalizer
    bool knows_rotation() const { return d_symbols.known() >= 16; }
    //! Whether the known labels of the latest symbols are not those that the linear equalizer decides.
    bool contradicts_known(std::size_t latest) const;
    //! Known labels where there are, else the decisions.
    std::vector<std::uint8_t> best_labels() const;

    /*! Finds a linear equalizer.
     * \param is_searching whether none was found before
     * \return false where known labels were a false alarm, and it stays as it was */
    bool look(bool is_searching);
    //! Fits it to all symbols by its own decisions.
    void follow();
    //! Chooses between it and one that is found from the later half of the symbols.
    void look_again();
    /*! The last search, of all symbols; they are rotated back if their carrier rotates. If they have no
     * common equalizer, it is that of the latest ones.
     * \return whether it is fitted to the latest ones */
    bool finish();
    /*! The search of the latest symbols, or of known labels, rotated back if they have a carrier, with
     * its model's waveform. None while the phase is not constant, or labels not equally frequent. */
    std::optional<start_search> of_latest() const;

    //! Fits the expected waveform of the model.
    void set_waveform(const std::vector<std::uint8_t>& labels);
    //! Throws eye_closed unless the labels explain the symbols better than those in use, if any.
    void check_better(const std::vector<std::uint8_t>& labels);

private:
    void find(const feature_view& part);
    bool fits_known();
    std::vector<std::uint8_t> decided() const
    {
        return d_linear.decide(d_symbols.view());
    }
    double error_of(std::size_t first, std::size_t symbols) const;
    std::size_t unsettled() const;
    bool has_worsened() const;
    bool stands(bool is_tracked = false) const;
    bool holds() const;
    void check_labels(const std::vector<std::uint8_t>& labels) const;
    bool rotate_back();
    bool look_without_carrier();
    bool finds_carrier();
    void look_at_latest();
    void start_from_latest(const char* why);

    linear_network d_linear;
    start_symbols d_symbols;
    double d_error = 0; // of the first linear equalizer
    double d_carrier_frequency = 0;
    std::string d_compared;
    bool d_has_news = false;
};

} // namespace gr::adann::core
