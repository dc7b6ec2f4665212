// Model. Shapes: n sequences, P poolings, K layers, C hidden width, L residues, V = 33 tokens.
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "arrays.h"
#include "bindings.h"
#include "biowarp/model.h"
#include "biowarp/perplexity.h"
#include "fork_gate.h"

namespace biowarp::python {
namespace {

using Array = nb::ndarray<nb::numpy, float>;
constexpr std::size_t kVocabulary = 33;

// Runs `compute` without the GIL and inside the fork gate.
template <class Compute>
auto without_gil(const Compute& compute) {
  const nb::gil_scoped_release release;
  const ForkGate::Passage passage;
  return compute();
}

// Asks Python for pending signals after every batch, so that Ctrl-C ends a long call, and reports to
// `callback`.
Progress make_progress(const nb::object& callback) {
  return [callback = callback.ptr()](std::int64_t done, std::int64_t total) {
    const nb::gil_scoped_acquire acquire;
    if (PyErr_CheckSignals() != 0) {
      throw nb::python_error();
    }
    if (callback != Py_None) {
      nb::borrow(callback)(done, total);
    }
  };
}

Model load(const std::string& name, const std::string& revision, const std::string& adapter,
           const std::string& precision, int threads, bool tanh_gelu) {
  return without_gil([&] {
    ModelOptions options;
    options.name = name;
    options.revision = revision;
    options.adapter = adapter;
    options.precision = parse_precision(precision);
    options.threads = threads;
    options.tanh_gelu = tanh_gelu;
    return Model::load(options);
  });
}

nb::dict info(const Model& model) {
  const ModelInfo& from = model.info();
  nb::list notes;
  for (const std::string& note : from.notes) {
    notes.append(to_str(note));
  }
  nb::dict to;
  to["name"] = to_str(from.name);
  to["path"] = to_str(from.path);
  to["format"] = to_str(from.format);
  to["hash"] = to_str(from.hash);
  to["layers"] = from.layers;
  to["hidden"] = from.hidden;
  to["heads"] = from.heads;
  to["feed_forward"] = from.feed_forward;
  to["vocabulary"] = from.vocabulary;
  to["parameters"] = from.parameters;
  to["weight_bytes"] = from.weight_bytes;
  to["dtype"] = to_str(std::string(name_of(from.precision)));
  to["device"] = to_str(from.device);
  to["threads"] = from.threads;
  to["lm_head"] = from.lm_head;
  to["contact_head"] = from.contact_head;
  to["demonstration"] = from.demonstration;
  to["notes"] = nb::tuple(notes);
  return to;
}

Array encode(const Model& model, const std::vector<std::string>& sequences, const std::vector<std::string>& pooling,
             const std::vector<int>& layers, std::int64_t tokens, const nb::object& progress) {
  EncodeOptions options;
  options.layers = layers;
  options.tokens = tokens;
  options.progress = make_progress(progress);
  Embeddings result = without_gil([&] {
    options.pooling.clear();
    for (const std::string& name : pooling) {
      options.pooling.push_back(parse_pooling(name));
    }
    return model.encode(sequences, options);
  });
  return to_numpy(std::move(result.pooled),
                  {sequences.size(), pooling.size(), layers.size(), static_cast<std::size_t>(result.hidden)});
}

nb::list encode_per_residue(const Model& model, const std::vector<std::string>& sequences,
                            const std::vector<int>& layers, std::int64_t tokens, const nb::object& progress) {
  EncodeOptions options;
  options.layers = layers;
  options.pooling.clear();
  options.per_residue = true;
  options.tokens = tokens;
  options.progress = make_progress(progress);
  Embeddings result = without_gil([&] { return model.encode(sequences, options); });
  const auto hidden = static_cast<std::size_t>(result.hidden);
  nb::list arrays;
  for (std::vector<float>& values : result.per_residue) {
    const std::size_t length = values.size() / (layers.size() * hidden);
    arrays.append(to_numpy(std::move(values), {layers.size(), length, hidden}));
  }
  return arrays;
}

Array logits(const Model& model, const std::string& sequence) {
  std::vector<float> values = without_gil([&] { return model.logits(sequence); });
  const std::size_t rows = values.size() / kVocabulary;
  return to_numpy(std::move(values), {rows, kVocabulary});
}

Array contacts(const Model& model, const std::string& sequence) {
  std::vector<float> values = without_gil([&] { return model.contacts(sequence); });
  std::size_t length = 0;
  while (length * length < values.size()) {
    ++length;
  }
  return to_numpy(std::move(values), {length, length});
}

nb::ndarray<nb::numpy, double> pseudo_log_likelihood(const Model& model, const std::string& sequence) {
  std::vector<double> values = without_gil([&] { return model.pseudo_log_likelihood(sequence); });
  const std::size_t length = values.size();
  return to_numpy(std::move(values), {length});
}

nb::tuple masked_loss(const Model& model, const std::vector<std::string>& sequences, double rate,
                      const std::string& scheme, const std::string& random, std::uint64_t seed,
                      std::int64_t max_length) {
  const MaskedLoss result = without_gil([&] {
    MaskOptions masks;
    masks.rate = rate;
    masks.scheme = parse_mask_scheme(scheme);
    masks.random = parse_random_letters(random);
    masks.seed = seed;
    return biowarp::masked_loss(model, sequences, masks, max_length);
  });
  return nb::make_tuple(result.loss, result.perplexity, result.positions);
}

}  // namespace

void bind_model(nb::module_& module) {
  nb::class_<Model>(module, "Model", "A loaded model; see biowarp.Model.")
      .def_static("load", &load, nb::arg("name"), nb::arg("revision"), nb::arg("adapter"), nb::arg("precision"),
                  nb::arg("threads"), nb::arg("tanh_gelu"))
      .def("info", &info, nb::sig("def info(self) -> dict[str, typing.Any]"), "Fields of biowarp.ModelInfo.")
      .def("encode", &encode, nb::arg("sequences"), nb::arg("pooling"), nb::arg("layers"), nb::arg("tokens"),
           nb::arg("progress").none(), "[n, P, K, C] float32.")
      .def("encode_per_residue", &encode_per_residue, nb::arg("sequences"), nb::arg("layers"), nb::arg("tokens"),
           nb::arg("progress").none(),
           nb::sig("def encode_per_residue(self, sequences: list[str], layers: list[int], tokens: int, "
                   "progress: object) -> list[numpy.typing.NDArray[numpy.float32]]"),
           "n arrays [K, L, C] float32.")
      .def("logits", &logits, nb::arg("sequence"), "[L + 2, V] float32.")
      .def("contacts", &contacts, nb::arg("sequence"), "[L, L] float32.")
      .def("pseudo_log_likelihood", &pseudo_log_likelihood, nb::arg("sequence"), "[L] float64.")
      .def("masked_loss", &masked_loss, nb::arg("sequences"), nb::arg("rate"), nb::arg("scheme"), nb::arg("random"),
           nb::arg("seed"), nb::arg("max_length"),
           nb::sig("def masked_loss(self, sequences: list[str], rate: float, scheme: str, random: str, seed: int, "
                   "max_length: int) -> tuple[float, float, int]"),
           "(loss, perplexity, positions).");
}

}  // namespace biowarp::python
