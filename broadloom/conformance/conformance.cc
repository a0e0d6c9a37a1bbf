#include "broadloom/conformance/conformance.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <set>
#include <utility>

#include "broadloom/conformance/findings.h"
#include "broadloom/conformance/fixed_play.h"
#include "broadloom/core/random.h"
#include "broadloom/env/random_action.h"

namespace broadloom {
namespace {

using namespace fixed_play;

class Kit : Findings {
 public:
  Kit(MakeVecEnv make, ConformanceOptions options)
      : make_(std::move(make)), options_(std::move(options)) {
    options_.num_steps = std::max(options_.num_steps, 2 * options_.time_limit + 1);
  }

  ConformanceReport run() {
    begin("number, time limit, spaces");
    check_size();
    if (!report_.findings().empty()) {
      return report_;  // the rest would write past the end of something
    }
    begin("finite values within their spaces");
    check_rows();
    begin("ends of episodes, and what is reset by itself");
    check_episodes();
    if (begin_unless(stacked_.count == 1, "stacks of frames", "observations are none")) {
      check_stacks();
    }
    begin("observe() is what the last step gave");
    check_observe();
    if (begin_unless(!traits_.has_final_observations, "final observations of ended episodes",
                     "traits() says that there are none")) {
      check_final_observations();
    }
    if (begin_unless(!traits_.deterministic, "the same seed, the same steps", kVaries)) {
      check_determinism();
    }
    check_independence();
    if (begin_unless(!traits_.deterministic, "seeds, streams and families", kVaries)) {
      check_seeds();
    }
    if (begin_unless(counted_ == 0, "what steps count", "spec() names nothing that they count")) {
      check_counted();
    }
    if (begin_unless(context_.empty(), "what environments are given",
                     "spec() names nothing that they are given")) {
      check_context();
    }
    check_saving();
    begin("another()");
    check_another();
    if (begin_unless(!options_.allocations, "steps allocate nothing",
                     "this program does not count allocations")) {
      check_allocations();
    }
    return report_;
  }

 private:
  static constexpr const char* kNoStack =
      "an observation is not the one before it with one frame more, as spec().observation.frames "
      "says";
  static constexpr const char* kVaries = "traits() says that they are not deterministic";

  VecEnvOptions options(int limit = 0) const {
    VecEnvOptions out;
    out.num_envs = kEnvs;
    out.seed = 3;
    out.max_episode_steps = limit > 0 ? limit : options_.time_limit;
    return out;
  }

  // They were made before with such options: what fails now is what is wrong.
  std::unique_ptr<VecEnv> made(const VecEnvOptions& options) {
    Result<std::unique_ptr<VecEnv>> envs = make_(options);
    expect(envs.ok(), "environments cannot be made: " + envs.status().message());
    if (!envs.ok()) return nullptr;
    const bool right = envs.value() != nullptr && envs.value()->num_envs() == options.num_envs;
    expect(right, "num_envs() is not what was asked for");
    return right ? envs.take() : nullptr;
  }

  // What num_steps steps of environments with these options give; nothing where they fail.
  std::unique_ptr<Played> played(const VecEnvOptions& options, int steps,
                                 const std::vector<EnvRange>& ranges = {{0, kEnvs}}) {
    const std::unique_ptr<VecEnv> envs = made(options);
    if (envs == nullptr) return nullptr;
    auto out = std::make_unique<Played>(Player(*envs).play(steps, ranges));
    return expect_played(*out) ? std::move(out) : nullptr;
  }

