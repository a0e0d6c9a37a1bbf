// What a study's store has beside it once its runs were handed to a queue: a folder for each
// launch, with the script, a store and a log for each part, and launch.json, which says what was
// launched. docs/cluster.md describes it.
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
  std::string array;     // the engine's number of it; "": not known, the launch was cut short
  std::string created;
  bool is_over = false;                          // and all that came of it is in the study's store
  std::vector<std::vector<std::int64_t>> parts;  // the runs of part 1, 2, ...

  // The engine's number of the array, or its name while that is not known.
  const std::string& title() const { return array.empty() ? name : array; }
  // With {} for the part's number.
  std::string stores() const { return folder + "/part-{}.sqlite"; }
  std::string logs() const { return folder + "/part-{}.log"; }
  std::string script() const { return folder + "/job.sh"; }
};

// Where a store's launches are: "a-jobs" beside "a.sqlite".
std::string launches_folder(const std::string& store);

// All launches of a store, oldest first; none where it has no folder of them. What has no
// launch.json was never handed over, and is left out. runs: how many the study has. kIo; kCorrupt
// where a launch.json is none, or names other runs.
Result<std::vector<Launch>> read_launches(const std::string& store, std::int64_t runs);

// Makes the folder of the next launch, with nothing in it, and gives its path. kIo.
Result<std::string> make_launch_folder(const std::string& store);

Status write_launch(const Launch& launch);

}  // namespace broadloom
