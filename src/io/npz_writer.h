// numpy's .npz: a zip of .npy members. Readable by numpy.load without pickles.
//
//   NpzWriter npz("contacts.npz");
//   npz.add("P12345", DType::f32, {length, length}, bytes);
//   npz.commit();
#pragma once

#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "biowarp/types.h"
#include "io/zip_writer.h"

namespace biowarp {

class NpzWriter {
 public:
  explicit NpzWriter(const std::string& target) : file_(target), zip_(file_) {}

  // A whole array; `data` holds exactly the elements of `shape`. Names must not repeat.
  void add(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape, std::span<const std::byte> data);

  // An array written row by row.
  void begin(std::string_view name, DType dtype, const std::vector<std::int64_t>& shape);
  void write(std::span<const std::byte> data) { zip_.write(data.data(), data.size()); }
  void end() { zip_.end(); }

  // A one-dimensional array of `count` texts of up to `longest` code points, written text by text.
  void begin_texts(std::string_view name, std::int64_t count, std::int64_t longest);
  void write_text(std::string_view utf8);

  // Gives the file its name.
  void commit();

 private:
  AtomicFile file_;
  ZipWriter zip_;
  std::int64_t text_points_ = 0;  // code points of one text of the open array
};

}  // namespace biowarp
