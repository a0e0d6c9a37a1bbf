// Sets each tensor of a run's state to extremes, with a valid checksum, and resumes the run. Values
// outside a tensor's range must be refused with its name. Other values must run on or end in an
// error; nothing may crash.
//
//   fuzz_state        every case
//   fuzz_state 300    300 cases, spread over all
//
// The last line that is printed names the case that crashed.
#include <fmt/core.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"

namespace {

using namespace broadloom;

constexpr int kIterations = 3;

struct Run {
  std::string name;
  Overrides keys;
};

// Every environment, and every kind of state that a run can have beside it.
std::vector<Run> all_runs() {
  const Overrides cart{{"env_id", "CartPole-v1"}};
  const Overrides strata{{"strata.narrow.half_length", "0.4..0.6"},
                         {"strata.wide.half_length", "0.2..0.9"}};
  const Overrides disturbed{{"disturb.action_delay", "2"}, {"disturb.push_interval", "3"}};
  const auto extended = [](Overrides keys, const Overrides& more) {
    keys.insert(keys.end(), more.begin(), more.end());
    return keys;
  };
  std::vector<Run> runs;
  for (const EnvSpec& spec : list_envs()) runs.push_back({spec.id, {{"env_id", spec.id}}});
  for (const char* id : {"Taxi-v3", "Pendulum-v1", "MinAtar/Breakout-v0"})
    runs.push_back({fmt::format("{} disturbed", id), extended({{"env_id", id}}, disturbed)});
  runs.push_back({"normalised", extended(cart, {{"norm_obs", "true"}, {"norm_reward", "true"}})});
  runs.push_back({"strata", extended(cart, extended(strata, {{"instruments", "audit,coverage"}}))});
  runs.push_back({"curriculum", extended(cart, extended(strata, {{"curriculum", "narrow,wide"},
                                                                 {"curriculum_episodes", "3"}}))});
  runs.push_back({"stacks", {{"env_id", "MinAtar/Breakout-v0"}, {"env.frame_stack", "2"}}});
  runs.push_back({"pqn", extended(cart, {{"algorithm", "pqn"}})});
  runs.push_back({"rnd", extended(cart, {{"algorithm", "ppo_rnd"}})});
  runs.push_back({"shapes", extended(cart, {{"shape_schedule", "2x8 @ 0, 4x8 @ 0.5"}})});
  for (Run& run : runs) {
    run.keys = extended({{"num_envs", "4"},
                         {"num_steps", "8"},
                         {"minibatch_size", "16"},
                         {"update_epochs", "1"},
                         {"hidden_sizes", "8"},
                         {"total_timesteps", "100000"}},
                        run.keys);
    if (run.name == "shapes")
      std::erase_if(run.keys, [](const auto& key) {
        return key.first == "num_envs" || key.first == "num_steps";
      });
  }
  return runs;
}

// A change of a tensor: numbers of a type at some places become another number.
struct Mutation {
  std::string name;
  Dtype dtype = Dtype::kU8;
  std::size_t stride = 0, offset = 0;
  int first_bit = 0, bits = 0;  // of an integer; 0: all
  double value = 0.0;
  bool least = false, most = false;  // of the type, which a double may not hold
};

template <class Number>
Number number_of(const Mutation& mutation, Number before) {
  using Limits = std::numeric_limits<Number>;
  if (mutation.least) return Limits::lowest();
  if (mutation.most) return Limits::max();
  if constexpr (std::is_integral_v<Number>) {
    const std::int64_t whole = static_cast<std::int64_t>(mutation.value);
    if (mutation.bits == 0) return static_cast<Number>(whole);
    const std::uint64_t mask = ((std::uint64_t{1} << mutation.bits) - 1) << mutation.first_bit;
    const std::uint64_t set = static_cast<std::uint64_t>(whole) << mutation.first_bit;
    return static_cast<Number>((static_cast<std::uint64_t>(before) & ~mask) | (set & mask));
  } else {
    return static_cast<Number>(mutation.value);
  }
}

template <class Number>
void mutate(const Mutation& mutation, char* numbers, std::size_t bytes) {
  for (std::size_t i = mutation.offset; i + sizeof(Number) <= bytes; i += mutation.stride) {
    Number number;
    std::memcpy(&number, numbers + i, sizeof(number));
    number = number_of(mutation, number);
    std::memcpy(numbers + i, &number, sizeof(number));
  }
}

void mutate(const Mutation& mutation, char* numbers, std::size_t bytes) {
  switch (mutation.dtype) {
    case Dtype::kBool:
    case Dtype::kU8:
      return mutate<std::uint8_t>(mutation, numbers, bytes);
    case Dtype::kI8:
      return mutate<std::int8_t>(mutation, numbers, bytes);
    case Dtype::kI16:
      return mutate<std::int16_t>(mutation, numbers, bytes);
    case Dtype::kU16:
      return mutate<std::uint16_t>(mutation, numbers, bytes);
    case Dtype::kI32:
      return mutate<std::int32_t>(mutation, numbers, bytes);
    case Dtype::kU32:
      return mutate<std::uint32_t>(mutation, numbers, bytes);
    case Dtype::kI64:
      return mutate<std::int64_t>(mutation, numbers, bytes);
    case Dtype::kU64:
      return mutate<std::uint64_t>(mutation, numbers, bytes);
    case Dtype::kF32:
      return mutate<float>(mutation, numbers, bytes);
    case Dtype::kF64:
      return mutate<double>(mutation, numbers, bytes);
  }
}

bool is_float(Dtype dtype) { return dtype == Dtype::kF32 || dtype == Dtype::kF64; }

// The extremes of a type, and the ends of a range and the numbers just beyond them.
void add_mutations(const TensorRef& tensor, const ValueRange& range, std::vector<Mutation>& out) {
  const Dtype dtype = range.stride > 0 ? range.dtype : tensor.dtype;
  const std::size_t stride = range.stride > 0 ? range.stride : dtype_size(dtype);
  const auto add = [&](const std::string& name, double value) -> Mutation& {
    out.push_back({name, dtype, stride, range.offset, range.first_bit, range.bits, value});
    return out.back();
  };
  add("least", 0.0).least = true;
  add("most", 0.0).most = true;
  add("-1", -1.0);
  const double infinity = std::numeric_limits<double>::infinity();
  const auto beyond = [&](double end, double way) {
    if (!is_float(dtype)) return end + way;
    if (dtype == Dtype::kF64) return std::nextafter(end, way * infinity);
    return static_cast<double>(
        std::nextafter(static_cast<float>(end), static_cast<float>(way * infinity)));
  };
  for (const auto& [end, way] : {std::pair(range.low, -1.0), std::pair(range.high, 1.0)}) {
    if (!std::isfinite(end) || std::abs(end) == kFiniteRange.high) continue;
    add(fmt::format("{}", end), end);
    add(fmt::format("beyond {}", end), beyond(end, way));
  }
  if (!is_float(dtype)) return;
  add("nan", std::numeric_limits<double>::quiet_NaN());
  add("inf", infinity);
  add("-inf", -infinity);
}

Result<std::unique_ptr<Trainer>> trainer_for(const Config& config) {
  return Trainer::create(config, 1, Ranks::alone(), StartFrom::kState);
}

// A run saved after two iterations, and its changed copies.
class Fuzzer {
 public:
  explicit Fuzzer(std::string path) : path_(std::move(path)) {}

