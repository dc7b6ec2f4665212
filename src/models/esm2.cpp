#include "models/esm2.h"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <optional>

#include "base/cpu.h"
#include "base/fail.h"
#include "nn/encoder_layer.h"
#include "nn/lm_head.h"
#include "nn/panels.h"
#include "ops/attention/attention.h"
#include "ops/attention/contacts.h"
#include "ops/common/impl.h"
#include "ops/embedding/embedding.h"
#include "ops/layernorm/layernorm.h"
#include "seq/alphabet.h"

namespace biowarp {

struct Esm2::Weights {
  Esm2Config config;
  EncoderShape shape;
  std::vector<float> embedding;  // [V, C]
  std::vector<EncoderLayer> layers;
  std::vector<float> final_weight, final_bias;  // [C]
  std::optional<LmHead> lm_head;
  std::vector<float> contact_weight;  // [layers*H]
  float contact_bias = 0;
};

namespace {

void check_sizes(const Esm2Config& config) {
  const auto bad = [&](const char* expected) {
    fail_input("expected {}, got hidden {}, heads {}, feed-forward {}, layers {}", expected, config.hidden,
               config.heads, config.feed_forward, config.layers);
  };
  if (config.layers < 1 || config.hidden < 1 || config.heads < 1 || config.feed_forward < 1) bad("positive sizes");
  if (config.hidden % config.heads != 0) bad("a hidden size that is a multiple of the number of heads");
  if (config.head_width() % 2 != 0) bad("an even head width (rotary positions pair its two halves)");
  if (config.head_width() > 128) bad("a head width of at most 128");
}

// The reference rows could compute any precision anywhere, but a thousand times too slowly to be what a
// person wants.
void check_processor(const EncoderShape& shape) {
  const GemmDesc desc{shape.hidden, shape.hidden, shape.precision};
  if (gemm_implementation(desc) != "reference" || !forced_row("gemm").empty()) return;
  fail(ErrorKind::device, "expected a processor for {} ({}), this one has {}; use f32", name_of(shape.precision),
       gemm_objection("onednn", desc), describe_cpu());
}

EncoderShape shape_of(const Esm2Config& config, Precision precision) {
  return {config.hidden, config.heads, config.feed_forward, config.layer_norm_eps, config.tanh_gelu, precision};
}

std::string layer_prefix(std::int64_t i) { return fmt::format("layer.{}.", i); }

}  // namespace

Esm2::Esm2() = default;
Esm2::~Esm2() = default;

std::shared_ptr<const Esm2> Esm2::build(Context& context, const Esm2Config& config, const ParamSource& params,
                                        Precision precision) {
  check_sizes(config);
  const EncoderShape shape = shape_of(config, precision);
  check_processor(shape);
  const ParamReader read = [&](std::string_view name, std::int64_t first, std::int64_t count, float* out) {
    params.read(name, first, count, out);
  };

  auto model = std::shared_ptr<Esm2>(new Esm2());
  model->weights_ = std::make_unique<Weights>();
  Weights& w = *model->weights_;
  w.config = config;
  w.shape = shape;
  w.embedding.resize(static_cast<std::size_t>(config.vocabulary * config.hidden));
  read("embed.weight", 0, config.vocabulary, w.embedding.data());
  w.final_weight = read_vector(read, "final_norm.weight", config.hidden);
  w.final_bias = read_vector(read, "final_norm.bias", config.hidden);
  if (config.has_contact_head) {
    w.contact_weight = read_vector(read, "contact.weight", config.layers * config.heads);
    w.contact_bias = read_vector(read, "contact.bias", 1).front();
  }

  for (std::int64_t i = 0; i < config.layers; ++i) w.layers.emplace_back(shape, read, layer_prefix(i));
  const std::int64_t linears = config.layers * EncoderLayer::kLinears;
  context.parallel_for(linears + (config.has_lm_head ? 1 : 0), [&](Context&, std::int64_t task) {
    if (task == linears) {
      const char* decoder = params.has("lm_head.decoder.weight") ? "lm_head.decoder.weight" : "embed.weight";
      w.lm_head.emplace(config.hidden, config.vocabulary, config.layer_norm_eps, read, decoder);
    } else {
      w.layers[static_cast<std::size_t>(task / EncoderLayer::kLinears)].pack(task % EncoderLayer::kLinears, read);
    }
  });
  return model;
}

const Esm2Config& Esm2::config() const { return weights_->config; }
Precision Esm2::precision() const { return weights_->shape.precision; }

std::int64_t Esm2::weight_bytes() const {
  const auto vectors = weights_->embedding.size() + 2 * weights_->final_weight.size() + weights_->contact_weight.size();
  std::int64_t sum = static_cast<std::int64_t>(vectors * sizeof(float));
  for (const EncoderLayer& layer : weights_->layers) sum += layer.bytes();
  return sum + (weights_->lm_head ? weights_->lm_head->bytes() : 0);
}

namespace {

// What a session books: activations once, panels and attention per worker.
struct SessionPlan {
  std::int64_t rows;  // max_tokens rounded up to whole panels' quantum
  ArenaLayout activations, scratch;
  Slot x, qkv, attended, final, positions;
  PanelScratch panel;
  Attention attention;
  Slot attention_scratch;
  std::optional<LmHead::Scratch> head;
  Slot head_rows, head_logits;

