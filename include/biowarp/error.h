// Errors that reach a user of biowarp.
//
// User and environment errors throw biowarp::Error; its text says what was expected, what was given, and where
// (record, line, column, tensor name). Broken promises inside the library are assertions, not exceptions.
#pragma once

#include <stdexcept>
#include <string>

#include "biowarp/export.h"

namespace biowarp {

// Where the cause lies. The command line maps it to its exit code.
enum class ErrorKind {
  usage,     // exit 2: an option or a combination of options that cannot work
  input,     // exit 3: a file, a record or a model that cannot be read as what it should be
  device,    // exit 4: memory, instruction set or device that the request needs and the machine lacks
  internal,  // exit 1: a defect of biowarp
};

class BIOWARP_API Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, const std::string& message) : std::runtime_error(message), kind_(kind) {}
  ErrorKind kind() const noexcept { return kind_; }

 private:
  ErrorKind kind_;
};

// 2, 3, 4 or 1, as listed at ErrorKind.
inline int exit_code(ErrorKind kind) {
  switch (kind) {
    case ErrorKind::usage: return 2;
    case ErrorKind::input: return 3;
    case ErrorKind::device: return 4;
    case ErrorKind::internal: return 1;
  }
  return 1;
}

}  // namespace biowarp
