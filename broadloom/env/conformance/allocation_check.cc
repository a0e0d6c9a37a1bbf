#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/status.h"
#include "broadloom/env/action_masks.h"
#include "broadloom/env/conformance/checks.h"
#include "broadloom/env/conformance/guarded_rows.h"
#include "broadloom/env/random_action.h"
#include "broadloom/env/simulator_call.h"

namespace broadloom::conformance {

// Counts after a warm-up, in which a simulator may allocate its buffers.
void check_allocations(const Subject& subject, Findings& findings) {
  const std::unique_ptr<VecEnv> envs = make_envs(subject, usual_options(subject), findings);
  if (envs == nullptr) return;
  const int steps = subject.options.num_steps;
  const EnvSpec& spec = envs->spec();
  StepOutputs outputs(spec);
  std::vector<float> actions(static_cast<std::size_t>(spec.action_size()) * kEnvs);
  Random random(99, Purpose::kUser, 0, 0);
  MaskRows masks(spec, 2 * kEnvs);
  const auto draw = [&] {
    masks.read(*envs, 0, kEnvs);
    for (std::size_t n = 0; n < kEnvs; ++n) {
      draw_action(spec.action, random, &actions[n * static_cast<std::size_t>(spec.action_size())],
                  masks.row(n));
    }
  };
  draw();
  const auto step = [&] {
    if (masks.width() > 0) draw();
    const StepRows rows = outputs.begin(actions.data());
    const Status status =
        call_simulator(spec.id, "step", [&] { return envs->step(0, kEnvs, rows); });
    observe_simulator(*envs, 0, kEnvs, rows.observations);
    return status.ok();
  };
  for (int t = 0; t < steps; ++t) (void)step();
  const std::int64_t before = subject.options.allocations();
  for (int t = 0; t < steps; ++t) (void)step();
  const std::int64_t count = subject.options.allocations() - before;
  findings.expect(count == 0, fmt::format("{} allocations in {} steps of {} environments", count,
                                          steps, kEnvs));
}

}  // namespace broadloom::conformance
