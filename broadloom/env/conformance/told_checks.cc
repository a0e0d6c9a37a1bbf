#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <memory>
#include <vector>

#include "broadloom/env/audit_context.h"
#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/step_counter.h"

namespace broadloom::conformance {
namespace {

// What has been counted of an environment since it was asked last; `count` numbers.
std::vector<double> counted_by(VecEnv& envs, int n, std::size_t count) {
  std::vector<double> sums(count, std::numeric_limits<double>::quiet_NaN());
  if (auto* const counter = capability<StepCounter>(envs)) counter->take_step_sums(n, sums);
  return sums;
}

// As floats, which a simulator may keep them in.
bool is_within(const ContextRange& range, double number) {
  const float given = static_cast<float>(number);
  return given >= static_cast<float>(range.low) && given <= static_cast<float>(range.high);
}

void check_given(const std::vector<ContextRange>& context, const VecEnv& envs, int n,
                 Findings& findings) {
  std::vector<double> given(context.size(), std::numeric_limits<double>::quiet_NaN());
  if (const auto* shown = capability<AuditContext>(envs)) shown->context(n, given);
  for (std::size_t i = 0; i < given.size(); ++i) {
    const bool finite = std::isfinite(given[i]);
    findings.expect(finite, "context() leaves a number of spec().context out, or it is not finite");
    findings.expect(!finite || is_within(context[i], given[i]),
                    "a number that context() gives is not in the range that spec() says");
  }
}

}  // namespace

void check_counted(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> whole = made(subject, usual_options(subject), findings);
  const std::unique_ptr<VecEnv> cut = made(subject, usual_options(subject), findings);
  if (whole == nullptr || cut == nullptr) return;
  const int half = kEnvs / 2, steps = subject.options.num_steps;
  const std::vector<EnvRange> all{{0, kEnvs}}, halves{{0, half}, {half, kEnvs}};
  if (!expect_played(Player(*whole).play(steps, all), findings)) return;
  const std::vector<EnvRange>& ranges = subject.traits.whole_batch ? all : halves;
  if (!expect_played(Player(*cut).play(steps, ranges), findings)) return;
  const std::size_t count = subject.spec.counted();
  for (int n = 0; n < kEnvs; ++n) {
    const std::vector<double> sums = counted_by(*whole, n, count);
    const std::vector<double> others = counted_by(*cut, n, count);
    const bool finite =
        std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); });
    findings.expect(
        finite, "take_step_sums() leaves a number of spec().counted() out, or it is not finite");
    findings.expect(!finite || !subject.traits.deterministic || sums == others,
                    "what take_step_sums() gives depends on the ranges that are stepped");
    findings.expect(!finite || counted_by(*whole, n, count) == std::vector<double>(count, 0.0),
                    "take_step_sums() does not begin anew");
  }
}

void check_context(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = made(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  Player player(*envs);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    for (int n = 0; n < kEnvs; ++n) check_given(subject.spec.context, *envs, n, findings);
    if (!expect_played(player.play(1), findings)) return;
  }
}

}  // namespace broadloom::conformance
