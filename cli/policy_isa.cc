#include "cli/policy_isa.h"

#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/math/isa.h"

namespace broadloom::cli {

Status use_isa_of_policy(const std::string& run_or_checkpoint) {
  const Result<std::string> isa = isa_of_policy(run_or_checkpoint);
  return isa.ok() ? set_isa(isa.value()) : isa.status();
}

}  // namespace broadloom::cli
