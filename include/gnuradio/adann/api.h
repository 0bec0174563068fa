/* -*- c++ -*- */
/*
 * Marks what the shared library gives to its users.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <gnuradio/attributes.h>

#ifdef gnuradio_adann_EXPORTS
#define ADANN_API __GR_ATTR_EXPORT
#else
#define ADANN_API __GR_ATTR_IMPORT
#endif
