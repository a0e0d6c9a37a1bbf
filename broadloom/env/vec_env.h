// Many environments stepped as one: the interface that the collector and the evaluator use.
//
//   class MySimulator final : public VecEnv { ... };  // examples/whole_batch is a whole one
//
// A call is about environments [begin, end), k = end - begin of N: row 0 of its arrays is
// environment `begin`. Observations are [k, D] float32 or uint8, actions [k, A] float32, rewards
// [k] float32, ends [k] bytes of 0 or 1. conformance/conformance.h checks an implementation.
//
// Autoreset is same-step: where an episode ends, the observation that comes back is already the
// next episode's first, and the ended episode's last one is kept apart. A simulator of one's own
// may implement this class directly. It has what every simulator must have; what only some can do
// (draw themselves, make others, ...) is a capability: an interface of its own, asked for by
// capability().
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

// What puts environment i an i-th of N of an episode on.
enum class StaggerBy {
  kActions,  // it is stepped that often under uniformly random actions
  kAge,      // its first episode counts as that old, and meets its time limit as much earlier
};

struct VecEnvOptions {
  int num_envs = 1;  // N >= 1
  std::uint64_t seed = 1;
  StreamSet streams = StreamSet::kTraining;
  bool stagger_starts = false;                 // environment i begins i / N of an episode on
  StaggerBy stagger_by = StaggerBy::kActions;  // kAge: only where there is a time limit
  // What append_state() shows will be written over before the first step: environments that save
  // their state need not be staggered. Those that do not save it take no notice.
  bool state_follows = false;
  // How many environments are stepped as each lot of them joins, rising to num_envs; empty: all are
  // stepped from the start. stagger_starts spreads each lot by itself.
  std::vector<int> joining;
  int max_episode_steps = 0;  // time limit; 0: the environment's own
  // F, a divisor of num_envs; 0: as many as environments. Environment i is of family i mod F, and
  // environments of one family draw the same: their e-th episodes start alike, and what chance does
  // at the run's s-th step it does to all of them.
  int seed_families = 0;
  StrataSampling strata_sampling = StrataSampling::kSampled;  // where there are strata
  CurriculumOptions curriculum;                               // over them; evaluation follows none
  int threads = 1;  // that may work while the environments are made; changes no bit
  // What draw() adds. Environments without a view in three dimensions (has_3d_view()) take no
  // notice; those that have one cannot be made, kNotFound, where this machine cannot render it.
  // Changes no bit of an episode.
  ViewKind view = ViewKind::kDrawn;
  // Only spec(), traits() and capabilities will be read: a simulator need not make environments,
  // which may take minutes, and gives something that is never stepped or observed.
  bool only_described = false;

  bool staggers_now() const { return stagger_starts && !state_follows; }
  int families() const { return seed_families > 0 ? seed_families : num_envs; }
};

// How an episode ended. Small, since a block has room for one a transition.
struct EpisodeEnd {
  std::int16_t stratum = -1;  // that it drew its constants from; -1: there are none
  std::int8_t reason = -1;    // index into EnvSpec::end_reasons; -1: it has not
  std::int8_t success = -1;   // 1 or 0; -1: the environment names no success

  bool operator==(const EpisodeEnd&) const = default;
};

// Rows of environments [begin, end), k = end - begin.
struct StepRows {
  const float* actions;  // [k, A] in; Discrete: the index. Box actions come clipped to the bounds
  ObservationRows observations;  // [k, D] out, of spec()'s dtype: what the policy acts on next
  float* rewards;                // [k] out
  std::uint8_t* terminated;      // [k] out: the episode ended by itself
  std::uint8_t* truncated;       // [k] out: it met the time limit, and did not end by itself
  ObservationRows final_observations;  // [k, D] out: last observation of each ended episode; other
                                       // rows untouched
  EpisodeEnd* ends =
      nullptr;  // [k] out where asked for: of each ended episode; other rows untouched
  // Where asked for, of spec().critic_observation: as the two above.
  ObservationRows critic_observations = nullptr;
  ObservationRows final_critic_observations = nullptr;
  Drawing* final_drawings = nullptr;  // [k] out where asked for: as draw(), of each ended
                                      // episode's last state
};

