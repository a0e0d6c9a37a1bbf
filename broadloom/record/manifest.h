// manifest.json: the settings and origin of a run. See docs/formats/run_folder.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class Json;

// The origin of a policy of another run: the one that a run began with, or its teacher.
struct PolicySource {
  std::string file;                 // the checkpoint's path, as given
  std::int64_t global_step = 0;     // of the checkpoint's run
  std::string parameters_hash;      // as in that run's record
  std::string obs_normalizer_hash;  // of its statistics; "": not used
  std::string optimizer_hash;       // of Adam's state and the reward statistics; "": not used
};

struct Manifest {
  Overrides config;  // every key with its exact text
  std::uint64_t seed = 0;
  int threads = 1;  // of each rank
  int ranks = 1;    // processes of the start
  std::string isa;
  std::string bits;   // "common": everybody's; "own": of isa, precision or simulator;
                      // "none": the simulator is not deterministic; "": not said
  std::string panel;  // hash of panel.toml as the run was started; "": none
  std::vector<std::int64_t> extended_from;  // earlier values of total_timesteps, in order
  std::string rerun_of;                     // hash of the repeated record's line; "": not a rerun
  std::optional<PolicySource> init;         // absent: drawn by the seed
  std::optional<PolicySource> teacher;      // absent: the algorithm has none
  VecEnvTraits simulator;                   // limits of the environments
  EnvPlugin plugin;                         // that made the environments; empty: none
  std::string upstream;                     // EnvSpec::upstream; "": the library's, or not said
  std::string engine;                       // EnvSpec::engine at the start; "": Broadloom
  // A resume on another engine, model or device: from this environment step.
  struct Change {
    std::int64_t step = 0;
    std::string name;  // of the new one
  };
  std::vector<Change> engine_changes;
  const std::string& last_engine() const {
    return engine_changes.empty() ? engine : engine_changes.back().name;
  }
  // Environment steps at which a resume began new episodes because the simulator does not save its
  // state.
  std::vector<std::int64_t> new_episodes_at;
  std::string version, revision, compiler, build_type;  // of the program
  std::string cpu;
  std::string device;  // name of the GPU at the start; "": CPU
  std::vector<Change> device_changes;
  const std::string& last_device() const {
    return device_changes.empty() ? device : device_changes.back().name;
  }
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::string created;  // UTC, ISO 8601
};

// Fills in program, CPU, memory and time.
Manifest make_manifest(const Overrides& config, std::uint64_t seed, int threads,
                       const std::string& isa);

std::string manifest_json(const Manifest& manifest);
// Reads a manifest; kNotFound, kIo or kCorrupt.
Result<Manifest> read_manifest(const std::string& path);

// Whether two texts of EnvSpec::engine name one engine and model. Older records have the path of
// the model's file.
bool same_engine(const std::string& a, const std::string& b);

// JSON objects of manifest and ledger, and the inverse.
Json policy_source_json(const PolicySource& source);
PolicySource policy_source_of(const Json& json);
Json simulator_json(const VecEnvTraits& simulator);
Json plugin_json(const EnvPlugin& plugin);
// key: "engine" or "device".
Json changes_json(const std::vector<Manifest::Change>& changes, std::string_view key);

// EnvSpec::upstream on one line, without the versions of packages and the addresses of objects: two
// installs or processes name one source of environments alike.
std::string source_words(std::string_view upstream);
// Whether two texts of EnvSpec::upstream say the same, but for the addresses of objects
// and for line breaks.
bool same_source_text(const std::string& a, const std::string& b);
// Whether two texts of EnvSpec::upstream in records name one source. A record without it, such as
// of a plug-in or from before it was recorded, contradicts none.
bool same_source(const std::string& a, const std::string& b);

// Hash of the program's file, which distinguishes builds of one revision; "" if it cannot be read.
// Reads the file at each call.
std::string program_hash();

// "0.1.0 (revision)".
std::string version_text();

}  // namespace broadloom
