// Algorithms by name: the library's own and registered ones.
//
//   AlgorithmEntry entry;
//   entry.name = "a2c";
//   entry.make = [](const AlgorithmSetup& setup) { return std::make_unique<A2c>(setup); };
//   entry.bytes = [](const auto&...) { return std::size_t{0}; };  // without parameters and moments
//   entry.declare_numbers = [](const InfoVisitor& declare) { declare({"loss", "Loss"}); };
//   BROADLOOM_TRY(register_algorithm(entry));  // `algorithm = a2c` from here on
//
// A2c derives from Algorithm (learn/algorithm.h).
#pragma once

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/number_info.h"
#include "broadloom/core/purpose.h"
#include "broadloom/core/status.h"

namespace broadloom {

class Actor;
class ActorCritic;
class Algorithm;
class Ranks;
class ThreadPool;
class ValueNormalizer;
struct Config;
struct EnvSpec;

// Arguments of an algorithm, which must outlive it.
struct AlgorithmSetup {
  const Config& config;        // of the run
  const ActorCritic& network;  // shapes; the Learner holds the parameters
  const EnvSpec& spec;         // of the run's environments
  ThreadPool& pool;            // idle when the algorithm is called
  // Processes with the same blocks and learners. They may share the work of an update, as
  // PartialGradients does. An algorithm that ignores them is correct, but not faster.
  Ranks& ranks;
  // Normalises the critic's values; its state is the trainer's. Null: values are as they are.
  ValueNormalizer* value_norm = nullptr;
};

// A value that falls over a run's total_timesteps. A longer run would have trained differently.
struct FallingValue {
  std::string words;    // such as "learning rate"
  std::string setting;  // that makes it fall, such as "lr_schedule = linear"
};

// A random stream of an algorithm, for the ledger and for the audit's search for overlapping
// streams.
struct AlgorithmStream {
  const char* name;      // in the ledger
  Purpose purpose;       // used by no other stream
  bool per_env = false;  // one lane per environment; else a few, per tensor or epoch
};

// Size of the companion, a network that learns beside the policy in the same steps
// (learn/companion.h).
struct CompanionSize {
  std::size_t parameters = 0;  // float32
  // Observation size of its own normaliser; 0: none, or that of norm_obs.
  int normalised = 0;
};

// The functions of an algorithm. `make`, `bytes` and `declare_numbers` are required.
struct AlgorithmEntry {
  std::string name;  // the value of `algorithm`: lowercase letters, digits and underscores
  std::function<std::unique_ptr<Algorithm>(const AlgorithmSetup&)> make;  // for one trainer
  // Optional: makes the Actor that chooses actions in collection and evaluation. Without it,
  // actions are drawn from the policy that the network outputs (PolicySampler), and instruments of
  // that policy are allowed. Config and network outlive the actor.
  std::function<std::unique_ptr<Actor>(const Config&, const ActorCritic&)> make_actor = {};
  // Memory with that many threads, bytes. Counts a companion's parameters and moments, but not the
  // network's.
  std::function<std::size_t(const Config&, const ActorCritic&, const EnvSpec&, int threads)> bytes;
  // Optional: its own defaults for an environment.
  std::function<void(const EnvSpec&, Config&)> set_defaults = {};
  // Whether its network outputs a value per action instead of a policy and a critic.
  bool learns_action_values = false;
  // Whether its updates learn from whole sequences, so that its network may be recurrent.
  bool learns_sequences = false;
  // Whether each gradient step takes the next gradient_length steps of all environments. For a
  // built-in algorithm, set it in broadloom/config/algorithm_names.cc, too.
  bool learns_in_order = false;
  // Values that its critic outputs; 2 if intrinsic rewards have their own.
  int value_outputs = 1;
  // Whether it learns from a teacher's outputs (rollout/teacher.h), the block's `labels`.
  bool has_teacher = false;
  // Keys to reduce if its networks and updates need too much memory.
  std::string keys_of_size = "hidden_sizes";
  // Optional: the size of its companion, to plan transfers between ranks and to the GPU. Without
  // it, there is no companion.
  std::function<CompanionSize(const Config&, const EnvSpec&)> companion = {};
  // Optional: refuses settings that it cannot train with, before anything is made.
  std::function<Status(const Config&, const EnvSpec&)> check = {};
  // Optional: a sentence for the contract on steps outside the blocks; empty: there are none.
  std::function<std::string(const Config&)> besides = {};
  // Optional: its own value that falls over the run. Required if its begin_block() or its actor's
  // uses progress; otherwise a run could be made longer and would have other bits.
  std::function<std::optional<FallingValue>(const Config&)> falls = {};
  std::vector<AlgorithmStream> streams = {};  // of its random numbers
  // Declares all numbers that its updates report. Names shared with other algorithms must mean the
  // same.
  std::function<void(const InfoVisitor&)> declare_numbers;
};

// Registers an algorithm by name, for configs, the program and studies. kInvalidConfig if the name
// is taken or malformed, or if a function is missing. Any thread may call it, but register before
// any other call.
Status register_algorithm(AlgorithmEntry entry);

// Sets the defaults of config.algorithm; does nothing if the name is unknown.
void set_algorithm_defaults(const EnvSpec& spec, Config& config);

// The functions below need a registered config.algorithm, as validate() checks; another name is a
// bug of the caller.
Status check_algorithm(const Config& config, const EnvSpec& spec);
// Whether actions are drawn from the policy that the network outputs (no make_actor).
bool draws_from_policy(const Config& config);
// The entry's learns_action_values.
bool learns_action_values(const Config& config);
// The entry's value_outputs.
int value_outputs(const Config& config);
// The entry's has_teacher.
bool learns_from_teacher(const Config& config);
// The entry's `besides`.
std::string extra_steps_text(const Config& config);
// The entry's keys_of_size, and recurrent_units if they are set.
std::string keys_of_size(const Config& config);
// Zeros without a companion.
CompanionSize companion_size(const Config& config, const EnvSpec& spec);
// The entry's streams.
const std::vector<AlgorithmStream>& algorithm_streams(const Config& config);
// The learning rate if it falls, else the algorithm's falling value, if any.
std::optional<FallingValue> falling_value(const Config& config);
// Whether total_timesteps changes the training and not only its length: a value falls over the run,
// without schedule_timesteps, or the block's shape changes.
bool depends_on_total(const Config& config);
// Config and network must outlive it.
std::unique_ptr<Actor> make_actor(const Config& config, const ActorCritic& network);
// Everything that `setup` refers to must outlive it.
std::unique_ptr<Algorithm> make_algorithm(const AlgorithmSetup& setup);
// The entry's `bytes`.
std::size_t algorithm_bytes(const Config& config, const ActorCritic& network, const EnvSpec& spec,
                            int threads);

// Declares the numbers of all algorithms, each name once.
void declare_algorithm_numbers(const InfoVisitor& declare);

}  // namespace broadloom
