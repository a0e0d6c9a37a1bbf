// The command line before CLI11 sees it.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "cli/command_line.h"

namespace broadloom::cli {

struct Arguments {
  std::vector<std::string> tokens;  // for CLI11, in order
  Overrides env_options;            // taken out: --env.<option> VALUE
};

// Brings flags to the one spelling that is registered: --num-envs becomes --num_envs,
// --no-clip_vloss and `--clip_vloss false` become --clip_vloss=false. Takes --env.<option> flags
// out. A flag that the named sub-command does not have is kInvalidConfig with the nearest one.
Result<Arguments> prepare_arguments(Command root, const std::vector<std::string>& given);

}  // namespace broadloom::cli
