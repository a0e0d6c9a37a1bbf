// Many environments stepped as one: the interface that the collector and the evaluator use.
//
//   class MySimulator final : public VecEnv { ... };  // complete example: examples/whole_batch
//
// A call handles environments [begin, end), so k = end - begin of N. Row 0 of its arrays belongs to
// environment `begin`. Observations are [k, D] float32 or uint8, actions [k, A] float32, rewards
// [k] float32, and ends [k] bytes of 0 or 1. conformance/conformance.h tests an implementation.
//
// Autoreset happens in the same step. If an episode ends, the returned observation is the first one
// of the next episode. The ended episode's last observation is returned separately.
//
// Your own simulator may implement this class directly. It has what every simulator must provide.
// Optional abilities (drawing, making more environments, ...) are capabilities: separate
// interfaces, found by capability().
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/curriculum.h"
#include "broadloom/env/drawing.h"
#include "broadloom/env/observation_rows.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/streams.h"

namespace broadloom {

// How environment i starts at share i / N of an episode.
enum class StaggerBy {
  kActions,  // steps it there with uniformly random actions
  kAge,      // counts its first episode as that old, so its time limit comes earlier
};

struct VecEnvOptions {
  int num_envs = 1;  // N >= 1
  std::uint64_t seed = 1;
  StreamSet streams = StreamSet::kTraining;
  bool stagger_starts = false;                 // environment i starts at share i / N of an episode
  StaggerBy stagger_by = StaggerBy::kActions;  // kAge needs a time limit
  // The caller will overwrite the state of append_state() before the first step. Environments that
  // save their state need not stagger; others ignore this.
  bool state_follows = false;
  // Numbers of stepped environments before each later group joins, rising to num_envs. Empty: all
  // step from the start. stagger_starts spreads each group separately.
  std::vector<int> joining;
  int max_episode_steps = 0;  // time limit; 0: the environment's own
  // F, a divisor of num_envs; 0: F = N. Environment i belongs to family i mod F. Environments of
  // one family share random draws: their e-th episodes start alike, and the run's s-th step draws
  // the same numbers for all of them.
  int seed_families = 0;
  StrataSampling strata_sampling = StrataSampling::kSampled;  // ignored without strata
  CurriculumOptions curriculum;                               // over strata; evaluation ignores it
  int threads = 1;  // used to make the environments; changes no result
  // The kind of pictures that draw() adds. Environments without has_3d_view() ignore this. Others
  // fail with kNotFound if this machine cannot render. Changes no episode.
  ViewKind view = ViewKind::kDrawn;
  // The caller will read only spec(), traits() and capabilities. A simulator may skip making its
  // environments, which can take minutes. They are never stepped or observed.
  bool only_described = false;

  bool staggers_now() const { return stagger_starts && !state_follows; }
  int families() const { return seed_families > 0 ? seed_families : num_envs; }
};

// How an episode ended. Small, because a block stores one per transition.
struct EpisodeEnd {
  std::int16_t stratum = -1;  // of the episode's constants; -1: no strata
  std::int8_t reason = -1;    // index into EnvSpec::end_reasons; -1: not ended
  std::int8_t success = -1;   // 1 or 0; -1: success unknown

  bool operator==(const EpisodeEnd&) const = default;
};

// Arrays of one step of environments [begin, end), k = end - begin.
struct StepRows {
  const float* actions;          // [k, A] in; Discrete: the index; Box: clipped to the bounds
  ObservationRows observations;  // [k, D] out, of spec()'s dtype: the next observations
  float* rewards;                // [k] out
  std::uint8_t* terminated;      // [k] out: the task ended the episode
  std::uint8_t* truncated;       // [k] out: the time limit ended it, not the task
  // [k, D] out: the last observation of each ended episode. Rows of other environments stay.
  ObservationRows final_observations;
  // The members below are written only if they are not null.
  EpisodeEnd* ends = nullptr;  // [k] out: how each ended episode ended, with a reason; others stay
  // [k, critic size] out: like observations and final_observations.
  ObservationRows critic_observations = nullptr;
  ObservationRows final_critic_observations = nullptr;
  // [k] out: draw() of each ended episode's last state.
  Drawing* final_drawings = nullptr;
};

// Properties of a simulator. Training prints its limits first, and every record keeps them. The
// defaults hold for the library's own environments.
struct VecEnvTraits {
  // Steps all environments at once. The library then calls observe() and step() only for [0, N),
  // from the thread that called the library.
  bool whole_batch = false;
  // The same options and actions always give the same bits.
  bool deterministic = true;
  // append_state() lists all state that the next step depends on, with [N, ...] shapes: one
  // environment per row. Without it, a resumed run begins new episodes (begin_anew()), if it can.
  bool saves_state = true;
  // Returns final observations of ended episodes. Without them, truncations cannot be bootstrapped.
  bool has_final_observations = true;
  // A reset takes a step: if next_is_filler(), an environment's next step is not a transition.
  // Until then the environment shows its ended episode's last observation.
  bool filler_rows = false;
  // Results are the same bits on every processor, for example without functions of libm.
  bool common_bits = true;

