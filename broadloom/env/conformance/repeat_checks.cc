#include <memory>
#include <vector>

#include "broadloom/env/conformance/checks.h"

namespace broadloom::conformance {
namespace {

// As many steps as the kit's options say.
std::unique_ptr<Played> played_fully(const Subject& subject, const VecEnvOptions& options,
                                     Findings& findings) {
  return played(subject, options, subject.options.num_steps, findings);
}

void check_streams(const Subject& subject, const Played& training, Findings& findings) {
  VecEnvOptions other = usual_options(subject);
  other.streams = StreamSet::kEvaluation;
  const std::unique_ptr<Played> evaluation = played_fully(subject, other, findings);
  other.streams = StreamSet::kPanel;
  const std::unique_ptr<Played> panel = played_fully(subject, other, findings);
  if (evaluation == nullptr || panel == nullptr) return;
  findings.expect(!training.is_as(*evaluation), "evaluation draws what training draws");
  findings.expect(!training.is_as(*panel), "a panel draws what training draws");
  findings.expect(!evaluation->is_as(*panel), "a panel draws what evaluation draws");
}

// Through several episodes: each has draws of its own.
void check_families(const Subject& subject, Findings& findings) {
  VecEnvOptions one = usual_options(subject);
  one.seed_families = 1;
  const std::unique_ptr<VecEnv> family = made(subject, one, findings);
  const std::unique_ptr<VecEnv> families = made(subject, usual_options(subject), findings);
  if (family == nullptr || families == nullptr) return;
  const Played alike = Player(*family, 0, 1).play(subject.options.num_steps);
  const Played apart = Player(*families, 0, 1).play(subject.options.num_steps);
  if (!expect_played(alike, findings) || !expect_played(apart, findings)) return;
  findings.expect(alike.are_alike(),
                  "environments of one seed family, under the same actions, differ");
  findings.expect(
      !apart.are_alike(),
      "environments of different seed families, under the same actions, are all the same");
}

// Ones, and halves in either order.
std::vector<std::vector<EnvRange>> range_cuts() {
  std::vector<EnvRange> ones(kEnvs);
  for (int n = 0; n < kEnvs; ++n) ones[n] = {n, n + 1};
  const int half = kEnvs / 2;
  return {ones, {{0, half}, {half, kEnvs}}, {{half, kEnvs}, {0, half}}};
}

}  // namespace

void check_determinism(const Subject& subject, Findings& findings) {
  const std::unique_ptr<Played> first = played_fully(subject, usual_options(subject), findings);
  const std::unique_ptr<Played> second = played_fully(subject, usual_options(subject), findings);
  if (first == nullptr || second == nullptr) return;
  findings.expect(first->is_as(*second), "the same seed gives other steps");
}

// What becomes of an environment does not depend on how the others are stepped.
void check_independence(const Subject& subject, Findings& findings) {
  const int steps = subject.options.num_steps;
  const std::unique_ptr<Played> whole = played_fully(subject, usual_options(subject), findings);
  if (whole == nullptr) return;
  for (const std::vector<EnvRange>& ranges : range_cuts()) {
    const std::unique_ptr<Played> parts =
        played(subject, usual_options(subject), steps, findings, ranges);
    if (parts == nullptr) return;
    findings.expect(whole->is_as(*parts), "a step depends on the range that is stepped");
  }
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const Played both = Player(*envs).play_in_threads(steps);
  if (!expect_played(both, findings)) return;
  findings.expect(whole->is_as(both), "two ranges cannot be stepped at the same time");
}

void check_seeds(const Subject& subject, Findings& findings) {
  const std::unique_ptr<Played> here = played_fully(subject, usual_options(subject), findings);
  VecEnvOptions other = usual_options(subject);
  other.seed = 4;
  const std::unique_ptr<Played> elsewhere = played_fully(subject, other, findings);
  if (here == nullptr || elsewhere == nullptr) return;
  findings.expect(!here->is_as(*elsewhere),
                  "another seed gives the same steps (where chance has no part in them, "
                  "has_chance = false or --no_chance says so)");
  check_streams(subject, *here, findings);
  check_families(subject, findings);
}

}  // namespace broadloom::conformance
