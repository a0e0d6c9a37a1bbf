// The records of a study's launches on a cluster. Beside the store lies one folder a launch, with
// the script, a store and a log of each part, and launch.json. docs/cluster.md describes it.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

struct Launch {
  std::string folder;
  std::string launcher;  // "slurm"
  std::string name;      // of the job array
  std::string array;     // the queue's number of it; "": unknown, the launch was interrupted
  std::string created;
  bool is_over = false;                          // its results are in the study's store
  std::vector<std::vector<std::int64_t>> parts;  // runs of part 1, 2, ...

  // The queue's number of the array, or its name while the number is unknown.
  const std::string& title() const { return array.empty() ? name : array; }
  // Paths with {} for the part's number.
  std::string stores() const { return folder + "/part-{}.sqlite"; }
  std::string logs() const { return folder + "/part-{}.log"; }
  std::string script() const { return folder + "/job.sh"; }
};

// The folder of a store's launches: "a-jobs" for "a.sqlite".
std::string launches_folder(const std::string& store);

// All launches of a store, oldest first. Folders without launch.json were never submitted and are
// skipped. runs: number of runs of the study. kIo; kCorrupt if a launch.json is not valid or names
// other runs.
Result<std::vector<Launch>> read_launches(const std::string& store, std::int64_t runs);

// Makes an empty folder for the next launch and returns its path. kIo.
Result<std::string> make_launch_folder(const std::string& store);

Status write_launch(const Launch& launch);

}  // namespace broadloom
