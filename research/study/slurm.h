// The queue of Slurm, by its commands sbatch, squeue and sinfo in PATH. Tested with 22.05.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "research/study/job_queue.h"

namespace broadloom {

std::unique_ptr<JobQueue> make_slurm_queue();

// One row of `sinfo`: the nodes of one kind in a partition.
struct SlurmPartition {
  std::string name;
  bool is_default = false;
  bool is_up = false;
  int minutes = 0;  // time limit of a job; -1: none
  int cpus = 0;     // of one node
  std::int64_t memory_bytes = 0;
};

// Reads `sinfo --exact --noheader --format=%P|%a|%l|%c|%m`; skips lines that do not match.
std::vector<SlurmPartition> parse_partitions(const std::string& text);
// Minutes, rounded down, of "2-03:00:00", "10:00" or "infinite" (-1); 0 if the text is none of
// them.
int parse_slurm_minutes(const std::string& text);

// JobQueue::place() for these partitions.
Result<JobLimits> place_among(const std::vector<SlurmPartition>& partitions,
                              const JobLimits& limits, const std::string& partition);

}  // namespace broadloom
