/* -*- c++ -*- */
/*
 * Paths need not be UTF-8.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include <pybind11/pybind11.h>

#include <string>

namespace gr::adann {

namespace py = pybind11;

/*! Text or a path, in the bytes that the system has it in.
 * \throws py::cast_error for what is neither */
inline std::string system_text(const py::object& text)
{
    PyObject* bytes = nullptr;
    if (!PyUnicode_FSConverter(text.ptr(), &bytes)) {
        PyErr_Clear();
        throw py::cast_error("no text");
    }
    return py::reinterpret_steal<py::bytes>(bytes);
}

} // namespace gr::adann
