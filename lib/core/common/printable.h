/* -*- c++ -*- */
/*
 * Text from files of strangers, for people to read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstdio>
#include <string>
#include <string_view>

namespace gr::adann::core {

/*! Bytes of the UTF-8 character that a text begins with; 0 if it begins with none.
 * Source: The Unicode Standard, table 3-7. */
inline std::size_t utf8_length(std::string_view text)
{
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned char>(text[i]) : 0;
    };
    const unsigned first = byte(0);
    const std::size_t length = first < 0x80                    ? 1
                               : first >= 0xc2 && first < 0xe0 ? 2
                               : first >= 0xe0 && first < 0xf0 ? 3
                               : first >= 0xf0 && first < 0xf5 ? 4
                                                               : 0;
    for (std::size_t i = 1; i < length; ++i)
        if ((byte(i) & 0xc0) != 0x80)
            return 0;
    const bool is_overlong =
        (first == 0xe0 && byte(1) < 0xa0) || (first == 0xf0 && byte(1) < 0x90);
    const bool is_surrogate = first == 0xed && byte(1) >= 0xa0;
    const bool is_beyond = first == 0xf4 && byte(1) >= 0x90; // U+10FFFF
    return is_overlong || is_surrogate || is_beyond ? 0 : length;
}

/*! UTF-8 text, with each control character, and each byte that is no UTF-8, as \xHH, so that
 * it can be shown and cannot command a terminal; cut after 400 bytes. */
inline std::string printable(std::string_view text)
{
    constexpr std::size_t longest = 400;
    std::string result;
    for (std::size_t i = 0; i < text.size() && result.size() < longest;) {
        const std::size_t length = utf8_length(text.substr(i));
        const auto byte = static_cast<unsigned char>(text[i]);
        const bool is_c1 = length == 2 && byte == 0xc2 && // U+0080 to U+009F
                           static_cast<unsigned char>(text[i + 1]) < 0xa0;
        if (length != 0 && byte >= 0x20 && byte != 0x7f && !is_c1) {
            result += text.substr(i, length);
            i += length;
            continue;
        }
        char escaped[5];
        std::snprintf(escaped,
                      sizeof escaped,
                      "\\x%02x",
                      static_cast<unsigned char>(is_c1 ? text[i + 1] : text[i]));
        result += escaped;
        i += is_c1 ? 2 : 1;
    }
    return text.size() > longest && result.size() >= longest ? result + "..." : result;
}

} // namespace gr::adann::core
