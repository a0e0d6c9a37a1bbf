// Many environments stepped as one: the interface that the collector and the evaluator use.
//
// Autoreset is same-step: where an episode ends, the observation that comes back is already the
// next episode's first, and the ended episode's last one is kept apart. A simulator of one's own
// may implement this class directly.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/spec.h"

namespace broadloom {

struct VecEnvOptions {
  int num_envs = 1;  // N >= 1
  std::uint64_t seed = 1;
  bool evaluation = false;      // draws from the evaluation streams, which training never uses
  bool stagger_starts = false;  // environment i begins i / N of an episode on, under random actions
  int max_episode_steps = 0;    // time limit; 0: the environment's own
};

// Rows of environments [begin, end), k = end - begin.
struct StepRows {
  const float* actions;  // [k, A] in; Discrete: the index. Box actions come clipped to the bounds
  float* observations;   // [k, D] out: what the policy acts on next
  float* rewards;        // [k] out
  std::uint8_t* terminated;   // [k] out: the episode ended by itself
  std::uint8_t* truncated;    // [k] out: it met the time limit, and did not end by itself
  float* final_observations;  // [k, D] out: last observation of each ended episode; other rows
                              // untouched
};

// Calls on disjoint ranges may run at the same time. No call allocates.
class VecEnv {
 public:
  virtual ~VecEnv() = default;

  virtual const EnvSpec& spec() const = 0;
  virtual int num_envs() const = 0;
  // The most truncations that one environment can have within any num_steps steps.
  virtual int max_truncations(int num_steps) const = 0;
  // Observations of environments [begin, end) as they stand, [k, D]; one-hot where Discrete.
  virtual void observe(int begin, int end, float* observations) const = 0;
  virtual void step(int begin, int end, const StepRows& rows) = 0;
  // Steps that the environment's present episode has had.
  virtual std::int64_t episode_step(int env) const = 0;
  // Views of every environment's full state.
  virtual void append_state(const std::string& prefix, std::vector<TensorRef>& out) = 0;
  // Others of the same kind, with the same constants and, unless the options name one, the same
  // time limit, at the start of their first episodes. Null: this simulator cannot make more.
  virtual std::unique_ptr<VecEnv> another(const VecEnvOptions&) const { return nullptr; }
};

}  // namespace broadloom
