// The flags of a study.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "cli/command_line.h"
#include "research/study/study_spec.h"

namespace broadloom::cli {

struct Context;

struct StudyFlags {
  std::string file;
  std::string name, seeds, match, adjust, reference;
  std::vector<std::string> tuned;
  std::vector<std::string> shapes, doubled, grid;
  int batch = 0, doublings = 0, max_envs = 0, points = 0, evaluations = -1;
  bool ladder = false;
  Overrides config;  // config keys as flags
};

// Registers the flags; parsing fills `flags`, which must outlive the app.
void add_study_flags(Command app, const Context& context, StudyFlags& flags);

// Reads the file, if one is named. Flags replace its shapes as a whole, axes and config keys one by
// one. only_looks: nothing will be trained, so code that the file names is not allowed to load.
Result<StudySpec> read_study_flags(const StudyFlags& flags, const Overrides& env_options,
                                   bool only_looks);

}  // namespace broadloom::cli
