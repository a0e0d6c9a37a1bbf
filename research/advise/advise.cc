#include "research/advise/advise.h"

#include "broadloom/setup/resolve_config.h"
#include "research/advise/advice_config.h"
#include "research/advise/gather.h"

namespace broadloom {

Result<AdviceResult> give_advice(const Config& base, const Overrides& given,
                                 const AdviceOptions& options, const AdviceHooks& hooks) {
  BROADLOOM_TRY(check_options(options));
  BROADLOOM_TRY(check_config(base));
  AdviceBudget total_budget(options.seconds, options.steps, hooks.should_stop, hooks.on_progress);
  Result<AdviceEvidence> evidence =
      gather_evidence(base, given, options, total_budget, hooks.on_checked);
  if (!evidence.ok()) return evidence.status();
  AdviceResult result{evidence.take(), {}, base};
  result.advice = advice_of(result.evidence);
  if (result.advice.verdict != AdviceVerdict::kNothing) {
    result.advised = advised_config(base, given, result.evidence, result.advice);
  }
  return result;
}

}  // namespace broadloom
