// What the files of the extension module share.
#pragma once

#include <nanobind/nanobind.h>

#include <string>

namespace biowarp::python {

namespace nb = nanobind;

// Text as a Python str; bytes that are not UTF-8 (of a path) show as \xNN instead of failing.
nb::str to_str(const std::string& text);

void bind_errors(nb::module_& module);
void bind_fork(nb::module_& module);
void bind_records(nb::module_& module);
void bind_model(nb::module_& module);

}  // namespace biowarp::python