  // False if the run itself fails.
  bool begin(const Run& run) {
    name_ = run.name;
    const Result<Config> config = resolve_config(run.keys);
    if (!config.ok()) return fail(config.status());
    Result<std::unique_ptr<Trainer>> made = Trainer::create(config.value(), 1);
    if (!made.ok()) return fail(made.status());
    Trainer& trainer = *made.value();
    for (int i = 0; i < 2; ++i) {
      const Status status = trainer.iterate();
      if (!status.ok()) return fail(status);
    }
    const Status saved = save_checkpoint(path_, trainer, {});
    if (!saved.ok()) return fail(saved);
    Result<Checkpoint> read = read_checkpoint(path_);
    if (!read.ok()) return fail(read.status());
    checkpoint_ = read.take();
    tensors_ = trainer.state();
    for (TensorRef& tensor : trainer.instrument_state()) tensors_.push_back(std::move(tensor));
    return true;
  }

  // The cases of every tensor, by its index. A tensor without a range is an error.
  std::vector<std::pair<std::size_t, Mutation>> cases() {
    std::vector<std::pair<std::size_t, Mutation>> all;
    for (std::size_t i = 0; i < tensors_.size(); ++i) {
      if (tensors_[i].ranges.empty()) {
        ++failures_;
        fmt::print("{}: {} has no range; name one where it is listed\n", name_, tensors_[i].name);
      }
      std::vector<Mutation> mutations;
      for (const ValueRange& range : tensors_[i].ranges)
        add_mutations(tensors_[i], range, mutations);
      for (Mutation& mutation : mutations) all.emplace_back(i, std::move(mutation));
    }
    return all;
  }

