// oneDNN matmul, one single-threaded primitive per panel size, weights in the layout oneDNN likes best.
//
// oneDNN's brgemm kernels give a row the same bits whatever the panel; its other kernels do not, or are slow,
// so an implementation whose name starts with "ref" or "gemm" is refused. Both the 2.6 API of Debian 12
// and 3.x compile.
#include <omp.h>

#include <algorithm>
#include <array>
#include <oneapi/dnnl/dnnl.hpp>

#include "base/cpu.h"
#include "base/fail.h"
#include "mem/slab.h"
#include "ops/gemm/gemm_rows.h"

namespace biowarp {
namespace {

using Type = dnnl::memory::data_type;
using Tag = dnnl::memory::format_tag;
constexpr std::int64_t kLargest = 128;                        // rows of one primitive; larger panels take several
constexpr std::int64_t kPanelSizes = kLargest / kRowQuantum;  // 32, 64, 96, 128 rows

// oneDNN asks OpenMP for threads, both when it plans and when it runs. Our workers are the threads, so each
// call sees exactly one; the caller's own setting is put back.
class OneOpenMpThread {
 public:
  OneOpenMpThread() : before_(omp_get_max_threads()) {
    if (before_ != 1) omp_set_num_threads(1);
  }
  ~OneOpenMpThread() {
    if (before_ != 1) omp_set_num_threads(before_);
  }
  OneOpenMpThread(const OneOpenMpThread&) = delete;
  OneOpenMpThread& operator=(const OneOpenMpThread&) = delete;

 private:
  int before_;
};

dnnl::engine& engine() {
  static dnnl::engine cpu = [] {
    const CpuFeatures& features = cpu_features();
    if (!features.avx512) {
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
    } else if (!features.avx512_bf16) {
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_vnni);
    } else if (!features.amx_bf16) {
      dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx512_core_bf16);
    }
    return dnnl::engine(dnnl::engine::kind::cpu, 0);
  }();
  return cpu;
}

std::int64_t element_of(Type type) { return type == Type::f32 ? 4 : type == Type::bf16 ? 2 : 1; }

struct Types {
  Type x, w, y;
};

Types types_of(Precision precision) {
  switch (precision) {
    case Precision::f32: return {Type::f32, Type::f32, Type::f32};
    case Precision::bf16: return {Type::bf16, Type::bf16, Type::f32};
    case Precision::int8: return {Type::u8, Type::s8, Type::s32};
  }
  return {};
}

// Matmul of a [rows, K] panel. `weights` may leave the layout to oneDNN (Tag::any).
dnnl::matmul::primitive_desc describe(const GemmDesc& desc, std::int64_t rows, const dnnl::memory::desc& weights) {
  const Types types = types_of(desc.precision);
  const dnnl::memory::desc x({rows, desc.in}, types.x, Tag::ab), y({rows, desc.out}, types.y, Tag::ab);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  const bool with_bias = desc.precision != Precision::int8;
  const dnnl::memory::desc bias({1, desc.out}, Type::f32, Tag::ab);
#if DNNL_VERSION_MAJOR >= 3
  return with_bias ? dnnl::matmul::primitive_desc(engine(), x, weights, bias, y, attributes)
                   : dnnl::matmul::primitive_desc(engine(), x, weights, y, attributes);
#else
  const auto matmul = with_bias ? dnnl::matmul::desc(x, weights, bias, y) : dnnl::matmul::desc(x, weights, y);
  return {matmul, attributes, engine()};
#endif
}

dnnl::memory::desc any_layout(const GemmDesc& desc) {
  return {{desc.in, desc.out}, types_of(desc.precision).w, Tag::any};
}

class OneDnn : public GemmWeights {
 public:
  explicit OneDnn(const PlainWeights& plain) {
    const OneOpenMpThread single;
    const auto whole = describe(plain.desc, kLargest, any_layout(plain.desc));
    const dnnl::memory::desc layout = whole.weights_desc();
    for (std::int64_t i = 0; i < kPanelSizes; ++i) {
      const auto panel = describe(plain.desc, (i + 1) * kRowQuantum, layout);
      panels_[static_cast<std::size_t>(i)] = {dnnl::matmul(panel), panel.src_desc(), panel.dst_desc(),
                                              panel.scratchpad_desc()};
    }
    packed_ = SlabBlock(static_cast<std::int64_t>(layout.get_size()));
    weights_ = dnnl::memory(layout, engine(), packed_.as<void>());
    bias_desc_ = dnnl::memory::desc({1, plain.desc.out}, Type::f32, Tag::ab);
    reorder_from(plain);
  }

