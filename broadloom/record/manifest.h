// manifest.json: what a run was made of. See docs/formats/run_folder.md.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/core/status.h"
#include "broadloom/env/spec.h"
#include "broadloom/env/vec_env.h"

namespace broadloom {

class Json;

// Where the first policy of a run is from that began with another run's.
struct PolicySource {
  std::string file;                 // the checkpoint, as it was named
  std::int64_t global_step = 0;     // of the run that it is of
  std::string parameters_hash;      // as in the result of that run's record
  std::string obs_normalizer_hash;  // of its statistics; "": none were taken
};

struct Manifest {
  Overrides config;  // every key with its exact text
  std::uint64_t seed = 0;
  int threads = 1;  // of each rank
  int ranks = 1;    // processes that began it together
  std::string isa;
  std::string bits;   // "common": everybody's; "own": of isa, precision or simulator;
                      // "none": the simulator is not deterministic; "": not said
  std::string panel;  // hash of panel.toml as the run was started; "": none
  std::vector<std::int64_t> extended_from;  // each total_timesteps that was made longer, in order
  std::string rerun_of;                     // hash of the record's line; "": no rerun
  std::optional<PolicySource> init;         // nothing: drawn by the seed
  VecEnvTraits simulator;                   // what the environments can do
  EnvPlugin plugin;                         // that they are from; empty: none
  std::string engine;                       // EnvSpec::engine; "": Broadloom
  // Environment steps after which a resume began new episodes, since these were not saved.
  std::vector<std::int64_t> new_episodes_at;
  std::string version, revision, compiler, build_type;  // of the program
  std::string cpu;
  std::string device;  // that began to train, as it calls itself; "": the processor did
  // Where resumes had another one train on: from which environment step, "": the processor.
  struct DeviceChange {
    std::int64_t step = 0;
    std::string device;
  };
  std::vector<DeviceChange> device_changes;
  const std::string& last_device() const {
    return device_changes.empty() ? device : device_changes.back().device;
  }
  int cores = 0;
  std::int64_t memory_bytes = 0;
  std::string created;  // UTC, ISO 8601
};

// Fills in program, processor, memory and time.
Manifest make_manifest(const Overrides& config, std::uint64_t seed, int threads,
                       const std::string& isa);

std::string manifest_json(const Manifest& manifest);
// The manifest of a file; kNotFound, kIo or kCorrupt.
Result<Manifest> read_manifest(const std::string& path);

// The object that manifest and ledger keep; and back.
Json policy_source_json(const PolicySource& source);
PolicySource policy_source_of(const Json& json);
Json simulator_json(const VecEnvTraits& simulator);
Json plugin_json(const EnvPlugin& plugin);
Json device_changes_json(const std::vector<Manifest::DeviceChange>& changes);

// Hash of the program's own file, which tells builds of one revision apart; "" where it cannot be
// read. Reads the file each time.
std::string program_hash();

// "0.1.0 (revision)".
std::string version_text();

}  // namespace broadloom
