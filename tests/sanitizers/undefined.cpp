// Defect: a signed sum that does not fit.
#include <limits>

int main(int count, char**) {
  volatile int sum = std::numeric_limits<int>::max();
  sum = sum + count;
  return sum == 0;
}
