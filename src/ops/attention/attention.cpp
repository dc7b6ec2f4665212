#include "ops/attention/attention.h"

#include <algorithm>
#include <array>

#include "ops/attention/attention_row.h"
#include "ops/common/impl.h"

namespace biowarp {
namespace {

const std::array<AttentionRow, 4>& rows() {
  static const std::array<AttentionRow, 4> list{kAttentionAmx, kAttentionAvx512Bf16, kAttentionSimd,
                                                kAttentionReference};
  return list;
}

// Long sequences are cut into chunks of queries, so that one protein can keep every worker busy. Each chunk
// packs the keys again; at this many queries that costs well under a percent.
constexpr std::int64_t kQueriesPerTask = 768;

struct Task {
  std::int64_t sequence, head, first_query;
};

std::vector<Task> tasks_of(std::span<const std::int64_t> cu_lens, std::int64_t heads) {
  std::vector<Task> tasks;
  for (std::int64_t n = 0; n + 1 < static_cast<std::int64_t>(cu_lens.size()); ++n) {
    for (std::int64_t first = 0; first < cu_lens[n + 1] - cu_lens[n]; first += kQueriesPerTask) {
      for (std::int64_t head = 0; head < heads; ++head) tasks.push_back({n, head, first});
    }
  }
  // longest first, so that the last tasks to start are short
  std::stable_sort(tasks.begin(), tasks.end(), [&](const Task& a, const Task& b) {
    return cu_lens[a.sequence + 1] - cu_lens[a.sequence] > cu_lens[b.sequence + 1] - cu_lens[b.sequence];
  });
  return tasks;
}

}  // namespace

Attention::Attention(const AttentionDesc& desc)
    : desc_(desc), row_(&choose_row<AttentionRow, AttentionDesc>("attention", rows(), desc)) {}

const char* Attention::implementation() const { return row_->name; }

std::int64_t Attention::scratch_bytes(std::int64_t longest) const { return row_->scratch_bytes(desc_, longest); }

void Attention::run(Context& context, Slot scratch, const AttentionArgs& args) const {
  const std::int64_t width = desc_.head_width, qkv_stride = desc_.heads * 3 * width, out_stride = desc_.heads * width;
  const auto element = static_cast<std::int64_t>(size_of(desc_.dtype));
  const std::vector<Task> tasks = tasks_of(args.cu_lens, desc_.heads);
  context.parallel_for(static_cast<std::int64_t>(tasks.size()), [&](Context& lane, std::int64_t index) {
    const Task& task = tasks[static_cast<std::size_t>(index)];
    const std::int64_t first_row = args.cu_lens[task.sequence];
    const std::int64_t length = args.cu_lens[task.sequence + 1] - first_row;
    const std::int64_t queries = std::min(kQueriesPerTask, length - task.first_query);
    const OpTimer timer(lane, OpKind::attention, 4 * queries * length * width);
    const auto* qkv =
        static_cast<const std::byte*>(args.qkv) + (first_row * qkv_stride + task.head * 3 * width) * element;
    auto* out = static_cast<std::byte*>(args.out) + (first_row * out_stride + task.head * width) * element;
    row_->run({qkv, qkv_stride, length, width, task.first_query, queries, args.scale, out, out_stride}, desc_.dtype,
              lane.scratch<std::byte>(scratch));
  });
}

std::vector<std::string> attention_rows() {
  std::vector<std::string> names;
  for (const AttentionRow& row : rows()) names.emplace_back(row.name);
  return names;
}

std::string attention_objection(const std::string& name, const AttentionDesc& desc) {
  for (const AttentionRow& row : rows()) {
    if (name == row.name) return row.why_not(desc);
  }
  fail(ErrorKind::internal, "attention has no row named {}", name);
}

}  // namespace biowarp
