// .h5: one dataset per record in the root group, as bio_embeddings and UniProt's downloads have it.
//   dataset      [C] or [layers, C] pooled, [L, C] or [layers, L, C] per residue; f32, f16 (IEEE) or bf16 (a
//   custom
//                HDF5 float, which HDF5 and h5py read as f32)
//   its name     the record's id; '/' (HDF5's path separator) becomes '_', "." and ".." become "_" and "__";
//   a name
//                that is taken gets the next free "#k"
//   on it        original_id, description
//   on the file  model, model_hash, layer, pooling, precision, producer
// Names are listed in input order (creation order is kept). No time stamps: same input, same bytes.
#include <hdf5.h>

#include <algorithm>
#include <cstdio>
#include <utility>

#include "base/fail.h"
#include "io/embedding_file.h"
#include "io/file.h"
#include "io/unique_names.h"

namespace biowarp {
namespace {

// An HDF5 identifier, closed by the function that belongs to its kind.
class Handle {
 public:
  Handle(hid_t id, herr_t (*close)(hid_t), const char* what) : id_(id), close_(close) {
    if (id_ < 0) fail_input("HDF5 cannot make {}", what);
  }
  ~Handle() { reset(); }
  Handle(const Handle&) = delete;
  Handle& operator=(const Handle&) = delete;
  operator hid_t() const { return id_; }
  // False when closing failed, which for a file means that not everything was written.
  bool reset() { return id_ < 0 || close_(std::exchange(id_, -1)) >= 0; }

 private:
  hid_t id_;
  herr_t (*close_)(hid_t);
};

void check(herr_t status, const char* what) {
  if (status < 0) fail_input("HDF5 cannot {}", what);
}

Handle text_type() { return {H5Tcopy(H5T_C_S1), H5Tclose, "a text type"}; }

// Attributes are UTF-8 texts of variable length, which h5py gives back as str.
void add_attribute(hid_t object, const char* name, const std::string& text) {
  const Handle type = text_type();
  check(H5Tset_size(type, H5T_VARIABLE), "set a text size");
  check(H5Tset_cset(type, H5T_CSET_UTF8), "set a character set");
  const Handle space(H5Screate(H5S_SCALAR), H5Sclose, "a scalar");
  const Handle attribute(H5Acreate2(object, name, type, space, H5P_DEFAULT, H5P_DEFAULT), H5Aclose, "an attribute");
  const char* data = text.c_str();
  check(H5Awrite(attribute, type, &data), "write an attribute");
}

// Sign, exponent of `exponent` bits, mantissa of `mantissa` bits, 16 bits in all, little-endian.
hid_t make_half_type(std::size_t exponent, std::size_t mantissa) {
  const hid_t type = H5Tcopy(H5T_IEEE_F32LE);
  H5Tset_fields(type, 15, mantissa, exponent, 0, mantissa);
  H5Tset_precision(type, 16);
  H5Tset_size(type, 2);
  H5Tset_ebias(type, (std::size_t{1} << (exponent - 1)) - 1);
  return type;
}

hid_t make_value_type(DType dtype) {
  switch (dtype) {
    case DType::f16: return make_half_type(5, 10);
    case DType::bf16: return make_half_type(8, 7);
    default: return H5Tcopy(H5T_IEEE_F32LE);
  }
}

std::string link_name(std::string id) {
  std::replace(id.begin(), id.end(), '/', '_');
  if (id == "." || id == "..") std::fill(id.begin(), id.end(), '_');
  return id;
}

// What is left of an unfinished file when writing fails; nothing once the file has its final name.
struct RemoveOnExit {
  const std::string& path;
  ~RemoveOnExit() { std::remove(path.c_str()); }
};

class Hdf5Writer {
 public:
  Hdf5Writer(const std::string& path, const EmbeddingLayout& layout)
      : layout_(layout),
        file_(create(path), H5Fclose, path.c_str()),
        type_(make_value_type(layout.dtype), H5Tclose, "a number type"),
        dataset_options_(H5Pcreate(H5P_DATASET_CREATE), H5Pclose, "dataset options"),
        link_options_(H5Pcreate(H5P_LINK_CREATE), H5Pclose, "link options"),
        names_([this](const std::string& name) { return H5Lexists(file_, name.c_str(), H5P_DEFAULT) > 0; }) {
    check(H5Pset_obj_track_times(dataset_options_, false), "switch off time stamps");
    check(H5Pset_fill_time(dataset_options_, H5D_FILL_TIME_NEVER), "switch off filling");
    check(H5Pset_char_encoding(link_options_, H5T_CSET_UTF8), "set a character set");
    add_attribute(file_, "producer", "biowarp");
    add_attribute(file_, "model", layout.model);
    add_attribute(file_, "model_hash", layout.model_hash);
    add_attribute(file_, "layer", layout.layers_text());
    add_attribute(file_, "pooling", layout.pooling);
    add_attribute(file_, "precision", layout.precision);
  }

  std::string add(const EmbeddedRecord& record, std::span<const std::byte> values) {
    const std::string name = names_.claim(link_name(record.id));
    std::vector<hsize_t> shape;
    for (const std::int64_t size : layout_.shape_of(record.length)) shape.push_back(static_cast<hsize_t>(size));
    const Handle space(H5Screate_simple(static_cast<int>(shape.size()), shape.data(), nullptr), H5Sclose, "a shape");
    const Handle dataset(H5Dcreate2(file_, name.c_str(), type_, space, link_options_, dataset_options_, H5P_DEFAULT),
                         H5Dclose, "a dataset");
    check(H5Dwrite(dataset, type_, H5S_ALL, H5S_ALL, H5P_DEFAULT, values.data()), "write a dataset");
    add_attribute(dataset, "original_id", record.id);
    add_attribute(dataset, "description", record.description);
    return name;
  }

  void close() {
    if (!file_.reset()) fail_input("HDF5 cannot finish its file; is the disk full?");
  }

 private:
  static hid_t create(const std::string& path) {
    H5Eset_auto2(H5E_DEFAULT, nullptr, nullptr);
    const Handle creation(H5Pcreate(H5P_FILE_CREATE), H5Pclose, "file options");
    const Handle access(H5Pcreate(H5P_FILE_ACCESS), H5Pclose, "file options");
    check(H5Pset_obj_track_times(creation, false), "switch off time stamps");
    check(H5Pset_link_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED), "keep the order");
    check(H5Pset_libver_bounds(access, H5F_LIBVER_V18, H5F_LIBVER_V18), "choose the file version");
    return H5Fcreate(path.c_str(), H5F_ACC_TRUNC, creation, access);
  }

  const EmbeddingLayout& layout_;
  Handle file_, type_, dataset_options_, link_options_;
  UniqueNames names_;
};

}  // namespace

void embedding::write_h5(const EmbeddingSource& source, const EmbeddingLayout& layout, const std::string& target,
                         const KeySink& keys) {
  const std::string partial = target + ".partial";
  const RemoveOnExit cleanup{partial};
  Hdf5Writer writer(partial, layout);
  source.visit(
      [&](const EmbeddedRecord& record, std::span<const std::byte> values) { keys(writer.add(record, values)); });
  writer.close();
  publish_file(partial, target);
}

}  // namespace biowarp
