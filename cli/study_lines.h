// Progress of a study on a terminal or in a log.
#pragma once

#include <chrono>
#include <cstdio>
#include <string>
#include <vector>

#include "research/study/plan.h"
#include "research/study/study_progress.h"

namespace broadloom::cli {

// On a terminal: one line per cell and a total, rewritten in place; if they do not fit, unfinished
// cells come first. Elsewhere, every ten seconds: the lines of cells with new runs. Writes nothing
// if `quiet`.
class StudyLines {
 public:
  StudyLines(std::FILE* stream, bool quiet, const StudyPlan& plan);

  void show(const StudyProgress& progress);
  // Writes the last state and ends its lines. show() may continue below.
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
  std::size_t width_ = 0;          // of the longest cell name
  std::size_t lines_ = 0;          // on the screen
  std::vector<int> written_runs_;  // finished and failed runs in each cell's last written line
  bool pending_ = false;           // last_ has not been written
  bool shown_ = false;
  bool told_before_ = false;  // how many runs were done before
  Clock::time_point written_at_ = Clock::now();
  StudyProgress last_;
};

}  // namespace broadloom::cli
