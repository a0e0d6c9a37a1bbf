#include "cli/policy_isa.h"

#include <fmt/core.h>

#include <filesystem>
#include <system_error>

#include "broadloom/evaluate/run_evaluation.h"
#include "broadloom/evaluate/run_path.h"
#include "broadloom/math/isa.h"
#include "broadloom/record/run_folder.h"

namespace broadloom::cli {

Status use_best(bool best, std::string& run_or_checkpoint) {
  if (!best) return {};
  std::error_code error;
  if (std::filesystem::is_regular_file(run_or_checkpoint, error)) {
    return invalid(
        fmt::format("--best: got the file '{}', expected a run with a best checkpoint; "
                    "leave --best out, or name the run",
                    run_or_checkpoint));
  }
  BROADLOOM_TRY(check_run_folder(run_or_checkpoint));
  Result<std::string> path = find_best_checkpoint(run_or_checkpoint);
  if (!path.ok()) return path.status();
  run_or_checkpoint = path.take();
  return {};
}

Status use_isa_of_policy(const std::string& run_or_checkpoint) {
  const Result<std::string> isa = isa_of_policy(run_or_checkpoint);
  return isa.ok() ? set_isa(isa.value()) : isa.status();
}

}  // namespace broadloom::cli