  void check_size() {
    Result<std::unique_ptr<VecEnv>> result = make_(options());
    expect(result.ok(), "environments cannot be made: " + result.status().message());
    if (!result.ok()) return;
    const std::unique_ptr<VecEnv> envs = result.take();
    expect(envs != nullptr, "there are no environments");
    if (envs == nullptr) return;
    traits_ = envs->traits();
    stacked_ = envs->spec().observation.frame_layout();
    counted_ = envs->spec().counted();
    context_ = envs->spec().context;
    expect(envs->num_envs() == kEnvs, "num_envs() is not what was asked for");
    expect(envs->spec().max_episode_steps == options_.time_limit,
           "the time limit asked for is not spec()'s");
    const EnvSpec& spec = envs->spec();
    for (const Space* space : {&spec.observation, &spec.critic_observation, &spec.action}) {
      const std::size_t size = static_cast<std::size_t>(space->size);
      expect(space->size >= 1 || space == &spec.critic_observation, "a space is empty");
      if (space->kind == SpaceKind::kDiscrete) continue;
      expect(space->low.size() == size && space->high.size() == size,
             "a Box has not one lower and one upper bound a number");
    }
  }

  void check_rows() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    const Played out = Player(*envs).play(options_.num_steps);
    if (!expect_played(out)) return;
    for (const float reward : out.rewards) expect(std::isfinite(reward), "a reward is not finite");
    check_shown(envs->spec().observation, out, out.policy);
    check_shown(envs->spec().critic_observation, out, out.critic);
  }

  void check_shown(const Space& space, const Played& out, const Shown& shown) {
    const std::size_t width = static_cast<std::size_t>(space.size);
    for (std::size_t i = 0; width > 0 && i < out.rewards.size(); ++i) {
      check_observation(space, &shown.observations[i * width]);
      if (out.ended(i) && traits_.has_final_observations) {
        check_observation(space, &shown.last[i * width]);
      }
    }
  }

  // Ends are told apart, counted and explained.
  void check_episodes() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    Player player(*envs);
    std::vector<int> length(kEnvs, 0), cuts(kEnvs, 0);
    for (int t = 0; t < options_.num_steps; ++t) {
      std::vector<bool> fillers(kEnvs);
      for (int n = 0; n < kEnvs; ++n) fillers[n] = envs->next_is_filler(n);
      const Played out = player.play(1);
      if (!expect_played(out)) return;
      for (int n = 0; n < kEnvs; ++n) {
        cuts[n] += out.truncated[n];
        expect(!fillers[n] || traits_.filler_rows,
               "next_is_filler() is true of environments whose traits() have no filler_rows");
        if (fillers[n]) {
          expect(out.rewards[n] == 0.0f && !out.ended(n), "a filler has a reward or an end");
          expect(!envs->next_is_filler(n), "a filler follows a filler");
          continue;
        }
        check_end(*envs, out, n, ++length[n]);
        if (out.ended(n)) length[n] = 0;
        expect(envs->episode_step(n) == length[n],
               "episode_step() is not the number of the episode's steps");
      }
    }
    for (const int count : cuts) {
      expect(count <= envs->max_truncations(options_.num_steps),
             "more truncations than max_truncations()");
    }
  }

  void check_end(const VecEnv& envs, const Played& out, int n, int length) {
    const int terminated = out.terminated[n], truncated = out.truncated[n];
    expect(terminated <= 1 && truncated <= 1, "an end flag is not 0 or 1");
    expect((terminated & truncated) == 0, "a step is terminated and truncated");
    expect(truncated == 0 || length == options_.time_limit,
           "a step is truncated before the time limit");
    expect(length < options_.time_limit || out.ended(n),
           "an episode is longer than the time limit");
    const EpisodeEnd& end = out.ends[n];
    const EnvSpec& spec = envs.spec();
    if (!out.ended(n)) {
      expect(end == EpisodeEnd{}, "the end of an episode is told that has not ended");
      return;
    }
    const int last = static_cast<int>(spec.end_reasons.size()) - 1;
    expect(end.reason >= 0 && end.reason <= last, "an end's reason is not one of end_reasons");
    expect((end.reason == last) == (truncated != 0),
           "the last reason is not that of truncated steps");
    expect((end.success >= 0) == spec.names_success, "success is not known as names_success says");
    expect(end.stratum < static_cast<int>(spec.strata.size()),
           "an end's stratum is none of strata");
  }

