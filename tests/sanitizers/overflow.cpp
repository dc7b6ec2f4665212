// Defect: reads one element behind a heap block.
#include <vector>

int main(int count, char**) {
  const std::vector<int> values(static_cast<std::size_t>(count), 1);
  return values.data()[values.size()] == 1;
}
