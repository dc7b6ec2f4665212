#include "fork_gate.h"

#include <new>

#include "bindings.h"

namespace biowarp::python {
namespace {

alignas(ForkGate) unsigned char storage[sizeof(ForkGate)];
thread_local int depth = 0;  // how often this thread is inside

}  // namespace

ForkGate& ForkGate::instance() {
  static ForkGate* gate = new (storage) ForkGate;
  return *gate;
}

void ForkGate::enter() {
  if (depth++ == 0) {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [this] { return !closed_; });
    ++inside_;
  }
}

void ForkGate::leave() {
  if (--depth == 0) {
    const std::lock_guard lock(mutex_);
    --inside_;
    changed_.notify_all();
  }
}

void ForkGate::close() {
  if (depth > 0) {
    return;
  }
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !closed_; });
  closed_ = true;
  changed_.wait(lock, [this] { return inside_ == 0; });
}

void ForkGate::open() {
  if (depth > 0) {
    return;
  }
  const std::lock_guard lock(mutex_);
  closed_ = false;
  changed_.notify_all();
}

void ForkGate::reset_in_child() {
  instance();
  new (storage) ForkGate;
}

void bind_fork(nb::module_& module) {
  // os.register_at_fork, not pthread_atfork: a progress callback may want the GIL before its call can end.
  module.def(
      "_before_fork", [] { ForkGate::instance().close(); }, nb::call_guard<nb::gil_scoped_release>());
  module.def("_after_fork_in_parent", [] { ForkGate::instance().open(); });
  module.def("_after_fork_in_child", [] { ForkGate::reset_in_child(); });
  const nb::object register_at_fork = nb::module_::import_("os").attr("register_at_fork");
  register_at_fork(nb::arg("before") = module.attr("_before_fork"),
                   nb::arg("after_in_parent") = module.attr("_after_fork_in_parent"),
                   nb::arg("after_in_child") = module.attr("_after_fork_in_child"));
}

}  // namespace biowarp::python
