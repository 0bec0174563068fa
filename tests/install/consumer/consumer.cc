/* Makes a block of the installed library and shows an error of another.
 * SPDX-License-Identifier: GPL-3.0-or-later */
#include <gnuradio/adann/equalizer.h>
#include <gnuradio/adann/feature_windower.h>

#include <iostream>

int main()
{
    std::cout << gr::adann::feature_windower::make(4, 5)->dimension() << "\n";
    try {
        gr::adann::equalizer::make("no-such-model");
    } catch (const std::runtime_error& error) {
        std::cout << error.what() << "\n";
    }
}
