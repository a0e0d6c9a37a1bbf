// The teacher of a run: another run's policy, read from its checkpoint and never changed.
#pragma once

#include <memory>
#include <string>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/record/manifest.h"
#include "broadloom/rollout/teacher.h"

namespace broadloom {

struct TeacherPolicy {
  std::unique_ptr<LoadedPolicy> policy;
  PolicySource source;  // file, and hashes of parameters and normaliser
  bool reads_critic = false;

  // This object must outlive it.
  Teacher labels() const;
  // One hash of the parameters and of the normaliser, if there is one.
  std::string hash() const;
};

// Reads the teacher of a config whose algorithm has one. null: it has none. kNotFound, kIo or
// kCorrupt for its file; kMismatch if its actions are others, if no observation of spec has its
// size, or if it has a memory.
Result<std::unique_ptr<TeacherPolicy>> read_teacher(const Config& config, const EnvSpec& spec);

// kMismatch unless the teacher (null: none) is the recorded one; hash "": nothing was recorded.
Status check_teacher(const TeacherPolicy* teacher, const std::string& recorded_hash);

// TeacherPolicy::hash() of a recorded source.
std::string teacher_hash(const PolicySource& source);

}  // namespace broadloom
