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

namespace broadloom::conformance {
namespace {

bool begin_anew(VecEnv& envs, std::uint64_t seed, Findings& findings) {
  const Status anew = envs.begin_anew(seed);
  findings.expect(anew.ok(), "begin_anew() fails: " + anew.message());
  return anew.ok();
}

// envs: after begin_anew() with this seed.
void check_new_episodes(const Subject& subject, VecEnv& envs, std::uint64_t seed,
                        Findings& findings) {
  const int steps = subject.options.num_steps;
  VecEnvOptions with_seed = usual_options(subject);
  with_seed.seed = seed;
  const std::unique_ptr<Played> made_so = played(subject, with_seed, steps, findings);
  const Played first = Player(envs).play(steps);
  begin_anew(envs, seed, findings);
  const Played second = Player(envs).play(steps);
  if (made_so == nullptr || !expect_played(first, findings) || !expect_played(second, findings)) {
    return;
  }
  findings.expect(first.is_as(second), "begin_anew() with the same seed gives other steps");
  findings.expect(first.is_as(*made_so),
                  "begin_anew() gives other steps than environments that are made with its seed");
}

void check_tensors(const std::vector<TensorRef>& state, Findings& findings) {
  std::set<std::string> names;
  for (const TensorRef& tensor : state) {
    names.insert(tensor.name);
    findings.expect(!tensor.shape.empty() && tensor.shape.front() == kEnvs,
                    fmt::format("{} of the state is not [N, ...]", tensor.name));
  }
  findings.expect(names.size() == state.size(), "two tensors of the state have one name");
}

// False where the two are not of a kind.
bool copy_tensors(const std::vector<TensorRef>& from, const std::vector<TensorRef>& to) {
  bool alike = from.size() == to.size();
  for (std::size_t i = 0; alike && i < from.size(); ++i) {
    const TensorRef &a = from[i], &b = to[i];
    alike = a.name == b.name && a.dtype == b.dtype && a.shape == b.shape;
    if (alike && a.bytes() > 0) std::memcpy(b.data, a.data, a.bytes());
  }
  return alike;
}

// Copies what `from` shows into `to`. False where that fails.
bool copy_state(VecEnv& from, VecEnv& to, Findings& findings) {
  const Status captured = from.capture();
  findings.expect(captured.ok(), "capture() fails: " + captured.message());
  std::vector<TensorRef> a, b;
  from.append_state("e", a);
  to.append_state("e", b);
  check_tensors(a, findings);
  for (const TensorRef& tensor : a) {
    const Status within = check_values(tensor, tensor.data);
    findings.expect(within.ok(),
                    "a state that was played is outside of its range, so that no run "
                    "can go on from it: " +
                        within.message());
  }
  const bool alike = copy_tensors(a, b);
  findings.expect(alike, "the state of two of a kind has other names or sizes");
  if (!alike || !captured.ok()) return false;
  const Status restored = to.state_restored();
  findings.expect(restored.ok(), "state_restored() fails: " + restored.message());
  return restored.ok();
}

}  // namespace

// Into environments that are elsewhere by then, so that nothing can be as it should by chance.
void check_state(const Subject& subject, Findings& findings) {
  const int steps = subject.options.num_steps;
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  const std::unique_ptr<VecEnv> other = made(subject, usual_options(subject), findings);
  if (envs == nullptr || other == nullptr) return;
  Player player(*envs), elsewhere(*other);
  if (!expect_played(player.play(steps), findings)) return;
  if (!expect_played(elsewhere.play(3), findings)) return;
  if (!copy_state(*envs, *other, findings)) return;
  findings.expect(seen_now(*envs) == seen_now(*other),
                  "a restored environment is seen otherwise than the one that was saved");
  const Played on = player.play(steps), restored = Player(*other, steps).play(steps);
  if (!expect_played(on, findings) || !expect_played(restored, findings)) return;
  findings.expect(
      on.is_as(restored) || !subject.traits.deterministic,
      "environments go on otherwise after their state was saved and restored: something that "
      "the next steps depend on is not in append_state()");
}

void check_begin_anew(const Subject& subject, Findings& findings) {
  constexpr std::uint64_t kSeed = 17;
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr || !expect_played(Player(*envs).play(3), findings)) return;
  if (!begin_anew(*envs, kSeed, findings)) return;
  for (int n = 0; n < kEnvs; ++n) {
    findings.expect(envs->episode_step(n) == 0, "begin_anew() leaves an episode as it was");
  }
  if (subject.traits.deterministic) check_new_episodes(subject, *envs, kSeed, findings);
}

void check_another(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  VecEnvOptions two;
  two.num_envs = 2;
  two.seed = 9;
  const std::unique_ptr<VecEnv> more = make_another(*envs, two);
  if (more == nullptr) {
    findings.leave_out("it gives none: no instrument can look at probe states");
    return;
  }
  findings.expect(more->num_envs() == 2, "another() gives another number than was asked for");
  findings.expect(more->spec().max_episode_steps == subject.options.time_limit &&
                      more->spec().id == envs->spec().id,
                  "another() is of another id or time limit");
  findings.expect(more->traits() == subject.traits, "another() has other traits");
}

}  // namespace broadloom::conformance
