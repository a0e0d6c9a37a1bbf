// One launch, followed until none of its jobs is left.
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
  // All must outlive it.
  WatchedLaunch(const StudyPlan& plan, Launch& launch, const JobQueue& queue, StudyStore& store,
                const LaunchHooks& hooks);

  // Until no job is left, or should_stop says so: then false. Takes into the store what each part's
  // store has, as it comes. kIo where the queue cannot be asked for a while: the jobs go on.
  Result<bool> watch();
  // Takes in what is left, says in launch.json that it is over, and removes the parts' stores,
  // which hold nothing then that the study's does not. The store of a part that has runs left
  // stays; one that is gone or damaged is a loss of that part.
  Status finish();
  // Parts of it that ended before their runs did, in words; "": none. `runs`: how many are left.
  Result<std::string> losses(int& runs);

 private:
  using Clock = std::chrono::steady_clock;

  Status poll();
  Status take(bool must);
  Status count_again(const std::vector<QueuedJob>& jobs);
  void tell();
  Result<std::vector<std::size_t>> left_of_parts() const;
  std::string loss_text(int part, std::size_t left) const;

  const StudyPlan& plan_;
  Launch& launch_;
  const JobQueue& queue_;
  StudyStore& store_;
  const LaunchHooks& hooks_;
  struct Seen {
    std::filesystem::file_time_type time;
    std::uintmax_t bytes = 0;
  };
  std::vector<Seen> seen_;                     // of each part's store when it was taken last
  bool changed_ = true;                        // the store, since runs were counted
  bool is_left_ = true;                        // any job
  std::vector<std::string> damage_;            // of each part's store, in words; "": none was seen
  Clock::time_point answered_ = Clock::now();  // when the queue did so last
  StudyProgress progress_;
  Clock::time_point start_ = Clock::now();
};

}  // namespace broadloom
