#include "broadloom/env/conformance/conformance.h"

#include <algorithm>
#include <vector>

#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/conformance/findings.h"
#include "broadloom/env/conformance/subject.h"

namespace broadloom {
namespace conformance {
namespace {

struct NamedCheck {
  const char* name;
  void (*check)(const Subject&, Findings&);
  const char* left_out = nullptr;  // why; null: it runs
};

const char* unless(bool can, const char* left_out) { return can ? nullptr : left_out; }

// Of environments that passed check_size(), in the order in which they run.
std::vector<NamedCheck> checks_of(const Subject& subject) {
  const VecEnvTraits& traits = subject.traits;
  const ConformanceOptions& options = subject.options;
  const char* const varies =
      unless(traits.deterministic, "traits() says that they are not deterministic");
  return {
      {"finite values within their spaces", check_rows},
      {"ends of episodes, and what is reset by itself", check_episodes},
      {"stacks of frames", check_stacks,
       unless(subject.spec.observation.frame_layout().count != 1, "observations are none")},
      {"observe() is what the last step gave", check_observe},
      {"final observations of ended episodes", check_final_observations,
       unless(traits.has_final_observations, "traits() says that there are none")},
      {"the same seed, the same steps", check_determinism, varies},
      {"any ranges, in any order and at the same time", check_independence,
       traits.whole_batch ? "traits() says that all are stepped as one" : varies},
      {"seeds, streams and families", check_seeds,
       varies != nullptr ? varies
                         : unless(options.has_chance, "chance has no part in them, as was said")},
      {"what steps count", check_counted,
       unless(subject.spec.counted() > 0, "spec() names nothing that they count")},
      {"what environments are given", check_context,
       unless(!subject.spec.context.empty(), "spec() names nothing that they are given")},
      traits.saves_state
          ? NamedCheck{"state saved and restored", check_state}
          : NamedCheck{"new episodes where the state is not saved", check_begin_anew},
      {"another()", check_another},
      {"steps allocate nothing", check_allocations,
       unless(options.allocations != nullptr, "this program does not count allocations")},
  };
}

void check_all(Subject& subject, Findings& findings) {
  findings.begin("number, time limit, spaces");
  check_size(subject, findings);
  if (!findings.report().findings().empty()) return;
  for (const NamedCheck& each : checks_of(subject)) {
    findings.begin(each.name);
    if (each.left_out != nullptr) {
      findings.leave_out(each.left_out);
    } else {
      each.check(subject, findings);
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
  conformance::Subject subject{make, options, {}, {}};
  subject.options.num_steps = std::max(options.num_steps, 2 * options.time_limit + 1);
  conformance::Findings findings;
  conformance::check_all(subject, findings);
  return findings.report();
}

}  // namespace broadloom