  SessionPlan(const Esm2Config& config, const EncoderShape& shape, std::int64_t max_tokens)
      : rows(padded_rows(max_tokens)),
        panel(shape, scratch),
        attention({shape.activation_dtype(), shape.heads, shape.head_width()}) {
    const auto element = static_cast<std::int64_t>(size_of(shape.activation_dtype()));
    const std::int64_t C = config.hidden;
    x = activations.book("x", rows * C * 4);
    qkv = activations.book("qkv", rows * 3 * C * element);
    attended = activations.book("attended", rows * C * element);
    final = activations.book("final", rows * C * 4);
    positions = activations.book("positions", rows * 4);
    attention_scratch = scratch.book("attention", std::max(attention.scratch_bytes(max_tokens),
                                                           contact_scratch_bytes(shape.head_width(), max_tokens)));
    if (!config.has_lm_head) return;
    head.emplace(C, scratch);
    head_rows = scratch.book("head.rows", kPanelRows * C * 4);
    head_logits = scratch.book("head.logits", kPanelRows * config.vocabulary * 4);
  }
};

}  // namespace

struct Esm2Session::State {
  std::shared_ptr<const Esm2> model;
  const Esm2::Weights& w;
  Context& context;
  std::int64_t max_tokens;
  SessionPlan plan;
  HostArena activations;
  RotaryTable rotary;

  State(std::shared_ptr<const Esm2> esm2, Context& root, std::int64_t tokens)
      : model(std::move(esm2)),
        w(model->weights()),
        context(root),
        max_tokens(tokens),
        plan(w.config, w.shape, tokens),
        activations(plan.activations),
        rotary(w.config.head_width(), w.config.inv_freq) {
    context.plan_scratch(plan.scratch);
  }

  template <class T>
  T* at(Slot slot, std::int64_t row = 0, std::int64_t width = 0) {
    return activations.at<T>(slot) + row * width;
  }
  std::byte* activation_row(Slot slot, std::int64_t row, std::int64_t width) {
    return at<std::byte>(slot) + row * width * static_cast<std::int64_t>(size_of(w.shape.activation_dtype()));
  }
  float scale() const { return 1.0f / std::sqrt(static_cast<float>(w.config.head_width())); }

