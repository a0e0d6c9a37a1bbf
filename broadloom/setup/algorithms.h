// Algorithms by name: the library's own, and those that a program registers.
//
//   AlgorithmEntry entry;
//   entry.name = "a2c";
//   entry.make = [](const AlgorithmSetup& setup) { return std::make_unique<A2c>(setup); };
//   entry.bytes = [](const auto&...) { return std::size_t{0}; };  // beside parameters and moments
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
struct Config;
struct EnvSpec;

// What an algorithm is made from, which must outlive it.
struct AlgorithmSetup {
  const Config& config;        // of the run
  const ActorCritic& network;  // shapes; parameters are the Learner's
  const EnvSpec& spec;         // of its environments
  ThreadPool& pool;            // idle while the algorithm works
  // That hold the same blocks and learners, and may share the work of an update (PartialGradients
  // does); an algorithm that takes no notice of them is right, and no faster.
  Ranks& ranks;
};

// What falls over a run's total_timesteps, so that a longer run would have been another one.
struct FallingValue {
  std::string words;    // such as "learning rate"
  std::string setting;  // what makes it fall, such as "lr_schedule = linear"
};

// Random numbers that an algorithm draws beside those of every run: for the ledger, and for the
// audit, which looks for streams that meet.
struct AlgorithmStream {
  const char* name;      // in the ledger
  Purpose purpose;       // no other stream's
  bool per_env = false;  // a lane an environment; else a few, of tensors or epochs
};

// Size of the companion: a network that is learnt beside the policy's, in the same steps
// (learn/companion.h).
struct CompanionSize {
  std::size_t parameters = 0;  // float32
  // Numbers of an observation that have statistics of its own; 0: none, or norm_obs' do.
  int normalised = 0;
};

// An algorithm by its functions. `make`, `bytes` and `declare_numbers` must be there.
struct AlgorithmEntry {
  std::string name;  // the value of `algorithm`: lowercase letters, digits and underscores
  std::function<std::unique_ptr<Algorithm>(const AlgorithmSetup&)> make;  // one for each trainer
  // Optional: how it acts, while blocks are collected and while its policies are played. None: it
  // draws from the policy that its network's outputs are, as PolicySampler does, and who measures
  // that policy may measure it. Config and network outlive what is made.
  std::function<std::unique_ptr<Actor>(const Config&, const ActorCritic&)> make_actor = {};
  // What it will hold for so many threads, in bytes, beside the network's parameters and moments: a
  // companion's are counted here.
  std::function<std::size_t(const Config&, const ActorCritic&, const EnvSpec&, int threads)> bytes;
  // Optional: its own defaults for an environment, in the place of those for all.
  std::function<void(const EnvSpec&, Config&)> set_defaults = {};
  // Whether its network has a value of each action, instead of a policy and a critic.
  bool learns_action_values = false;
  // Values that its critic gives of an observation: 2 where intrinsic rewards have their own.
  int value_outputs = 1;
  // Keys that the memory of its networks and updates grows with, for who has too little.
  std::string keys_of_size = "hidden_sizes";
  // Optional: the size of its companion, for who plans what passes between ranks, or between host
  // and device, beside what `bytes` counts; none: it learns the network alone.
  std::function<CompanionSize(const Config&, const EnvSpec&)> companion = {};
  // Optional: what it cannot do of what a run asks, which is then refused before it is made.
  std::function<Status(const Config&, const EnvSpec&)> check = {};
  // Optional: a sentence of the contract on what a run does beside its blocks; empty: nothing.
  std::function<std::string(const Config&)> besides = {};
  // Optional: what of its own falls over the run; none: nothing. Where its begin_block(), or its
  // actor's, uses progress it says so here, or runs could be made longer and have other bits.
  std::function<std::optional<FallingValue>(const Config&)> falls = {};
  std::vector<AlgorithmStream> streams = {};  // that it draws from
  // All numbers that its updates report. Names that other algorithms have mean the same here.
  std::function<void(const InfoVisitor&)> declare_numbers;
};

// Makes an algorithm known by its name, to config, program and studies alike. kInvalidConfig where
// the name is taken or no such name, or a function is missing. Any thread may call it, but register
// before anything else is called.
Status register_algorithm(AlgorithmEntry entry);

// The defaults of config.algorithm; nothing where there is none of that name.
void set_algorithm_defaults(const EnvSpec& spec, Config& config);

// In these, config.algorithm is one of those names, as validate() has it; another one is a bug of
// the caller.
Status check_algorithm(const Config& config, const EnvSpec& spec);
// Whether actions are drawn from the policy that the network's outputs are, and from nothing else.
bool draws_from_policy(const Config& config);
// The entry's learns_action_values.
bool learns_action_values(const Config& config);
// The entry's value_outputs.
int value_outputs(const Config& config);
// The entry's `besides`.
std::string besides_blocks(const Config& config);
// The entry's keys_of_size.
std::string keys_of_size(const Config& config);
// Zeros where the network alone is learnt.
CompanionSize companion_size(const Config& config, const EnvSpec& spec);
// The entry's streams.
const std::vector<AlgorithmStream>& algorithm_streams(const Config& config);
// The first that falls, the learning rate or what the algorithm names; none: nothing does.
std::optional<FallingValue> falling_value(const Config& config);
// Whether total_timesteps changes the training itself and not only its length: something falls over
// the run, or its shape changes.
bool depends_on_total(const Config& config);
// Config and network must outlive it.
std::unique_ptr<Actor> make_actor(const Config& config, const ActorCritic& network);
// All that `setup` refers to must outlive it.
std::unique_ptr<Algorithm> make_algorithm(const AlgorithmSetup& setup);
// The entry's `bytes`.
std::size_t algorithm_bytes(const Config& config, const ActorCritic& network, const EnvSpec& spec,
                            int threads);

// What all of them can report, each name once.
void declare_algorithm_numbers(const InfoVisitor& declare);

}  // namespace broadloom