  void play(std::size_t tensor, const Mutation& mutation) {
    fmt::print("{}: {} = {}: ", name_, tensors_[tensor].name, mutation.name);
    std::fflush(stdout);
    bool is_valid = false;
    const Status status = outcome(tensor, mutation, is_valid);
    fmt::print("{}\n", status.ok() ? "runs on" : status.message());
    const bool is_named = status.message().find(tensors_[tensor].name) != std::string::npos &&
                          status.message().find("expected") != std::string::npos;
    const bool right = is_valid ? status.ok() || !status.message().empty()
                                : status.kind() == ErrorKind::kCorrupt && is_named;
    if (right) return;
    ++failures_;
    fmt::print("  WRONG: expected it to be refused, with the tensor's name and what is expected\n");
  }

  int failures() const { return failures_; }

 private:
  bool fail(const Status& status) {
    ++failures_;
    fmt::print("{}: {}\n", name_, status.message());
    return false;
  }

  // Reads a file with the mutation, restores the run and trains on.
  Status outcome(std::size_t place, const Mutation& mutation, bool& is_valid) {
    SafetensorsFile file = checkpoint_.file;
    const SafetensorsFile::Entry& entry = file.tensors.at(tensors_[place].name);
    mutate(mutation, file.data.data() + entry.begin, entry.end - entry.begin);
    is_valid = check_values(tensors_[place], file.data.data() + entry.begin).ok();
    std::vector<TensorRef> tensors;
    for (const auto& [name, saved] : file.tensors)
      tensors.push_back({name, saved.dtype, saved.shape, file.data.data() + saved.begin});
    file.metadata.erase("checksum");
    BROADLOOM_TRY(write_safetensors(path_, tensors, file.metadata));
    const Result<Checkpoint> read = read_checkpoint(path_);
    if (!read.ok()) return read.status();
    const Result<FoundCheckpoint> found = find_policy(path_);
    if (found.ok()) (void)LoadedPolicy::load(found.value()).ok();
    Result<std::unique_ptr<Trainer>> made = trainer_for(read.value().config);
    if (!made.ok()) return made.status();
    BROADLOOM_TRY(restore(read.value(), *made.value()));
    for (int i = 0; i < kIterations && !made.value()->finished(); ++i)
      BROADLOOM_TRY(made.value()->iterate());
    return {};
  }

  std::string path_, name_;
  Checkpoint checkpoint_;
  std::vector<TensorRef> tensors_;  // as they are described; their run is gone
  int failures_ = 0;
};

}  // namespace

int main(int argc, char** argv) {
  const std::size_t most = argc > 1 ? static_cast<std::size_t>(std::atol(argv[1])) : SIZE_MAX;
  const std::filesystem::path folder =
      std::filesystem::temp_directory_path() / fmt::format("broadloom_fuzz_{}", ::getpid());
  std::filesystem::create_directories(folder);
  Fuzzer fuzzer((folder / "mutated.safetensors").string());
  const std::vector<Run> runs = all_runs();
  std::size_t played = 0;
  for (const Run& run : runs) {
    if (!fuzzer.begin(run)) continue;
    const auto cases = fuzzer.cases();
    const std::size_t share = std::max<std::size_t>(1, most / runs.size());
    const std::size_t step = std::max<std::size_t>(1, (cases.size() + share - 1) / share);
    // Each run begins elsewhere, so that tensors that all runs have are met with all mutations.
    for (std::size_t i = played % step; i < cases.size(); i += step, ++played)
      fuzzer.play(cases[i].first, cases[i].second);
  }
  std::filesystem::remove_all(folder);
  fmt::print("{} cases, {} wrong, no crash\n", played, fuzzer.failures());
  return fuzzer.failures() == 0 && played > 0 ? 0 : 1;
}
