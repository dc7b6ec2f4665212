#include "tasks/contact_map.h"

#include <cmath>

#include "base/environment.h"
#include "base/fail.h"

namespace biowarp {
namespace {

// f32 maps of L x L that exist at once: the result, one head's probabilities and the sum over heads, and
// slack.
constexpr double kMapsAtOnce = 4;

}  // namespace

void require_contact_head(const Engine& engine) {
  if (engine.config().has_contact_head) return;
  fail_input(
      "model {} has no trained contact head (contact_head.regression): embeddings work, contacts do not; use "
      "a "
      "checkpoint that has one, for example facebook/esm2_t33_650M_UR50D",
      engine.info().name);
}

std::int64_t longest_contact_map() {
  return static_cast<std::int64_t>(std::sqrt(static_cast<double>(available_memory()) / (kMapsAtOnce * sizeof(float))));
}

std::vector<float> contact_map(Engine& engine, std::span<const std::uint8_t> residues) {
  const auto length = static_cast<std::int64_t>(residues.size());
  if (length == 0) return {};
  if (length > longest_contact_map()) {
    fail(ErrorKind::device, "a contact map of {} residues needs {:.1f} GiB of memory, {:.1f} GiB are free", length,
         kMapsAtOnce * sizeof(float) * static_cast<double>(length) * static_cast<double>(length) / 0x1p30,
         static_cast<double>(available_memory()) / 0x1p30);
  }
  PackedBatch batch;
  batch.add(residues, 0);
  std::vector<float> map(static_cast<std::size_t>(length * length));
  engine.with_session(batch.rows(), [&](Esm2Session& session, Context&) { session.contacts(batch, map.data()); });
  return map;
}

}  // namespace biowarp
