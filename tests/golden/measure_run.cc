#include <cstring>
#include <memory>
#include <utility>

#include "broadloom/evaluate/evaluator.h"
#include "broadloom/math/isa.h"
#include "broadloom/rollout/episode_tracker.h"
#include "broadloom/train/trainer.h"
#include "tests/golden/measure.h"

namespace broadloom::golden {
namespace {

template <class T>
std::uint64_t hash_of(const std::vector<T>& values) {
  Numbers numbers;
  numbers.add_bytes(std::span<const T>(values));
  return numbers.hash();
}

std::uint64_t field_hash(const BlockHashes& hashes, std::size_t field) {
  Numbers numbers;
  for (int n = 0; n < hashes.N; ++n) numbers.add(hashes.row(field, n));
  for (int t = 0; t < hashes.T; ++t) numbers.add(hashes.column(field, t));
  return numbers.hash();
}

std::uint64_t parameters_hash(const Trainer& trainer) {
  Numbers numbers;
  numbers.add_bytes(std::span(trainer.params(), trainer.network().parameter_count()));
  return numbers.hash();
}

// The last 100 episodes, whatever the block ended.
EpisodeTracker last_episodes(Trainer& trainer) {
  EpisodeTracker tracker(trainer.config().most_envs());
  std::vector<TensorRef> targets;
  tracker.append_state("episodes", targets);
  for (const TensorRef& source : trainer.state()) {
    for (const TensorRef& tensor : targets) {
      if (tensor.name == source.name) std::memcpy(tensor.data, source.data, source.bytes());
    }
  }
  return tracker;
}

// Losses, norms and statistics of an iteration. The hashes use the mean of the last 100 episodes,
// as in earlier reports.
std::uint64_t report_hash(Trainer& trainer) {
  const EpisodeTracker episodes = last_episodes(trainer);
  IterationReport report = trainer.report();
  report.mean_return = episodes.mean_return();
  report.mean_length = episodes.mean_length();
  report.success_rate = episodes.success_rate();
  report.termination_rate = episodes.termination_rate();
  const EnvSpec& spec = trainer.spec();
  for (std::size_t s = 0; spec.names_success && s < spec.strata.size(); ++s) {
    report.strata[s].value = episodes.success_rate(static_cast<int>(s));
  }
  Numbers numbers;
  visit_numbers(report, [&](const NumberInfo& info, auto value) {
    numbers.add(std::string_view(info.name));
    numbers.add(value);
  });
  return numbers.hash();
}

std::uint64_t tensors_hash(const std::vector<TensorRef>& tensors) {
  Numbers numbers;
  for (const TensorRef& tensor : tensors) {
    numbers.add(std::string_view(tensor.name));
    numbers.add_bytes(std::span(static_cast<const std::byte*>(tensor.data), tensor.bytes()));
  }
  return numbers.hash();
}

std::uint64_t instruments_hash(const Trainer& trainer) {
  Numbers numbers;
  trainer.instruments().visit_numbers([&](const NumberInfo& info, double value) {
    numbers.add(std::string_view(info.name));
    numbers.add(value);
  });
  return numbers.hash();
}

void add_first_iteration(Trainer& trainer, Lines& lines) {
  for (std::size_t field = 0; field < trainer.hashes()->fields.size(); ++field) {
    lines.push_back({std::string("first.") + trainer.hashes()->fields[field],
                     field_hash(*trainer.hashes(), field)});
  }
  lines.push_back({"first.last_values", hash_of(trainer.block().last_values)});
  lines.push_back({"first.advantages", hash_of(trainer.block().advantages)});
  lines.push_back({"first.parameters", parameters_hash(trainer)});
  lines.push_back({"first.report", report_hash(trainer)});
}

void add_last_iteration(Trainer& trainer, Lines& lines) {
  Numbers block;
  for (std::size_t field = 0; field < trainer.hashes()->fields.size(); ++field) {
    block.add(field_hash(*trainer.hashes(), field));
  }
  lines.push_back({"last.block", block.hash()});
  lines.push_back({"last.parameters", parameters_hash(trainer)});
  lines.push_back({"last.state", tensors_hash(trainer.state())});
  lines.push_back({"last.report", report_hash(trainer)});
  if (trainer.config().instruments.empty()) return;
  lines.push_back({"instruments", instruments_hash(trainer)});
  lines.push_back({"instruments.state", tensors_hash(trainer.instrument_state())});
}

Status add_evaluation(const Trainer& trainer, Lines& lines) {
  const Result<std::vector<EvalEpisode>> episodes =
      play_episodes(trainer.policy(), {.episodes = 9, .seed = 1, .threads = 2});
  if (!episodes.ok()) return episodes.status();
  Numbers numbers;
  for (const EvalEpisode& episode : episodes.value()) {
    numbers.add(episode.episode_return);
    numbers.add(episode.length);
    numbers.add(episode.end.reason);
  }
  lines.push_back({"evaluation", numbers.hash()});
  return {};
}

}  // namespace

Result<Lines> measure_run(const Run& run, const std::string& isa) {
  BROADLOOM_TRY(set_isa(isa));
  const Result<Config> config = config_of(run, isa);
  if (!config.ok()) return config.status();
  Result<std::unique_ptr<Trainer>> made = Trainer::create(config.value(), 2);
  if (!made.ok()) return made.status();
  Trainer& trainer = *made.value();
  Lines lines{{"initial.parameters", parameters_hash(trainer)}};
  for (int i = 0; i < run.iterations; ++i) {
    BROADLOOM_TRY(trainer.iterate());
    if (i == 0) add_first_iteration(trainer, lines);
  }
  add_last_iteration(trainer, lines);
  BROADLOOM_TRY(add_evaluation(trainer, lines));
  return lines;
}

}  // namespace broadloom::golden
