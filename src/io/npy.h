// Headers of numpy's .npy format, version 1.0, always kNpyHeaderBytes long so that a header can be written
// once the number of rows is known. Source: numpy/lib/format.py ("Format Version 1.0").
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "biowarp/types.h"

namespace biowarp {

constexpr std::int64_t kNpyHeaderBytes = 128;

// numpy's name of a little-endian element type ("<f4"); empty when numpy has none (bf16).
std::string npy_descr(DType dtype);

// "<U12": an array of texts of up to `longest` code points (at least 1), 4 bytes each.
std::string npy_text_descr(std::int64_t longest);

// Header of a row-major array. `shape` has up to 4 axes.
std::string npy_header(const std::string& descr, const std::vector<std::int64_t>& shape);

}  // namespace biowarp
