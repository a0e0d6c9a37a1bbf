// The teacher of a run: another run's policy, read from its checkpoint and never changed. A run
// keeps a copy of that file in its folder, because the other run may overwrite or delete its own.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/checkpoint_file.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/record/manifest.h"
#include "broadloom/rollout/teacher.h"

namespace broadloom {

// A checkpoint, read and parsed once: its copy and all trainers have the same policy. The cells of
// a study share it.
struct TeacherFile {
  std::string path;
  std::shared_ptr<const std::string> bytes;      // not null
  std::shared_ptr<const Checkpoint> checkpoint;  // their content; not null

  // path: for messages. Errors of parse_checkpoint().
  static Result<TeacherFile> parse(std::string bytes, const std::string& path);
};

struct TeacherPolicy {
  std::unique_ptr<LoadedPolicy> policy;
  PolicySource source;  // file, and hashes of parameters and normaliser
  bool reads_critic = false;

  // This object must outlive it.
  Teacher labels() const;
  // "policy" or "critic": whose observation it reads.
  const char* side() const { return reads_critic ? "critic" : "policy"; }
  // One hash of the parameters and of the normaliser, if there is one.
  std::string hash() const;
};

// Reads the file that a config names; nullopt if its algorithm has no teacher. kInvalidConfig if it
// names none, kNotFound, kIo, kCorrupt.
Result<std::optional<TeacherFile>> read_teacher_file(const Config& config);

// Reads the recorded teacher from the first of the places (runs or checkpoints) that has it. The
// error says what each place has instead, and ends with the advice, a sentence without its full
// stop. kNotFound if nothing is there, kCorrupt, or kMismatch for another policy.
Result<TeacherFile> find_teacher(const PolicySource& recorded,
                                 const std::vector<std::string>& places, const std::string& advice);

// The teacher of a run that was started: the copy in its folder, or else the file that it began
// with. Its path is the recorded one. nullopt: the algorithm has none. Errors of find_teacher() and
// of the manifest.
Result<std::optional<TeacherFile>> teacher_of_run(const RunFolder& folder, const Config& config);

// Makes the teacher of a config. null: its algorithm has none. file: nullopt reads the one that the
// config names, with its errors. kMismatch if its task or its actions are
// others, if no observation of spec has what it read, or if it has a memory.
Result<std::unique_ptr<TeacherPolicy>> make_teacher(const Config& config, const EnvSpec& spec,
                                                    const std::optional<TeacherFile>& file = {});

// kMismatch unless the teacher (null: none) is the recorded one; hash "": nothing was recorded.
Status check_teacher(const TeacherPolicy* teacher, const std::string& recorded_hash);

// TeacherPolicy::hash() of a recorded source.
std::string teacher_hash(const PolicySource& source);

// "runs/t/checkpoints/x.safetensors (324f52ca)": file and first digits of its parameters' hash.
std::string teacher_text(const PolicySource& source);

}  // namespace broadloom
