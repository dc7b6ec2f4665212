// Defect: loses a heap block.
int main(int count, char**) {
  int* volatile lost = new int[static_cast<unsigned>(count)];
  lost = nullptr;
  return lost != nullptr;
}
