/* -*- c++ -*- */
/*
 * Text from files of strangers, for people to read.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <cstdio>
#include <string>

namespace gr::adann::core {

/*! UTF-8 text with each control character as \xHH, so that it cannot command a terminal;
 * cut after 400 bytes. */
inline std::string printable(const std::string& text)
{
    constexpr std::size_t longest = 400;
    std::string result;
    for (std::size_t i = 0; i < text.size() && result.size() < longest; ++i) {
        const auto byte = static_cast<unsigned char>(text[i]);
        // U+0080 to U+009F are control characters as well.
        const bool is_c1 = byte == 0xc2 && i + 1 < text.size() &&
                           (static_cast<unsigned char>(text[i + 1]) & 0xe0) == 0x80;
        if (byte >= 0x20 && byte != 0x7f && !is_c1) {
            result += text[i];
            continue;
        }
        const auto code = static_cast<unsigned char>(is_c1 ? text[++i] : text[i]);
        char escaped[5];
        std::snprintf(escaped, sizeof escaped, "\\x%02x", code);
        result += escaped;
    }
    return text.size() > longest && result.size() >= longest ? result + "..." : result;
}

} // namespace gr::adann::core