  void begin(const PackedBatch& batch);
  void run_panels(const PackedBatch& batch, std::int64_t layer);
  void attend(const PackedBatch& batch);
  void head_panel(Context& lane, std::span<const std::int64_t> rows, float* out);
};

// Embeds the batch and completes the padding rows.
void Esm2Session::State::begin(const PackedBatch& batch) {
  if (batch.rows() > max_tokens) {
    fail(ErrorKind::internal, "expected a batch of at most {} tokens, got {}", max_tokens, batch.rows());
  }
  const std::int64_t rows = batch.rows(), padded = padded_rows(rows), C = w.config.hidden;
  embed_tokens(context, {w.embedding.data(), C, batch.tokens, batch.cu_lens, batch.dropout_scale,
                         w.config.token_dropout, esm::kMask, padded, at<float>(plan.x)});
  std::copy(batch.positions.begin(), batch.positions.end(), at<std::int32_t>(plan.positions));
  std::fill_n(at<std::int32_t>(plan.positions) + rows, padded - rows, 0);
  std::fill_n(activation_row(plan.attended, rows, C),
              (padded - rows) * C * static_cast<std::int64_t>(size_of(w.shape.activation_dtype())), std::byte{0});
  rotary.reserve(batch.longest);
}

// Panel by panel: the end of layer - 1 (if any), then the start of `layer` or, behind the last one, the final
// norm.
void Esm2Session::State::run_panels(const PackedBatch& batch, std::int64_t layer) {
  const std::int64_t C = w.config.hidden;
  for_panels(context, batch.rows(), [&](Context& lane, std::int64_t first, std::int64_t count) {
    const EncoderLayer::Rows rows{at<float>(plan.x, first, C), count};
    if (layer > 0) {
      w.layers[static_cast<std::size_t>(layer - 1)].finish(lane, plan.panel, rows,
                                                           activation_row(plan.attended, first, C));
    }
    if (layer < w.config.layers) {
      w.layers[static_cast<std::size_t>(layer)].attention_inputs(lane, plan.panel, rows,
                                                                 at<std::int32_t>(plan.positions, first, 1), rotary,
                                                                 activation_row(plan.qkv, first, 3 * C));
    } else {
      layernorm(lane, {rows.x, count, C, w.final_weight.data(), w.final_bias.data(), w.config.layer_norm_eps,
                       at<float>(plan.final, first, C), DType::f32});
    }
  });
}

void Esm2Session::State::attend(const PackedBatch& batch) {
  plan.attention.run(context, plan.attention_scratch,
                     {at<std::byte>(plan.qkv), batch.cu_lens, scale(), at<std::byte>(plan.attended)});
}

// rows.size() <= kPanelRows; out [rows, V]
void Esm2Session::State::head_panel(Context& lane, std::span<const std::int64_t> rows, float* out) {
  const std::int64_t C = w.config.hidden, V = w.config.vocabulary;
  const auto count = static_cast<std::int64_t>(rows.size()), padded = padded_rows(count);
  float *h = lane.scratch<float>(plan.head_rows), *logits = lane.scratch<float>(plan.head_logits);
  for (std::int64_t i = 0; i < count; ++i)
    std::copy_n(at<float>(plan.final, rows[static_cast<std::size_t>(i)], C), C, h + i * C);
  std::fill_n(h + count * C, (padded - count) * C, 0.0f);
  w.lm_head->forward(lane, *plan.head, h, padded, logits);
  std::copy_n(logits, count * V, out);
}

Esm2Session::Esm2Session(std::shared_ptr<const Esm2> model, Context& context, std::int64_t max_tokens)
    : state_(std::make_unique<State>(std::move(model), context, max_tokens)) {}
Esm2Session::~Esm2Session() = default;

std::int64_t Esm2Session::max_tokens() const { return state_->max_tokens; }

std::int64_t Esm2Session::memory_for(const Esm2Config& config, Precision precision, std::int64_t max_tokens,
                                     int workers) {
  const SessionPlan plan(config, shape_of(config, precision), max_tokens);
  return plan.activations.bytes() + workers * plan.scratch.bytes();
}

void Esm2Session::forward(const PackedBatch& batch, std::span<const int> layers, const HiddenSink& sink) {
  State& s = *state_;
  const auto last = static_cast<int>(s.w.config.layers);
  const auto deliver = [&](int layer, Slot hidden) {
    if (std::find(layers.begin(), layers.end(), layer) != layers.end()) sink(layer, s.at<float>(hidden));
  };
  s.begin(batch);
  for (int layer = 0; layer < last; ++layer) {
    s.run_panels(batch, layer);
    deliver(layer, s.plan.x);
    s.attend(batch);
  }
  s.run_panels(batch, last);
  deliver(last, s.plan.final);
}

void Esm2Session::logits(std::span<const std::int64_t> rows, float* out) {
  State& s = *state_;
  assert(s.w.lm_head);
  const auto count = static_cast<std::int64_t>(rows.size());
  s.context.parallel_for((count + kPanelRows - 1) / kPanelRows, [&](Context& lane, std::int64_t panel) {
    const std::int64_t first = panel * kPanelRows;
    const auto part =
        rows.subspan(static_cast<std::size_t>(first), static_cast<std::size_t>(std::min(kPanelRows, count - first)));
    s.head_panel(lane, part, out + first * s.w.config.vocabulary);
  });
}

void Esm2Session::contacts(const PackedBatch& batch, float* out) {
  State& s = *state_;
  assert(batch.sequences() == 1 && s.w.config.has_contact_head);
  const Esm2Config& config = s.w.config;
  const std::int64_t L = batch.rows() - 2, H = config.heads;
  if (L == 0) return;
  ArenaLayout layout;
  const Slot map = layout.book("contact map", L * L * 4), sums = layout.book("row sums", config.layers * H * L * 4),
             bands = layout.book("column sums", kContactBands * H * L * 4);
  const HostArena arena(layout);
  std::fill_n(arena.at<float>(map), L * L, 0.0f);

  s.begin(batch);
  for (std::int64_t layer = 0; layer < config.layers; ++layer) {
    s.run_panels(batch, layer);
    add_contact_scores(s.context, s.plan.attention_scratch,
                       {s.at<std::byte>(s.plan.qkv), s.w.shape.activation_dtype(), L, H, config.head_width(), s.scale(),
                        s.w.contact_weight.data() + layer * H, arena.at<float>(map),
                        arena.at<float>(sums) + layer * H * L, arena.at<float>(bands)});
    if (layer + 1 < config.layers) s.attend(batch);
  }
  finish_contacts(s.context, {arena.at<float>(map), arena.at<float>(sums), s.w.contact_weight.data(), config.layers * H,
                              L, s.w.contact_bias, out});
}

}  // namespace biowarp
