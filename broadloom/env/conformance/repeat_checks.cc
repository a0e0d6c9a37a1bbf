#include <memory>
#include <vector>

#include "broadloom/env/conformance/checks.h"

namespace broadloom::conformance {
namespace {

// Plays options.num_steps steps.
std::unique_ptr<Played> play_all_steps(const Subject& subject, const VecEnvOptions& options,
                                       Findings& findings) {
  return play_envs(subject, options, subject.options.num_steps, findings);
}

void check_streams(const Subject& subject, const Played& training, Findings& findings) {
  VecEnvOptions other = usual_options(subject);
  other.streams = StreamSet::kEvaluation;
  const std::unique_ptr<Played> evaluation = play_all_steps(subject, other, findings);
  other.streams = StreamSet::kPanel;
  const std::unique_ptr<Played> panel = play_all_steps(subject, other, findings);
  if (evaluation == nullptr || panel == nullptr) return;
  findings.expect(!training.equals(*evaluation), "evaluation and training draw the same numbers");
  findings.expect(!training.equals(*panel), "panels and training draw the same numbers");
  findings.expect(!evaluation->equals(*panel), "panels and evaluation draw the same numbers");
}

// Plays several episodes, since each has its own draws.
void check_families(const Subject& subject, Findings& findings) {
  VecEnvOptions one = usual_options(subject);
  one.seed_families = 1;
  const std::unique_ptr<VecEnv> family = make_envs(subject, one, findings);
  const std::unique_ptr<VecEnv> families = make_envs(subject, usual_options(subject), findings);
  if (family == nullptr || families == nullptr) return;
  const Played alike = Player(*family, 0, 1).play(subject.options.num_steps);
  const Played apart = Player(*families, 0, 1).play(subject.options.num_steps);
  if (!expect_played(alike, findings) || !expect_played(apart, findings)) return;
  findings.expect(alike.are_alike(),
                  "environments of one seed family differ under the same actions");
  findings.expect(!apart.are_alike(),
                  "environments of different seed families are all equal under the same actions");
}

// Single environments, and halves in both orders.
std::vector<std::vector<EnvRange>> range_cuts() {
  std::vector<EnvRange> ones(kEnvs);
  for (int n = 0; n < kEnvs; ++n) ones[n] = {n, n + 1};
  const int half = kEnvs / 2;
  return {ones, {{0, half}, {half, kEnvs}}, {{half, kEnvs}, {0, half}}};
}

}  // namespace

void check_determinism(const Subject& subject, Findings& findings) {
  const std::unique_ptr<Played> first = play_all_steps(subject, usual_options(subject), findings);
  const std::unique_ptr<Played> second = play_all_steps(subject, usual_options(subject), findings);
  if (first == nullptr || second == nullptr) return;
  findings.expect(first->equals(*second), "the same seed gives different steps");
}

// An environment's results must not depend on how others are stepped.
void check_independence(const Subject& subject, Findings& findings) {
  const int steps = subject.options.num_steps;
  const std::unique_ptr<Played> whole = play_all_steps(subject, usual_options(subject), findings);
  if (whole == nullptr) return;
  for (const std::vector<EnvRange>& ranges : range_cuts()) {
    const std::unique_ptr<Played> parts =
        play_envs(subject, usual_options(subject), steps, findings, ranges);
    if (parts == nullptr) return;
    findings.expect(whole->equals(*parts), "results of a step depend on its range");
  }
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const Played both = Player(*envs).play_in_threads(steps);
  if (!expect_played(both, findings)) return;
  findings.expect(whole->equals(both), "results change if two ranges are stepped concurrently");
}

void check_seeds(const Subject& subject, Findings& findings) {
  const std::unique_ptr<Played> here = play_all_steps(subject, usual_options(subject), findings);
  VecEnvOptions other = usual_options(subject);
  other.seed = 4;
  const std::unique_ptr<Played> elsewhere = play_all_steps(subject, other, findings);
  if (here == nullptr || elsewhere == nullptr) return;
  findings.expect(!here->equals(*elsewhere),
                  "another seed gives the same steps; if the environments use no random numbers, "
                  "set has_chance = false or --no_chance");
  check_streams(subject, *here, findings);
  check_families(subject, findings);
}

}  // namespace broadloom::conformance
