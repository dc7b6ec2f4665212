// Lets fork() happen only while no thread computes.
//
// A child process has the forking thread alone. Were another thread inside a model at that moment, its locks
// would stay locked in the child for ever. So calls that compute pass the gate, and fork() closes it for its
// duration.
#pragma once

#include <condition_variable>
#include <mutex>

namespace biowarp::python {

class ForkGate {
 public:
  static ForkGate& instance();

  void enter();
  void leave();

  // Waits until nobody is inside, then keeps everybody out. A thread that is inside itself passes at once.
  void close();
  void open();
  // In the child: nobody is inside, whatever the memory of the parent says.
  static void reset_in_child();

  // Inside the gate for the lifetime of the object. Take it without the GIL.
  class Passage {
   public:
    Passage() { instance().enter(); }
    ~Passage() { instance().leave(); }
    Passage(const Passage&) = delete;
    Passage& operator=(const Passage&) = delete;
  };

 private:
  std::mutex mutex_;
  std::condition_variable changed_;
  int inside_ = 0;
  bool closed_ = false;
};

}  // namespace biowarp::python