// What a simulator can do; what it cannot is said before training and stands in every record. The
// defaults are what the library's own environments can.
struct VecEnvTraits {
  // Acts on all environments at once: observe() and step() are called for [0, N) alone, and always
  // from the thread that called the library.
  bool whole_batch = false;
  // The same options and actions give the same bits, whenever and wherever.
  bool deterministic = true;
  // append_state() shows all that the next step depends on, an environment a row: [N, ...].
  // Without, a run that is resumed begins new episodes (begin_anew()).
  bool saves_state = true;
  // Hands out the final observations of ended episodes. Without, a truncation cannot be
  // bootstrapped.
  bool has_final_observations = true;
  // Resets take a step: where next_is_filler() says so, an environment's next step is no
  // transition. Until that step the environment shows its ended episode's last observation.
  bool filler_rows = false;
  // The bits are the same on every processor, as where no function of libm has a part.
  bool common_bits = true;

  bool operator==(const VecEnvTraits&) const = default;
};

// Steps that an episode under way has had: fewer than the time limit, which ends it.
inline ValueRange steps_of_episode(const EnvSpec& spec) {
  return spec.max_episode_steps > 0 ? ValueRange{0.0, spec.max_episode_steps - 1.0} : kCountRange;
}

// Calls on disjoint ranges may run at the same time, unless traits() says whole_batch. No call
// allocates, but capture() may. Which ranges are asked for depends on the number of threads: what a
// call makes of an environment must not depend on its range.
class VecEnv {
 public:
  virtual ~VecEnv() = default;

  virtual const EnvSpec& spec() const = 0;
  virtual int num_envs() const = 0;
  // The same as long as the environments live.
  virtual VecEnvTraits traits() const { return {}; }
  // The most truncations that one environment can have within any num_steps steps.
  virtual int max_truncations(int num_steps) const = 0;
  // Observations of environments [begin, end) as they stand, [k, D] of spec().observation's dtype;
  // one-hot where Discrete. They are what the last step gave: a simulator that is far away keeps a
  // copy, so that this cannot fail.
  virtual void observe(int begin, int end, ObservationRows rows) const = 0;
  // Likewise of spec().critic_observation; not called where there is none.
  virtual void observe_critic(int, int, ObservationRows) const {}
  // A failure (a worker that died, a simulator's own error) stops the run with this message; what
  // was saved stays saved, and the run can be resumed. kIo where the machine or another process is
  // why.
  virtual Status step(int begin, int end, const StepRows& rows) = 0;
  // Steps that the environment's present episode has had.
  virtual std::int64_t episode_step(int env) const = 0;
  // Where traits() has filler_rows: whether the environment's next step begins an episode and does
  // nothing else. It takes no notice of the action, and gives a reward of 0 and no end.
  virtual bool next_is_filler(int) const { return false; }
  // Called before what append_state() shows is read: a simulator that serialises itself fills the
  // bytes that it shows.
  virtual Status capture() { return {}; }
  // Called after what append_state() shows was written into: a simulator takes its bytes back, or
  // works out what follows from them.
  virtual Status state_restored() { return {}; }
  // Where traits() has no saves_state: new episodes everywhere, as those of environments that were
  // made with this seed. What a resumed run does instead of going on with the old ones.
  virtual Status begin_anew(std::uint64_t) {
    return invalid(
        "these environments neither save their state nor begin anew: their run cannot be resumed; "
        "implement VecEnv::begin_anew(), or append_state() and saves_state");
  }
  // Views of every environment's full state, [N, ...] each. Environments of one kind and number
  // show the same names and shapes. TensorRef::ranges says which values may be read back.
  virtual void append_state(const std::string& prefix, std::vector<TensorRef>& out) = 0;
  // The environments that these are put around, whose capabilities hold through them; null: these
  // stand alone.
  virtual const VecEnv* wrapped() const { return nullptr; }
};

// A capability: an interface that environments implement beside VecEnv where they can do more than
// be stepped (drawable.h, env_maker.h, step_counter.h, ...). Null where they cannot. A wrapper's
// own comes before that of what it wraps.
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
