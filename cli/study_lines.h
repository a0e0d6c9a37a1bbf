// Progress of a study for whoever watches.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "research/study/plan.h"
#include "research/study/study_progress.h"

namespace broadloom::cli {

// On a terminal a line a cell and one for all, rewritten in place; where they are more than it has
// lines, the cells that are not finished come first. Elsewhere, every ten seconds, the lines of
// those cells that got further. Writes nothing when `quiet`.
class StudyLines {
 public:
  StudyLines(std::FILE* stream, bool quiet, const StudyPlan& plan);

  void show(const StudyProgress& progress);
  // The last state, so that what follows starts on a line of its own; show() may go on below that.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  std::string cell_line(const StudyProgress& progress, std::size_t cell) const;
  static std::string total_line(const StudyProgress& progress);
  void write_live(const StudyProgress& progress);
  void write_plain(const StudyProgress& progress);

  std::FILE* stream_;
  bool quiet_;
  bool live_;
  const StudyPlan& plan_;
  std::size_t width_ = 0;          // of the cells' names
  std::size_t lines_ = 0;          // on the screen
  std::vector<int> written_runs_;  // over, by cell, when its line was last written
  bool pending_ = false;           // last_ has not been written
  bool shown_ = false;
  Clock::time_point written_at_ = Clock::now();
  StudyProgress last_;
};

}  // namespace broadloom::cli
