// What a study needs of whatever runs jobs on a cluster: an array of jobs, one a part, put into a
// queue, and which of them have not ended. Another engine is one more of these and its line in
// launcher.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// What one job of an array may take.
struct JobLimits {
  int threads = 1;
  std::int64_t memory_bytes = 0;
  int minutes = 0;
  std::string partition;  // "": the engine's own choice
};

// Parts 1 to `parts`, a job each, that differ in their part's number alone.
struct JobArray {
  std::string name;  // by which it is found again: no other array has it
  int parts = 0;
  int at_once = 0;  // jobs; 0: as many as the engine starts
  JobLimits limits;
  std::string folder;                // where each job starts
  std::string log;                   // path of a part's, with {} for its number
  std::vector<std::string> runs;     // of each part, as --runs takes them
  std::vector<std::string> command;  // what a part runs; behind it come --runs and --out
  std::string store;                 // path of a part's, with {} for its number
};

// A job that has not ended.
struct QueuedJob {
  std::string array;  // the engine's number of the array
  int part = 0;
  bool is_running = false;
  std::string reason;  // why it does not run, in the engine's word; "": it runs, or none is given
};

class JobQueue {
 public:
  virtual ~JobQueue() = default;

  // Its name to people: "Slurm".
  virtual const char* title() const = 0;
  // Whether there is one here that answers: kNotFound, kIo.
  virtual Status check() const = 0;
  // Where jobs with such limits may run: the limits with a partition. partition: the one asked for;
  // "": the default one if it takes them, else the first that does. kInvalidConfig where none does:
  // what was asked for and what there is.
  virtual Result<JobLimits> place(const JobLimits& limits, const std::string& partition) const = 0;
  // The text of the script that submit() hands over. It runs part N by itself, too: `bash FILE N`.
  // kInvalidConfig where a name or path cannot stand in it.
  virtual Result<std::string> script(const JobArray& array) const = 0;
  // Puts the array into the queue; script: path of that text. The engine's number of it, ""
  // where its answer has none: then unfinished() tells. kIo with its own words where it refuses.
  virtual Result<std::string> submit(const JobArray& array, const std::string& script) const = 0;
  // The jobs of the array of that name that have not ended: they wait, run, or were put back.
  virtual Result<std::vector<QueuedJob>> unfinished(const std::string& name) const = 0;
  // What a person types to end the array.
  virtual std::string cancel_words(const std::string& array) const = 0;
  // What one job of it is called.
  virtual std::string job_name(const std::string& array, int part) const = 0;
};

// `text` with the number in place of {}.
std::string with_number(const std::string& text, int number);

}  // namespace broadloom