  bool operator==(const VecEnvTraits&) const = default;
};

// Range of the step count of a running episode: below the time limit.
inline ValueRange steps_of_episode(const EnvSpec& spec) {
  return spec.max_episode_steps > 0 ? ValueRange{0.0, spec.max_episode_steps - 1.0} : kCountRange;
}

// Calls on disjoint ranges may run concurrently, unless traits().whole_batch. Only capture() may
// allocate. The number of threads decides the ranges, so results of an environment must not depend
// on its range.
class VecEnv {
 public:
  virtual ~VecEnv() = default;

  virtual const EnvSpec& spec() const = 0;
  virtual int num_envs() const = 0;
  // Constant during the environments' lifetime.
  virtual VecEnvTraits traits() const { return {}; }
  // Upper bound of one environment's truncations in num_steps consecutive steps.
  virtual int max_truncations(int num_steps) const = 0;
  // Writes current observations of environments [begin, end), [k, D] of spec().observation's dtype;
  // one-hot if Discrete. They equal those of the last step. A remote simulator keeps a copy, since
  // this cannot fail.
  virtual void observe(int begin, int end, ObservationRows rows) const = 0;
  // Writes critic observations, [k, spec().critic_observation.size]. Only called if there are any.
  virtual void observe_critic(int, int, ObservationRows) const {}
  // Steps environments [begin, end). A failure, such as a dead worker, stops the run with its
  // message; saved state stays, and the run can be resumed. kIo if the machine or another process
  // is the cause.
  virtual Status step(int begin, int end, const StepRows& rows) = 0;
  // Steps of the environment's current episode so far.
  virtual std::int64_t episode_step(int env) const = 0;
  // With traits().filler_rows: whether the environment's next step only begins an episode. Such a
  // step ignores the action, gives reward 0 and does not end the episode.
  virtual bool next_is_filler(int) const { return false; }
  // Called before the state of append_state() is read. A simulator that serialises itself fills its
  // buffers here.
  virtual Status capture() { return {}; }
  // Called after the state of append_state() was overwritten. A simulator loads its buffers or
  // updates derived values here.
  virtual Status state_restored() { return {}; }
  // Without traits().saves_state: whether begin_anew() works. If not, a run cannot be resumed, and
  // training says so first.
  virtual bool can_begin_anew() const { return false; }
  // Without traits().saves_state: starts new episodes in all environments, as if they were made
  // with this seed. A resumed run calls this.
  virtual Status begin_anew(std::uint64_t) {
    return invalid(
        "these environments neither save their state nor begin anew, so their run cannot be "
        "resumed; implement VecEnv::begin_anew() and can_begin_anew(), or append_state() and "
        "saves_state");
  }
  // Appends views of the full state, [N, ...] each. Environments of the same kind and number have
  // the same names and shapes. TensorRef::ranges gives the values that a restore accepts.
  virtual void append_state(const std::string& prefix, std::vector<TensorRef>& out) = 0;
  // The environments that this object wraps; their capabilities remain visible. Null: it wraps
  // none.
  virtual const VecEnv* wrapped() const { return nullptr; }
};

// Finds a capability: an interface that environments may implement besides VecEnv (drawable.h,
// env_maker.h, step_counter.h, ...). Null if they do not have it. A wrapper's own capability comes
// before that of the wrapped environments.
template <class Capability>
const Capability* capability(const VecEnv& envs) {
  for (const VecEnv* layer = &envs; layer != nullptr; layer = layer->wrapped()) {
    if (const auto* found = dynamic_cast<const Capability*>(layer)) return found;
  }
  return nullptr;
}
template <class Capability>
Capability* capability(VecEnv& envs) {
  return const_cast<Capability*>(capability<Capability>(std::as_const(envs)));
}

}  // namespace broadloom
