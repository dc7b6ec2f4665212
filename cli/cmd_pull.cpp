// `biowarp pull NAME`: fetches a model into the Hugging Face cache.
#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "biowarp/hub.h"
#include "command.h"
#include "progress.h"

namespace {

constexpr std::int64_t kMegabyte = 1'000'000;

std::string size_text(std::int64_t bytes) {
  if (bytes >= kMegabyte) return fmt::format("{:.1f} MB", static_cast<double>(bytes) / kMegabyte);
  return fmt::format("{:.1f} kB", static_cast<double>(bytes) / 1000);
}

void report(const biowarp::PullResult& result) {
  for (const biowarp::PulledFile& file : result.files) {
    fmt::print(stderr, "  {:<36} {:>12}  {}\n", file.name, size_text(file.bytes),
               file.downloaded ? "downloaded, verified" : "in the cache already");
  }
  fmt::print(stderr, "{} at commit {} is in\n", result.repo, result.commit);
  fmt::print("{}\n", result.snapshot);
}

int run(biowarp::PullOptions options) {
  options.repo = biowarp::hub_name(options.repo);
  ProgressLine progress("MB");
  options.progress = [&](const biowarp::PullProgress& now) {
    progress.update(now.done / kMegabyte, std::max<std::int64_t>(1, now.total / kMegabyte));
  };
  const biowarp::PullResult result = biowarp::pull(options);
  progress.clear();
  report(result);
  return 0;
}

std::function<int()> declare(CLI::App& app) {
  const auto options = std::make_shared<biowarp::PullOptions>();
  app.add_option("NAME", options->repo, "model on the hub (owner/name), or a short name: 8M, 650M, t33")->required();
  app.add_option("--revision", options->revision, "branch, tag or commit (main)")->type_name("R");
  app.add_option("--endpoint", options->endpoint, "server ($HF_ENDPOINT, or https://huggingface.co)")->type_name("URL");
  app.add_option("--cache", options->cache, "cache folder ($HF_HUB_CACHE, or ~/.cache/huggingface/hub)")
      ->type_name("DIR");
  return [options] { return run(*options); };
}

}  // namespace

Command pull_command() {
  return {"pull", "fetch a model from a Hugging Face hub into its cache",
          "biowarp pull 650M\n"
          "biowarp pull facebook/esm2_t6_8M_UR50D --revision main\n"
          "HF_TOKEN=... biowarp pull someone/private-model",
          declare};
}
