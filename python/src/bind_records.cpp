// RecordReader. A record travels as a tuple; biowarp/records.py makes its Record of it.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "bindings.h"
#include "biowarp/sequence.h"

namespace biowarp::python {
namespace {

nb::object next_record(RecordReader& reader) {
  Record record;
  bool found = false;
  {
    const nb::gil_scoped_release release;
    found = reader.next(record);
  }
  if (!found) {
    return nb::none();
  }
  return nb::make_tuple(to_str(record.id), to_str(record.description), to_str(record.sequence), record.index,
                        record.line, to_str(record.file), to_str(record.error));
}

}  // namespace

void bind_records(nb::module_& module) {
  nb::class_<RecordReader>(module, "RecordReader", "Streams the records of one or more files; see biowarp.iter_fasta.")
      .def(
          "__init__",
          [](RecordReader* self, std::vector<std::string> paths, std::string sequence_column, std::string id_column) {
            new (self) RecordReader(std::move(paths), {std::move(sequence_column), std::move(id_column)});
          },
          nb::arg("paths"), nb::arg("sequence_column"), nb::arg("id_column"))
      .def("next", &next_record, nb::sig("def next(self) -> tuple[str, str, str, int, int, str, str] | None"),
           "(id, description, sequence, index, line, file, error) of the next record, or None at the end.");
}

}  // namespace biowarp::python
