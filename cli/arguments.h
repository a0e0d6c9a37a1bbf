// Normalises the command line before CLI11 parses it.
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

// Rewrites flags to their registered spelling: --num-envs becomes --num_envs; --no-clip_vloss and
// `--clip_vloss false` become --clip_vloss=false. Moves --env.<option> flags to env_options.
// kInvalidConfig for a flag that the sub-command does not have; the message names the nearest one.
Result<Arguments> prepare_arguments(Command root, const std::vector<std::string>& given);

}  // namespace broadloom::cli
