// The interface between a study and a cluster's queue: it submits an array of jobs, one a part, and
// lists the jobs that have not ended. To support another queue, implement JobQueue and add a line
// to launcher.cc.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

// Limits of one job of an array.
struct JobLimits {
  int threads = 1;
  std::int64_t memory_bytes = 0;
  int minutes = 0;
  std::string partition;  // "": the queue chooses
};

// Jobs 1 to `parts`; they differ only in the number of their part.
struct JobArray {
  std::string name;  // unique; unfinished() finds the array by it
  int parts = 0;
  int at_once = 0;  // most jobs that run at the same time; 0: no limit
  JobLimits limits;
  std::string folder;                // working directory of each job
  std::string log;                   // path of a part's log, with {} for its number
  std::vector<std::string> runs;     // of each part, in the syntax of --runs
  std::vector<std::string> command;  // command of a part, before --runs and --out
  std::string store;                 // path of a part's store, with {} for its number
};

// A job that has not ended.
struct QueuedJob {
  std::string array;  // the queue's number of the array
  int part = 0;
  bool is_running = false;
  std::string reason;  // the queue's word for why it waits; "": it runs, or no reason given
};

class JobQueue {
 public:
  virtual ~JobQueue() = default;

  // Name in messages: "Slurm".
  virtual const char* title() const = 0;
  // Fails with kNotFound or kIo if no such queue answers on this machine.
  virtual Status check() const = 0;
  // Chooses a partition for jobs with these limits and returns the limits with it. partition: the
  // one asked for, or "" for the default one, or the first that accepts them if the default does
  // not. kInvalidConfig if none does; the message names what was asked for and what exists.
  virtual Result<JobLimits> place(const JobLimits& limits, const std::string& partition) const = 0;
  // The text of the script for submit(). `bash FILE N` runs part N of it without a queue.
  // kInvalidConfig if the script cannot hold a name or path.
  virtual Result<std::string> script(const JobArray& array) const = 0;
  // Submits the array. script: path of a file with that text. Returns the queue's number of the
  // array, or "" if its answer has none: unfinished() then finds it. kIo, with the queue's message,
  // if it refuses.
  virtual Result<std::string> submit(const JobArray& array, const std::string& script) const = 0;
  // The jobs of the named array that have not ended: running, waiting or requeued.
  virtual Result<std::vector<QueuedJob>> unfinished(const std::string& name) const = 0;
  // The command by which a person cancels the array.
  virtual std::string cancel_words(const std::string& array) const = 0;
  // The queue's name of one job.
  virtual std::string job_name(const std::string& array, int part) const = 0;
};

// Replaces {} in `text` by the number.
std::string with_number(const std::string& text, int number);

}  // namespace broadloom
