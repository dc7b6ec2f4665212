// How a long chain is cut into overlapping windows, and with which weights their rows are merged.
//
// A chain of L residues gets the fewest windows of `length` residues that overlap by at least `overlap`,
// spread evenly. Weights are those of esm-variants (github.com/ntranoslab/esm-variants,
// get_intervals_and_weights): over half the overlap at each end that has a neighbour, a window's weight
// follows a logistic curve from nearly 0 to nearly 1; it is 1 elsewhere. Over the windows that cover a
// residue the weights are scaled to sum 1.
#pragma once

#include <cstdint>
#include <vector>

namespace biowarp {

class Windows {
 public:
  // 0 <= overlap < length. A chain of up to `length` residues is one window.
  Windows(std::int64_t chain, std::int64_t length, std::int64_t overlap);

  std::int64_t count() const { return static_cast<std::int64_t>(starts_.size()); }
  std::int64_t start(std::int64_t window) const { return starts_[static_cast<std::size_t>(window)]; }
  std::int64_t length() const { return length_; }  // of every window

  // Weights [length] of one window's residues.
  std::vector<float> weights(std::int64_t window) const;

 private:
  double raw_weight(std::int64_t window, std::int64_t offset) const;

  std::int64_t length_;
  std::int64_t ramp_;  // residues of the logistic curve
  std::vector<std::int64_t> starts_;
};

}  // namespace biowarp
