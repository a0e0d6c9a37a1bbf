#include "cli/env_bench.h"

#include <algorithm>
#include <chrono>
#include <limits>
#include <memory>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/threads.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/env/vec_env.h"
#include "broadloom/math/isa.h"
#include "broadloom/rollout/observations.h"

namespace broadloom::cli {
namespace {

// Large, so that no environment sees a short cycle of actions; prime, so that it divides no time
// limit.
constexpr int kActionRows = 257;

// A contiguous range of environments with its own buffers; one thread steps it.
class Lane {
 public:
  Lane(VecEnv& env, int begin, int end, std::uint64_t seed)
      : env_(env),
        begin_(begin),
        end_(end),
        masks_(env.spec(), static_cast<std::size_t>(end - begin)),
        random_(seed, Purpose::kUser, static_cast<std::uint32_t>(begin), 0) {
    const EnvSpec& spec = env.spec();
    const auto count = static_cast<std::size_t>(end - begin);
    row_ = count * static_cast<std::size_t>(spec.action_size());
    observations_ = Observations(observation_type(spec.observation), count);
    final_observations_ = observations_;
    actions_.resize(row_ * kActionRows);
    rewards_.resize(count);
    terminated_.resize(count);
    truncated_.resize(count);
    returns_.resize(count);
    const auto width = static_cast<std::size_t>(spec.action_size());
    for (std::size_t i = 0; i < actions_.size(); i += width) {
      draw_action(spec.action, random_, &actions_[i]);
    }
  }

  // Steps until all steps are done or one fails.
  void run(int num_steps, const std::function<void(double)>& on_share = {}) {
    constexpr int kApart = 16;  // steps between calls
    for (int t = 0; t < num_steps && status_.ok(); ++t) {
      if (on_share && t % kApart == 0) on_share(static_cast<double>(t) / num_steps);
      float* actions = actions_.data() + row_ * static_cast<std::size_t>(t % kActionRows);
      status_ = with_simulator_errors([&] {
        if (masks_.width() > 0) draw_valid(actions);
        return step_simulator(env_, begin_, end_,
                              {actions, observations_.rows(), rewards_.data(), terminated_.data(),
                               truncated_.data(), final_observations_.rows()});
      });
      count_episodes();
    }
  }

  const Status& status() const { return status_; }
  std::int64_t episodes() const { return episodes_; }
  double return_sum() const { return return_sum_; }

 private:
  // Valid actions depend on the states, so these cannot be drawn beforehand.
  void draw_valid(float* actions) {
    const EnvSpec& spec = env_.spec();
    masks_.read(env_, begin_, end_);
    for (std::size_t k = 0; k < returns_.size(); ++k) {
      draw_action(spec.action, random_, actions + k * static_cast<std::size_t>(spec.action_size()),
                  masks_.row(k));
    }
  }

  void count_episodes() {
    for (std::size_t i = 0; i < returns_.size(); ++i) {
      returns_[i] += rewards_[i];
      if (terminated_[i] == 0 && truncated_[i] == 0) continue;
      ++episodes_;
      return_sum_ += returns_[i];
      returns_[i] = 0.0;
    }
  }

  VecEnv& env_;
  int begin_;
  int end_;
  MaskRows masks_;
  Random random_;
  std::size_t row_ = 0;
  std::vector<float> actions_, rewards_;
  Observations observations_, final_observations_;
  std::vector<std::uint8_t> terminated_, truncated_;
  std::vector<double> returns_;
  std::int64_t episodes_ = 0;
  double return_sum_ = 0.0;
  Status status_;
};

// One range per thread; a single range if the environments must be stepped together.
std::vector<Lane> make_lanes(VecEnv& env, const BenchOptions& options) {
  const int ranges = env.traits().whole_batch ? 1 : options.threads;
  std::vector<Lane> lanes;
  lanes.reserve(static_cast<std::size_t>(ranges));
  for (int i = 0; i < ranges; ++i) {
    const auto edge = [&](int part) {
      return static_cast<int>(std::int64_t{options.num_envs} * part / ranges);
    };
    lanes.emplace_back(env, edge(i), edge(i + 1), options.seed);
  }
  return lanes;
}

BenchResult summarize(const std::vector<Lane>& lanes, const BenchOptions& options, double seconds) {
  BenchResult result;
  double return_sum = 0.0;
  for (const Lane& lane : lanes) {
    result.episodes += lane.episodes();
    return_sum += lane.return_sum();
  }
  result.threads = static_cast<int>(lanes.size());
  result.seconds = seconds;
  result.steps_per_second = static_cast<double>(options.num_envs) * options.num_steps / seconds;
  result.mean_return = result.episodes > 0 ? return_sum / static_cast<double>(result.episodes)
                                           : std::numeric_limits<double>::quiet_NaN();
  return result;
}

}  // namespace

Result<BenchResult> bench_env(const std::string& id, const Overrides& env_options,
                              const BenchOptions& options) {
  BROADLOOM_TRY(set_isa(options.isa));
  VecEnvOptions vec_options;
  vec_options.num_envs = options.num_envs;
  vec_options.seed = options.seed;
  vec_options.max_episode_steps = options.max_episode_steps;
  Result<std::unique_ptr<VecEnv>> env = make_vec_env(id, env_options, vec_options);
  if (!env.ok()) return env.status();
  std::vector<Lane> lanes = make_lanes(*env.value(), options);
  const auto start = std::chrono::steady_clock::now();
  Threads workers;  // the caller steps the first range
  for (std::size_t i = 1; i < lanes.size(); ++i) {
    BROADLOOM_TRY(workers.start([&lane = lanes[i], &options] { lane.run(options.num_steps); }));
  }
  lanes.front().run(options.num_steps, options.on_share);
  workers.join();
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - start;
  for (const Lane& lane : lanes) BROADLOOM_TRY(lane.status());
  return summarize(lanes, options, std::max(elapsed.count(), 1e-9));
}

}  // namespace broadloom::cli
