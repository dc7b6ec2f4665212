// Defect: two threads count without a lock.
#include <thread>

int main() {
  int count = 0;
  const auto work = [&count] {
    for (int i = 0; i < 100000; ++i) ++count;
  };
  std::thread one(work), two(work);
  one.join();
  two.join();
  return count == 0;
}
