/* -*- c++ -*- */
/*
 * Safetensors files: named arrays of numbers and strings about them.
 *
 * SPDX-License-Identifier: GPL-3.0-or-later
 */
#pragma once

#include "core/common/printable.h"

#include <cstddef>
#include <map>
#include <stdexcept>
#include <string>
#include <vector>

namespace gr::adann::core {

//! A model file that cannot be read, is damaged, or holds something else. It names the file;
//! quotations from it are printable().
class model_file_error : public std::runtime_error
{
public:
    model_file_error(const std::string& path, const std::string& reason)
        : std::runtime_error("model file " + printable(path) + ": " + printable(reason))
    {
    }
};

//! One safetensors file in memory; every access is checked, every error names the file.
struct tensor_file {
    struct tensor {
        std::string name;
        std::string dtype; //!< F32, F64, I32, I64, U8, BOOL, …
        std::vector<std::size_t> shape;
        std::string bytes; //!< row by row, little-endian
    };

    //! Reads a file of up to 1 GiB, whose header is up to 1 MiB. Memory: a few times
    //! its size.
    //! \throws model_file_error
    static tensor_file load(const std::string& path);
    /*! Reads the contents of a file.
     * \param name what errors call it
     * \throws model_file_error */
    static tensor_file parse(const std::string& contents, const std::string& name);
    //! The contents of a file with all of this. Wide numbers come first, so that all are
    //! aligned as other readers need it.
    std::string contents() const;
    //! Writes contents() as write_file() does.
    //! \throws model_file_error
    void save(const std::string& path) const;

    bool has(const std::string& name) const { return find(name); }
    /*! The numbers of a tensor.
     * \param item bytes of one
     * \param count of them
     * \throws model_file_error if it is missing or another */
    const std::string& bytes(const std::string& name,
                             const std::string& dtype,
                             std::size_t item,
                             std::size_t count) const;
    //! \throws model_file_error if it is missing, not of so many dimensions, or of more
    //! numbers than it has bytes
    const std::vector<std::size_t>& shape(const std::string& name,
                                          std::size_t dimensions) const;
    void floats(const std::string& name, float* out, std::size_t count) const;
    //! \throws model_file_error if it is missing
    const std::string& text(const std::string& key) const;
    [[noreturn]] void fail(const std::string& reason) const;

    std::string path; //!< where it was read from, as errors name it
    std::map<std::string, std::string> metadata;
    std::vector<tensor> tensors;

private:
    const tensor* find(const std::string& name) const;
    const tensor& named(const std::string& name) const;
};

} // namespace gr::adann::core
