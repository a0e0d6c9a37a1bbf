#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "broadloom/env/action_masks.h"
#include "broadloom/env/audit_context.h"
#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/step_counter.h"

namespace broadloom::conformance {
namespace {

// Calls write() for `count` numbers, with NaN in and behind them.
template <class Write>
std::vector<double> guarded_numbers(std::size_t count, const char* function, const Write& write,
                                    Findings& findings) {
  constexpr std::size_t kGuards = 64;
  std::vector<double> numbers(count + kGuards, std::numeric_limits<double>::quiet_NaN());
  write(std::span(numbers).first(count));
  findings.expect(std::all_of(numbers.end() - kGuards, numbers.end(),
                              [](double number) { return std::isnan(number); }),
                  fmt::format("{}() writes more than its {} numbers", function, count));
  numbers.resize(count);
  return numbers;
}

// Sums of an environment since the last call; `count` numbers.
std::vector<double> take_sums(VecEnv& envs, int n, std::size_t count, Findings& findings) {
  const auto take = [&](std::span<double> sums) {
    auto* const counter = capability<StepCounter>(envs);
    if (counter == nullptr) return;
    name_exceptions(envs.spec().id, "take_step_sums", [&] { counter->take_step_sums(n, sums); });
  };
  return guarded_numbers(count, "take_step_sums", take, findings);
}

// Compares as floats, since a simulator may store floats.
bool is_in_range(const ContextRange& range, double number) {
  const float value = static_cast<float>(number);
  return value >= static_cast<float>(range.low) && value <= static_cast<float>(range.high);
}

void check_context_values(const std::vector<ContextRange>& context, const VecEnv& envs, int n,
                          Findings& findings) {
  const auto show = [&](std::span<double> numbers) {
    const auto* const shown = capability<AuditContext>(envs);
    if (shown == nullptr) return;
    name_exceptions(envs.spec().id, "context", [&] { shown->context(n, numbers); });
  };
  const std::vector<double> values = guarded_numbers(context.size(), "context", show, findings);
  for (std::size_t i = 0; i < values.size(); ++i) {
    const bool finite = std::isfinite(values[i]);
    findings.expect(finite, "context() leaves out a value of spec().context, or it is not finite");
    findings.expect(!finite || is_in_range(context[i], values[i]),
                    "a value of context() is outside its range in spec().context");
  }
}

// flags: [M], those of one state.
void check_flags(const Space& action, const std::uint8_t* flags, Findings& findings) {
  const auto is_flag = [](std::uint8_t flag) { return flag <= 1; };
  findings.expect(std::all_of(flags, flags + action.mask_size(), is_flag),
                  "valid_actions() leaves out a byte of the mask, or it is not 0 or 1");
  for (const int count : action.choices()) {
    findings.expect(std::any_of(flags, flags + count, [](std::uint8_t flag) { return flag != 0; }),
                    "a state has no valid choice for a number of the action; end the episode "
                    "instead");
    flags += count;
  }
}

}  // namespace

void check_counted(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> whole = make_envs(subject, usual_options(subject), findings);
  const std::unique_ptr<VecEnv> cut = make_envs(subject, usual_options(subject), findings);
  if (whole == nullptr || cut == nullptr) return;
  const int half = kEnvs / 2, steps = subject.options.num_steps;
  const std::vector<EnvRange> all{{0, kEnvs}}, halves{{0, half}, {half, kEnvs}};
  if (!expect_played(Player(*whole).play(steps, all), findings)) return;
  const std::vector<EnvRange>& ranges = subject.traits.whole_batch ? all : halves;
  if (!expect_played(Player(*cut).play(steps, ranges), findings)) return;
  const std::size_t count = subject.spec.counted();
  for (int n = 0; n < kEnvs; ++n) {
    const std::vector<double> sums = take_sums(*whole, n, count, findings);
    const std::vector<double> others = take_sums(*cut, n, count, findings);
    const bool finite =
        std::all_of(sums.begin(), sums.end(), [](double x) { return std::isfinite(x); });
    findings.expect(
        finite,
        "take_step_sums() leaves out one of its spec().counted() values, or it is not finite");
    findings.expect(!finite || !subject.traits.deterministic || sums == others,
                    "results of take_step_sums() depend on the stepped ranges");
    findings.expect(
        !finite || take_sums(*whole, n, count, findings) == std::vector<double>(count, 0.0),
        "take_step_sums() does not reset the sums");
  }
}

void check_context(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  Player player(*envs);
  for (int t = 0; t < subject.options.num_steps; ++t) {
    for (int n = 0; n < kEnvs; ++n) check_context_values(subject.spec.context, *envs, n, findings);
    if (!expect_played(player.play(1), findings)) return;
  }
}

void check_masks(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const auto width = static_cast<std::size_t>(subject.spec.action.mask_size());
  Player player(*envs);
  GuardedRows<std::uint8_t> flags(width, kUnwrittenByte);
  const auto read = [&](int begin) {
    flags.clear();
    name_exceptions(subject.spec.id, "valid_actions", [&] {
      capability<ActionMasks>(*envs)->valid_actions(begin, kEnvs, flags.row());
    });
    findings.expect(flags.guards_hold(kEnvs - begin),
                    wrote_outside("valid_actions", subject.spec.id));
  };
  for (int t = 0; t < subject.options.num_steps; ++t) {
    if (!subject.traits.whole_batch) read(kEnvs / 2);
    read(0);
    for (int n = 0; n < kEnvs; ++n) {
      if (envs->next_is_filler(n)) continue;  // whose action is ignored
      check_flags(subject.spec.action, flags.row(n), findings);
    }
    if (!expect_played(player.play(1), findings)) return;
  }
}

}  // namespace broadloom::conformance
