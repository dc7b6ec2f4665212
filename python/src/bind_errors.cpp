// biowarp::Error to the classes of biowarp/errors.py.
#include <exception>

#include "bindings.h"
#include "biowarp/error.h"

namespace biowarp::python {
namespace {

const char* class_of(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return "UsageError";
    case ErrorKind::input: return "InputError";
    case ErrorKind::device: return "DeviceError";
    case ErrorKind::internal: return "InternalError";
  }
  return "InternalError";
}

void translate(const std::exception_ptr& exception, void*) {
  try {
    std::rethrow_exception(exception);
  } catch (const Error& error) {
    const nb::object type = nb::module_::import_("biowarp.errors").attr(class_of(error.kind()));
    PyErr_SetObject(type.ptr(), to_str(error.what()).ptr());
  }
}

}  // namespace

nb::str to_str(const std::string& text) {
  PyObject* decoded = PyUnicode_DecodeUTF8(text.data(), static_cast<Py_ssize_t>(text.size()), "backslashreplace");
  if (decoded == nullptr) {
    throw nb::python_error();
  }
  return nb::steal<nb::str>(decoded);
}

void bind_errors(nb::module_&) { nb::register_exception_translator(translate); }

}  // namespace biowarp::python
