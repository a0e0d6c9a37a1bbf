// Slurm, by its own commands: sbatch, squeue and sinfo, which must be in PATH. Tried with 22.05.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "research/study/job_queue.h"

namespace broadloom {

std::unique_ptr<JobQueue> make_slurm_queue();

// One row of `sinfo`: nodes of one kind in a partition.
struct SlurmPartition {
  std::string name;
  bool is_default = false;
  bool is_up = false;
  int minutes = 0;  // that a job may take; -1: any number
  int cpus = 0;     // of a node
  std::int64_t memory_bytes = 0;
};

// Of `sinfo --exact --noheader --format=%P|%a|%l|%c|%m`; lines that are none are left out.
std::vector<SlurmPartition> parse_partitions(const std::string& text);
// "2-03:00:00", "10:00", "infinite": minutes, rounded down; -1 for any number, 0 where it is none.
int parse_slurm_minutes(const std::string& text);

// JobQueue::place() among these.
Result<JobLimits> place_among(const std::vector<SlurmPartition>& partitions,
                              const JobLimits& limits, const std::string& partition);

}  // namespace broadloom
