// biowarp._core: the C++ interface (include/biowarp) as the Python package uses it. Arguments here are strict
// and complete; defaults, conveniences and documentation for people are in the package's Python files.
#include "biowarp/version.h"

#include "bindings.h"

NB_MODULE(_core, module) {
  module.doc() = "Compiled part of biowarp; use the package, not this module.";
  module.attr("version") = biowarp::kVersion;
  biowarp::python::bind_errors(module);
  biowarp::python::bind_fork(module);
  biowarp::python::bind_records(module);
  biowarp::python::bind_model(module);
}
