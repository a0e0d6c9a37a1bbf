// Progress of a training run for whoever watches.
#pragma once

#include <chrono>
#include <cstdio>

#include "broadloom/train/run.h"

namespace broadloom::cli {

// On a terminal one line, rewritten at most ten times a second; elsewhere plain lines, seconds
// apart. Writes nothing when `quiet`.
class ProgressLine {
 public:
  ProgressLine(std::FILE* stream, bool quiet);

  void show(const Progress& progress);
  // Ends the live line, showing where it stopped, so that what follows starts on a line of its own.
  void finish();

 private:
  using Clock = std::chrono::steady_clock;

  void write(const Progress& progress);

  std::FILE* stream_;
  bool quiet_;
  bool live_;
  bool shown_ = false;
  bool pending_ = false;  // last_ has not been written
  Clock::time_point written_at_{};
  Progress last_{};
};

}  // namespace broadloom::cli