  // Each is the one before with a frame more, or begins anew where an episode does.
  void check_stacks() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    const std::size_t width = static_cast<std::size_t>(envs->spec().observation_size());
    std::vector<float> before = seen_now(*envs).observations;
    Player player(*envs);
    for (int t = 0; t < options_.num_steps; ++t) {
      const Played out = player.play(1);
      if (!expect_played(out)) return;
      for (std::size_t n = 0; n < kEnvs; ++n) {
        const float *now = &out.policy.observations[n * width], *old = &before[n * width];
        if (!out.ended(n)) {
          expect(goes_on(old, now, width), kNoStack);
          continue;
        }
        expect(begins(now, width),
               "an episode's first stack is not padded as spec().observation.frame_padding says");
        if (!traits_.has_final_observations) continue;
        expect(goes_on(old, &out.policy.last[n * width], width),
               "a final observation is not the stack before it with one frame more");
      }
      before = out.policy.observations;
    }
  }

  bool goes_on(const float* before, const float* now, std::size_t width) const {
    const std::size_t channels = static_cast<std::size_t>(stacked_.channels);
    const std::size_t pixel = channels * static_cast<std::size_t>(stacked_.count);
    bool same = true;
    for (std::size_t at = 0; at < width; at += pixel) {
      same &= std::equal(now + at, now + at + pixel - channels, before + at + channels);
    }
    return same;
  }

  bool begins(const float* stack, std::size_t width) const {
    const std::size_t channels = static_cast<std::size_t>(stacked_.channels);
    const std::size_t pixel = channels * static_cast<std::size_t>(stacked_.count);
    bool same = true;
    for (std::size_t at = 0; at < width; ++at) {
      const std::size_t in_pixel = at % pixel, newest = at - in_pixel + pixel - channels;
      if (in_pixel >= pixel - channels) continue;
      same &=
          stack[at] ==
          (stacked_.padding == FramePadding::kZero ? 0.0f : stack[newest + in_pixel % channels]);
    }
    return same;
  }

  void check_observe() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    Player player(*envs);
    for (int t = 0; t < options_.num_steps; ++t) {
      const Played out = player.play(1);
      if (!expect_played(out)) return;
      const Shown seen = seen_now(*envs), again = seen_now(*envs);
      expect(seen.observations == out.policy.observations, "observe() is not what step() gave");
      expect(seen.last == out.critic.observations, "observe_critic() is not what step() gave");
      expect(seen == again, "observe() gives something else the second time");
    }
  }

  // What observe() and observe_critic() write, one after the other.
  static Shown seen_now(const VecEnv& envs) {
    const EnvSpec& spec = envs.spec();
    SeenRows policy(spec.observation, kEnvs), critic(spec.critic_observation, kEnvs);
    envs.observe(0, kEnvs, policy.from(0));
    if (spec.has_critic_observation()) envs.observe_critic(0, kEnvs, critic.from(0));
    return {policy.numbers(), critic.numbers()};
  }

  // The final observation of a cut episode is what an uncut one goes on from.
  void check_final_observations() {
    const int limit = options_.time_limit;
    const std::unique_ptr<Played> cut = played(options(), limit);
    const std::unique_ptr<Played> whole = played(options(limit + 1), limit);
    if (cut == nullptr || whole == nullptr) return;
    check_last(*cut, cut->policy, *whole, whole->policy);
    check_last(*cut, cut->critic, *whole, whole->critic);
  }

  void check_last(const Played& cut, const Shown& shown, const Played& whole,
                  const Shown& goes_on) {
    const std::size_t width = shown.observations.size() / cut.rewards.size();
    for (std::size_t i = 0; width > 0 && i < cut.rewards.size(); ++i) {
      const float* last = &shown.last[i * width];
      const bool untouched =
          std::all_of(last, last + width, [](float x) { return x == kUntouched; });
      expect(cut.ended(i) != untouched,
             cut.ended(i) ? "no final observation of an ended episode"
                          : "a final observation of an episode that has not ended");
      bool ended_before = !traits_.deterministic || options_.noisy_observations;
      for (std::size_t j = i % kEnvs; j < i; j += kEnvs) ended_before |= whole.ended(j);
      if (cut.truncated[i] == 0 || ended_before) continue;
      expect(std::equal(last, last + width, &goes_on.observations[i * width]),
             "a final observation is not the ended episode's last");
    }
  }

  void check_determinism() {
    const std::unique_ptr<Played> first = played(options(), options_.num_steps);
    const std::unique_ptr<Played> second = played(options(), options_.num_steps);
    if (first == nullptr || second == nullptr) return;
    expect(first->is_as(*second), "the same seed gives other steps");
  }

  // What becomes of an environment does not depend on how the others are stepped.
  void check_independence() {
    const char* name = "any ranges, in any order and at the same time";
    if (!begin_unless(traits_.whole_batch, name, "traits() says that all are stepped as one")) {
      return;
    }
    if (!traits_.deterministic) {
      report_.checks.back().left_out = kVaries;
      return;
    }
    const std::unique_ptr<Played> whole = played(options(), options_.num_steps);
    if (whole == nullptr) return;
    std::vector<EnvRange> ones(kEnvs);
    for (int n = 0; n < kEnvs; ++n) ones[n] = {n, n + 1};
    const int half = kEnvs / 2;
    const std::vector<std::vector<EnvRange>> cuts = {
        ones, {{0, half}, {half, kEnvs}}, {{half, kEnvs}, {0, half}}};
    for (const std::vector<EnvRange>& ranges : cuts) {
      const std::unique_ptr<Played> parts = played(options(), options_.num_steps, ranges);
      if (parts == nullptr) return;
      expect(whole->is_as(*parts), "a step depends on the range that is stepped");
    }
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    const Played both = Player(*envs).play_in_threads(options_.num_steps);
    if (!expect_played(both)) return;
    expect(whole->is_as(both), "two ranges cannot be stepped at the same time");
  }

  void check_seeds() {
    if (!options_.has_chance) {
      report_.checks.back().left_out = "chance has no part in them, as was said";
      return;
    }
    const std::unique_ptr<Played> here = played(options(), options_.num_steps);
    VecEnvOptions other = options();
    other.seed = 4;
    const std::unique_ptr<Played> elsewhere = played(other, options_.num_steps);
    if (here == nullptr || elsewhere == nullptr) return;
    expect(!here->is_as(*elsewhere),
           "another seed gives the same steps (where chance has no part in them, has_chance = "
           "false or "
           "--no_chance says so)");
    check_streams(*here);
    check_families();
  }

  void check_streams(const Played& training) {
    VecEnvOptions other = options();
    other.streams = StreamSet::kEvaluation;
    const std::unique_ptr<Played> evaluation = played(other, options_.num_steps);
    other.streams = StreamSet::kPanel;
    const std::unique_ptr<Played> panel = played(other, options_.num_steps);
    if (evaluation == nullptr || panel == nullptr) return;
    expect(!training.is_as(*evaluation), "evaluation draws what training draws");
    expect(!training.is_as(*panel), "a panel draws what training draws");
    expect(!evaluation->is_as(*panel), "a panel draws what evaluation draws");
  }

  // Through several episodes: each has draws of its own.
  void check_families() {
    VecEnvOptions one = options();
    one.seed_families = 1;
    const std::unique_ptr<VecEnv> family = made(one), families = made(options());
    if (family == nullptr || families == nullptr) return;
    const Played alike = Player(*family, 0, 1).play(options_.num_steps);
    const Played apart = Player(*families, 0, 1).play(options_.num_steps);
    if (!expect_played(alike) || !expect_played(apart)) return;
    expect(alike.are_alike(), "environments of one seed family, under the same actions, differ");
    expect(!apart.are_alike(),
           "environments of different seed families, under the same actions, are all the same");
  }

  // What has been counted of an environment since it was asked last.
  std::vector<double> counted_by(VecEnv& envs, int n) const {
    std::vector<double> sums(counted_, std::numeric_limits<double>::quiet_NaN());
    envs.take_step_sums(n, sums);
    return sums;
  }

  void check_counted() {
    const std::unique_ptr<VecEnv> whole = made(options()), cut = made(options());
    if (whole == nullptr || cut == nullptr) return;
    const int half = kEnvs / 2, steps = options_.num_steps;
    const std::vector<EnvRange> all{{0, kEnvs}}, halves{{0, half}, {half, kEnvs}};
    if (!expect_played(Player(*whole).play(steps, all))) return;
    if (!expect_played(Player(*cut).play(steps, traits_.whole_batch ? all : halves))) return;
    for (int n = 0; n < kEnvs; ++n) {
      const std::vector<double> sums = counted_by(*whole, n), others = counted_by(*cut, n);
      const bool finite =
          std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); });
      expect(finite,
             "take_step_sums() leaves a number of spec().counted() out, or it is not finite");
      expect(!finite || !traits_.deterministic || sums == others,
             "what take_step_sums() gives depends on the ranges that are stepped");
      expect(!finite || counted_by(*whole, n) == std::vector<double>(counted_, 0.0),
             "take_step_sums() does not begin anew");
    }
  }

  // As floats, which a simulator may keep them in.
  static bool is_within(const ContextRange& range, double number) {
    const float given = static_cast<float>(number);
    return given >= static_cast<float>(range.low) && given <= static_cast<float>(range.high);
  }

  void check_context() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    Player player(*envs);
    for (int t = 0; t < options_.num_steps; ++t) {
      for (int n = 0; n < kEnvs; ++n) check_given(*envs, n);
      if (!expect_played(player.play(1))) return;
    }
  }

  void check_given(const VecEnv& envs, int n) {
    std::vector<double> given(context_.size(), std::numeric_limits<double>::quiet_NaN());
    envs.context(n, given);
    for (std::size_t i = 0; i < given.size(); ++i) {
      const bool finite = std::isfinite(given[i]);
      expect(finite, "context() leaves a number of spec().context out, or it is not finite");
      expect(!finite || is_within(context_[i], given[i]),
             "a number that context() gives is not in the range that spec() says");
    }
  }

  void check_saving() {
    if (traits_.saves_state) {
      begin("state saved and restored");
      check_state();
      return;
    }
    begin("new episodes where the state is not saved");
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr || !expect_played(Player(*envs).play(3))) return;
    const Status anew = envs->begin_anew(17);
    expect(anew.ok(), "begin_anew() fails: " + anew.message());
    for (int n = 0; n < kEnvs && anew.ok(); ++n) {
      expect(envs->episode_step(n) == 0, "begin_anew() leaves an episode as it was");
    }
    if (anew.ok() && traits_.deterministic) check_new_episodes(*envs, 17);
  }

  // envs: after begin_anew() with this seed.
  void check_new_episodes(VecEnv& envs, std::uint64_t seed) {
    VecEnvOptions with_seed = options();
    with_seed.seed = seed;
    const std::unique_ptr<Played> made_so = played(with_seed, options_.num_steps);
    const Played first = Player(envs).play(options_.num_steps);
    const Status anew = envs.begin_anew(seed);
    expect(anew.ok(), "begin_anew() fails: " + anew.message());
    const Played second = Player(envs).play(options_.num_steps);
    if (made_so == nullptr || !expect_played(first) || !expect_played(second)) return;
    expect(first.is_as(second), "begin_anew() with the same seed gives other steps");
    expect(first.is_as(*made_so),
           "begin_anew() gives other steps than environments that are made with its seed");
  }

  static bool is_by_row(const TensorRef& tensor) {
    return !tensor.shape.empty() && tensor.shape.front() == kEnvs;
  }

  // Copies what `from` shows into `to`. False where the two are not of a kind.
  bool copy_state(VecEnv& from, VecEnv& to) {
    const Status captured = from.capture();
    expect(captured.ok(), "capture() fails: " + captured.message());
    std::vector<TensorRef> a, b;
    from.append_state("e", a);
    to.append_state("e", b);
    std::set<std::string> names;
    for (const TensorRef& tensor : a) {
      names.insert(tensor.name);
      expect(is_by_row(tensor), fmt::format("{} of the state is not [N, ...]", tensor.name));
    }
    expect(names.size() == a.size(), "two tensors of the state have one name");
    bool alike = a.size() == b.size();
    for (std::size_t i = 0; alike && i < a.size(); ++i) {
      alike = a[i].name == b[i].name && a[i].dtype == b[i].dtype && a[i].shape == b[i].shape;
      if (alike && a[i].bytes() > 0) std::memcpy(b[i].data, a[i].data, a[i].bytes());
    }
    expect(alike, "the state of two of a kind has other names or sizes");
    if (!alike || !captured.ok()) return false;
    const Status restored = to.state_restored();
    expect(restored.ok(), "state_restored() fails: " + restored.message());
    return restored.ok();
  }

  // Into environments that are elsewhere by then, so that nothing can be as it should by chance.
  void check_state() {
    const int steps = options_.num_steps;
    const std::unique_ptr<VecEnv> envs = made(options()), other = made(options());
    if (envs == nullptr || other == nullptr) return;
    Player player(*envs), elsewhere(*other);
    if (!expect_played(player.play(steps)) || !expect_played(elsewhere.play(3))) return;
    if (!copy_state(*envs, *other)) return;
    expect(seen_now(*envs) == seen_now(*other),
           "a restored environment is seen otherwise than the one that was saved");
    const Played on = player.play(steps), restored = Player(*other, steps).play(steps);
    if (!expect_played(on) || !expect_played(restored) || !traits_.deterministic) return;
    expect(on.is_as(restored),
           "environments go on otherwise after their state was saved and restored: something that "
           "the next steps depend on is not in append_state()");
  }

  void check_another() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    VecEnvOptions two;
    two.num_envs = 2;
    two.seed = 9;
    const std::unique_ptr<VecEnv> more = envs->another(two);
    if (more == nullptr) {
      report_.checks.back().left_out = "it gives none: no instrument can look at probe states";
      return;
    }
    expect(more->num_envs() == 2, "another() gives another number than was asked for");
    expect(
        more->spec().max_episode_steps == options_.time_limit && more->spec().id == envs->spec().id,
        "another() is of another id or time limit");
    expect(more->traits() == traits_, "another() has other traits");
  }

  // After a first round, in which a simulator may make what it keeps.
  void check_allocations() {
    const std::unique_ptr<VecEnv> envs = made(options());
    if (envs == nullptr) return;
    const EnvSpec& spec = envs->spec();
    Played out(1, spec);
    std::vector<float> actions(static_cast<std::size_t>(spec.action_size()) * kEnvs);
    Random random(99, Purpose::kUser, 0, 0);
    for (int n = 0; n < kEnvs; ++n)
      draw_action(spec.action, random, &actions[n * spec.action_size()]);
    const auto step = [&] {
      const StepRows rows = out.rows_from(0, actions.data());
      const Status status = envs->step(0, kEnvs, rows);
      envs->observe(0, kEnvs, rows.observations);
      return status.ok();
    };
    for (int t = 0; t < options_.num_steps; ++t) (void)step();
    const std::int64_t before = options_.allocations();
    for (int t = 0; t < options_.num_steps; ++t) (void)step();
    const std::int64_t count = options_.allocations() - before;
    expect(count == 0, fmt::format("{} allocations in {} steps of {} environments", count,
                                   options_.num_steps, kEnvs));
  }

  MakeVecEnv make_;
  ConformanceOptions options_;
  VecEnvTraits traits_;
  FrameLayout stacked_;      // of observations
  std::size_t counted_ = 0;  // numbers
  std::vector<ContextRange> context_;
};

}  // namespace

std::vector<std::string> ConformanceReport::findings() const {
  std::vector<std::string> out;
  for (const Check& check : checks) {
    out.insert(out.end(), check.findings.begin(), check.findings.end());
  }
  return out;
}

ConformanceReport check_vec_env(const MakeVecEnv& make, const ConformanceOptions& options) {
  return Kit(make, options).run();
}

}  // namespace broadloom
