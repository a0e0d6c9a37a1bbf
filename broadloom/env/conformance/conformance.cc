#include "broadloom/env/conformance/conformance.h"

#include <algorithm>
#include <vector>

#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/conformance/findings.h"
#include "broadloom/env/conformance/subject.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom {
namespace conformance {
namespace {

struct NamedCheck {
  const char* name;
  void (*check)(const Subject&, Findings&);
  const char* left_out = nullptr;  // reason to skip it; null: run it
};

const char* unless(bool can, const char* left_out) { return can ? nullptr : left_out; }

// The checks for environments that passed check_size(), in order.
std::vector<NamedCheck> checks_of(const Subject& subject) {
  const VecEnvTraits& traits = subject.traits;
  const ConformanceOptions& options = subject.options;
  const char* const varies = unless(traits.deterministic, "traits().deterministic is false");
  return {
      {"values are finite and within their spaces", check_rows},
      {"episodes end and reset correctly", check_episodes},
      {"frame stacks", check_stacks,
       unless(subject.spec.observation.frame_layout().count != 1,
              "observations are not frame stacks")},
      {"observe() agrees with the last step", check_observe},
      {"final observations of ended episodes", check_final_observations,
       !subject.takes_limit
           ? "the environments refuse a time limit"
           : unless(traits.has_final_observations, "traits().has_final_observations is false")},
      {"final observations at the own time limit", check_own_limit,
       !traits.has_final_observations
           ? "traits().has_final_observations is false"
           : unless(options.own_limit > 0, "no own time limit up to 10,000 steps")},
      {"the same seed gives the same steps", check_determinism, varies},
      {"steps do not depend on ranges, their order or concurrency", check_independence,
       traits.whole_batch ? "traits().whole_batch is true" : varies},
      {"other seeds, streams and families give other steps", check_seeds,
       varies != nullptr ? varies : unless(options.has_chance, "has_chance is false")},
      {"sums over steps", check_counted,
       unless(subject.spec.counted() > 0, "spec() lists no counted reward terms or measures")},
      {"context values", check_context,
       unless(!subject.spec.context.empty(), "spec().context is empty")},
      {"action masks", check_masks,
       unless(subject.spec.action.masked, "spec().action.masked is false")},
      {"mirrored play", check_mirrored_play,
       unless(subject.spec.mirror.exists(), "spec().mirror is empty")},
      traits.saves_state
          ? NamedCheck{"state saved and restored", check_state}
          : NamedCheck{"begin_anew(), since the state is not saved", check_begin_anew},
      {"another() makes environments of the same kind", check_another},
      {"steps allocate nothing", check_allocations,
       unless(options.allocations != nullptr, "this program does not count allocations")},
  };
}

void check_all(Subject& subject, Findings& findings) {
  findings.begin("number, time limit, spaces");
  check_size(subject, findings);
  if (!findings.report().findings().empty()) return;
  std::vector<NamedCheck> checks = checks_of(subject);
  if (subject.steps_on_device) {
    checks.push_back({"device()", nullptr, "these checks use no GPU"});
  }
  for (std::size_t i = 0; i < checks.size(); ++i) {
    const NamedCheck& each = checks[i];
    if (subject.options.on_check) {
      subject.options.on_check(each.name,
                               static_cast<double>(i) / static_cast<double>(checks.size()));
    }
    findings.begin(each.name);
    if (each.left_out != nullptr) {
      findings.leave_out(each.left_out);
    } else {
      const Status run = with_simulator_errors([&] { each.check(subject, findings); });
      findings.expect(run.ok(), run.message());
    }
  }
}

}  // namespace
}  // namespace conformance

std::vector<std::string> ConformanceReport::findings() const {
  std::vector<std::string> out;
  for (const Check& check : checks) {
    out.insert(out.end(), check.findings.begin(), check.findings.end());
  }
  return out;
}

ConformanceReport check_vec_env(const MakeVecEnv& make, const ConformanceOptions& options) {
  conformance::Subject subject{.make = make, .options = options};
  subject.options.num_steps = std::max(options.num_steps, 2 * options.time_limit + 1);
  conformance::Findings findings;
  conformance::check_all(subject, findings);
  return findings.report();
}

}  // namespace broadloom
