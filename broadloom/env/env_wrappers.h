// Wrappers that any environment can have, and their options.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/action_scale.h"
#include "broadloom/env/declared_mirror.h"
#include "broadloom/env/frame_stack.h"
#include "broadloom/env/hidden_numbers.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

// From the innermost to the outermost.
struct EnvWrappers {
  ActionScale scale;
  DeclaredMirror mirror;
  HiddenNumbers hidden;
  FrameStack frames;
};

// Options of the wrappers that fit these spaces.
std::vector<FieldInfo> wrapper_options(const EnvSpec& spec);
// Sets the option of the wrapper that has one of that name; false: none has.
Result<bool> set_wrapper_option(EnvWrappers& wrappers, const std::string& name,
                                const std::string& text);
// Makes the spec that of wrapped environments. kInvalidConfig if a wrapper does not fit it.
Status describe_wrappers(const EnvWrappers& wrappers, EnvSpec& spec);
std::unique_ptr<VecEnv> wrap(std::unique_ptr<VecEnv> envs, const EnvWrappers& wrappers);

}  // namespace broadloom
