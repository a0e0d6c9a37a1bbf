#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/core/tensor_ref.h"
#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/env_maker.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom::conformance {
namespace {

bool begin_anew(VecEnv& envs, std::uint64_t seed, Findings& findings) {
  const Status anew = envs.begin_anew(seed);
  findings.expect(anew.ok(), "begin_anew() fails: " + anew.message());
  return anew.ok();
}

// envs: begin_anew() was called with this seed.
void check_new_episodes(const Subject& subject, VecEnv& envs, std::uint64_t seed,
                        Findings& findings) {
  const int steps = subject.options.num_steps;
  VecEnvOptions with_seed = usual_options(subject);
  with_seed.seed = seed;
  const std::unique_ptr<Played> made_with_seed = play_envs(subject, with_seed, steps, findings);
  const Played first = Player(envs).play(steps);
  begin_anew(envs, seed, findings);
  const Played second = Player(envs).play(steps);
  if (made_with_seed == nullptr || !expect_played(first, findings) ||
      !expect_played(second, findings)) {
    return;
  }
  findings.expect(first.equals(second), "two begin_anew() with the same seed give different steps");
  findings.expect(first.equals(*made_with_seed),
                  "begin_anew() gives different steps than new environments with the same seed");
}

void check_tensors(const std::vector<TensorRef>& state, Findings& findings) {
  std::set<std::string> names;
  for (const TensorRef& tensor : state) {
    names.insert(tensor.name);
    findings.expect(!tensor.shape.empty() && tensor.shape.front() == kEnvs,
                    fmt::format("state tensor {} does not have shape [N, ...]", tensor.name));
  }
  findings.expect(names.size() == state.size(), "two state tensors have the same name");
}

// False if names, types or shapes differ.
bool copy_tensors(const std::vector<TensorRef>& source, const std::vector<TensorRef>& target) {
  bool alike = source.size() == target.size();
  for (std::size_t i = 0; alike && i < source.size(); ++i) {
    const TensorRef &a = source[i], &b = target[i];
    alike = a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
    if (alike && a.bytes() > 0) std::memcpy(b.data, a.data, a.bytes());
  }
  return alike;
}

// Copies the state of `source` to `target`. False if that fails.
bool copy_state(VecEnv& source, VecEnv& target, Findings& findings) {
  const Status captured = source.capture();
  findings.expect(captured.ok(), "capture() fails: " + captured.message());
  const std::vector<TensorRef> a = state_of_simulator(source, "e");
  const std::vector<TensorRef> b = state_of_simulator(target, "e");
  check_tensors(a, findings);
  for (const TensorRef& tensor : a) {
    const Status in_range = check_values(tensor, tensor.data);
    findings.expect(
        in_range.ok(),
        "a reached state is outside its declared range, so runs cannot resume from it: " +
            in_range.message());
  }
  const bool alike = copy_tensors(a, b);
  findings.expect(
      alike, "state tensors of two objects with the same options differ in name, type or shape");
  if (!alike || !captured.ok()) return false;
  const Status restored = target.state_restored();
  findings.expect(restored.ok(), "state_restored() fails: " + restored.message());
  return restored.ok();
}

}  // namespace

// Restores into environments in other states, so that missing state cannot agree by chance.
void check_state(const Subject& subject, Findings& findings) {
  const int steps = subject.options.num_steps;
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  const std::unique_ptr<VecEnv> other = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr || other == nullptr) return;
  Player player(*envs), elsewhere(*other);
  if (!expect_played(player.play(steps), findings)) return;
  if (!expect_played(elsewhere.play(3), findings)) return;
  if (!copy_state(*envs, *other, findings)) return;
  findings.expect(observe_now(*envs, findings) == observe_now(*other, findings),
                  "observations change when the state is saved and restored");
  const Played original = player.play(steps), restored = Player(*other, steps).play(steps);
  if (!expect_played(original, findings) || !expect_played(restored, findings)) return;
  findings.expect(
      original.equals(restored) || !subject.traits.deterministic,
      "steps after a restored state differ: append_state() misses something that they depend on");
}

void check_begin_anew(const Subject& subject, Findings& findings) {
  constexpr std::uint64_t kSeed = 17;
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr || !expect_played(Player(*envs).play(3), findings)) return;
  if (!begin_anew(*envs, kSeed, findings)) return;
  findings.expect(envs->can_begin_anew(), "begin_anew() works, but can_begin_anew() is false");
  for (int n = 0; n < kEnvs; ++n) {
    findings.expect(envs->episode_step(n) == 0, "begin_anew() does not reset every episode");
  }
  if (subject.traits.deterministic) check_new_episodes(subject, *envs, kSeed, findings);
}

void check_another(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  VecEnvOptions two;
  two.num_envs = 2;
  two.seed = 9;
  const std::unique_ptr<VecEnv> more = make_another(*envs, two);
  if (more == nullptr) {
    findings.leave_out("it returns null, so instruments cannot use probe states");
    return;
  }
  findings.expect(more->num_envs() == 2, "num_envs() of another() differs from options.num_envs");
  findings.expect(more->spec().max_episode_steps == subject.options.time_limit &&
                      more->spec().id == envs->spec().id,
                  "another() changes the id or the time limit");
  findings.expect(more->traits() == subject.traits, "another() changes traits()");
}

}  // namespace broadloom::conformance
