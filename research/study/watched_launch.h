// Follows one launch until none of its jobs is left.
#pragma once

#include <chrono>
#include <filesystem>
#include <string>
#include <vector>

#include "research/study/job_queue.h"
#include "research/study/launch_record.h"
#include "research/study/launcher.h"
#include "research/study/study_store.h"

namespace broadloom {

class WatchedLaunch {
 public:
  // All arguments must outlive it.
  WatchedLaunch(const StudyPlan& plan, Launch& launch, const JobQueue& queue, StudyStore& store,
                const LaunchHooks& hooks);

  // Returns true when no job is left, false if should_stop() says so. Takes in results of the
  // parts' stores as they come. kIo if the queue does not answer for a while; the jobs go on.
  Result<bool> watch();
  // Takes in the last results, notes in launch.json that the launch is over, and removes the parts'
  // stores. The store of a part with unfinished runs stays; a missing or damaged one makes that
  // part lost.
  Status finish();
  // Describes the parts that ended before their runs did; "" if none. runs: how many runs are left.
  Result<std::string> losses(int& runs);

 private:
  using Clock = std::chrono::steady_clock;

  Status poll();
  Status take(bool is_last);
  Status count_again(const std::vector<QueuedJob>& jobs);
  void tell();
  Result<std::vector<std::size_t>> left_of_parts() const;
  std::string loss_text(int part, std::size_t left) const;

  const StudyPlan& plan_;
  Launch& launch_;
  const JobQueue& queue_;
  StudyStore& store_;
  const LaunchHooks& hooks_;
  struct StoreState {
    std::filesystem::file_time_type time;
    std::uintmax_t bytes = 0;
  };
  std::vector<StoreState> taken_;              // of each part's store when last taken in
  bool changed_ = true;                        // whether the store changed since runs were counted
  bool is_left_ = true;                        // whether any job is left
  std::vector<std::string> damage_;            // of each part's store, in words; "": none
  Clock::time_point answered_ = Clock::now();  // when the queue last answered
  StudyProgress progress_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace broadloom
