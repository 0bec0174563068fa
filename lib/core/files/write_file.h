/* -*- c++ -*- */
/*
 * Files that are written whole or not at all.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <string>

namespace gr::adann::core {

/*! Writes a temporary file next to the target, then renames it: a reader never sees half a
 * file, also after the machine failed. A symbolic link is followed. Temporary files of
 * writers that were killed are removed.
 *
 * What exists and is no regular file (a device, a FIFO) is written into. That waits for no
 * reader of a FIFO to come, and up to 5 s for it to read on.
 *
 * \throws std::runtime_error whose text is the reason */
void write_file(const std::string& path, const std::string& bytes);

} // namespace gr::adann::core