  std::int64_t bytes() const override { return packed_.bytes(); }

  void run(const void* x, std::int64_t rows, void* y) const override {
    const OneOpenMpThread single;
    const auto x_row = static_cast<std::int64_t>(desc_.in * element_of(types_of(desc_.precision).x));
    for (std::int64_t first = 0; first < rows; first += kLargest) {
      run_part(static_cast<const std::byte*>(x) + first * x_row, std::min(kLargest, rows - first),
               static_cast<std::byte*>(y) + first * desc_.out * 4);
    }
  }

 private:
  struct Panel {
    dnnl::matmul primitive;
    dnnl::memory::desc x, y, scratchpad;
  };

  // rows <= kLargest
  void run_part(const void* x, std::int64_t rows, void* y) const {
    thread_local dnnl::stream stream(engine());
    thread_local std::vector<std::byte> scratch;
    const Panel& panel = panels_[static_cast<std::size_t>(rows / kRowQuantum - 1)];
    if (scratch.size() < panel.scratchpad.get_size()) scratch.resize(panel.scratchpad.get_size());
    std::unordered_map<int, dnnl::memory> args{{DNNL_ARG_SRC, {panel.x, engine(), const_cast<void*>(x)}},
                                               {DNNL_ARG_WEIGHTS, weights_},
                                               {DNNL_ARG_DST, {panel.y, engine(), y}},
                                               {DNNL_ARG_SCRATCHPAD, {panel.scratchpad, engine(), scratch.data()}}};
    if (desc_.precision != Precision::int8) {
      args.insert({DNNL_ARG_BIAS, {bias_desc_, engine(), const_cast<float*>(bias_.data())}});
    }
    panel.primitive.execute(stream, args);
    stream.wait();
  }

  void reorder_from(const PlainWeights& plain) {
    const Types types = types_of(plain.desc.precision);
    const void* data = plain.desc.precision == Precision::f32    ? static_cast<const void*>(plain.f32.data())
                       : plain.desc.precision == Precision::bf16 ? static_cast<const void*>(plain.bf16.data())
                                                                 : static_cast<const void*>(plain.int8.data());
    // w [N,K] row-major is a [K,N] matrix in column-major order
    dnnl::memory source({{plain.desc.in, plain.desc.out}, types.w, Tag::ba}, engine(), const_cast<void*>(data));
    dnnl::stream stream(engine());
    dnnl::reorder(source, weights_).execute(stream, source, weights_);
    stream.wait();
  }

  std::array<Panel, kPanelSizes> panels_;
  SlabBlock packed_;
  dnnl::memory weights_;  // over packed_
  dnnl::memory::desc bias_desc_;
};

std::string missing_instructions(Precision precision) {
  const CpuFeatures& cpu = cpu_features();
  switch (precision) {
    case Precision::f32: return cpu.avx512 ? "" : "f32 rows keep their bits only from AVX-512 on";
    case Precision::bf16: return cpu.avx512_bf16 || cpu.amx_bf16 ? "" : "needs AVX512-BF16 or AMX";
    case Precision::int8: return cpu.avx512_vnni || cpu.amx_int8 ? "" : "needs AVX512-VNNI or AMX";
  }
  return "unknown precision";
}

std::string refuse(const GemmDesc& desc) {
  if (std::string missing = missing_instructions(desc.precision); !missing.empty()) return missing;
  const OneOpenMpThread single;
  const auto any = any_layout(desc);
  for (const std::int64_t rows : {kRowQuantum, kLargest}) {
    const std::string kernel = describe(desc, rows, any).impl_info_str();
    if (kernel.rfind("ref", 0) == 0 || kernel.rfind("gemm", 0) == 0) return "oneDNN has only '" + kernel + "' here";
  }
  return {};
}

std::unique_ptr<GemmWeights> pack(const PlainWeights& plain) { return std::make_unique<OneDnn>(plain); }

}  // namespace

const GemmRow kGemmOneDnn{"onednn", refuse, pack};

}  // namespace biowarp
