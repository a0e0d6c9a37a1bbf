// Progress on a terminal or in a log.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <functional>
#include <string>

#include "broadloom/train/run.h"

namespace broadloom::cli {

// The present, which tests move.
using Now = std::function<std::chrono::steady_clock::time_point()>;

// A line of progress. On a terminal it is rewritten at most ten times a second; elsewhere plain
// lines are written, with the interval `apart`. Writes nothing if `quiet`.
class StatusLine {
 public:
  StatusLine(std::FILE* stream, bool quiet, std::chrono::milliseconds apart,
             Now now = std::chrono::steady_clock::now);

  // False shortly after a line, and shortly after the work began.
  bool is_due() const;
  void write(const std::string& text);
  void end();    // later output starts on a new line
  void clear();  // erases the live line

 private:
  void put(const std::string& text);

  std::FILE* stream_;
  bool quiet_;
  bool live_;
  bool shown_ = false;
  std::chrono::milliseconds apart_;
  Now now_;
  std::chrono::steady_clock::time_point written_at_;
};

// The progress of a training run.
class ProgressLine {
 public:
  ProgressLine(std::FILE* stream, bool quiet);

  void show(const Progress& progress);
  // Writes the last state and ends the live line.
  void finish();

 private:
  StatusLine line_;
  bool shown_ = false;
  bool pending_ = false;  // last_ has not been written
  Progress last_{};
};

// The share of work done, on standard error by default. Erases its line at the end.
class ShareLine {
 public:
  explicit ShareLine(bool quiet, std::FILE* stream = stderr,
                     Now now = std::chrono::steady_clock::now);
  ~ShareLine() { clear(); }
  ShareLine(const ShareLine&) = delete;
  ShareLine& operator=(const ShareLine&) = delete;

  void show(const std::string& what, double share);
  // The same at once, for work of 2 s or more whose length is known before it begins.
  void show_first(const std::string& what, double seconds);
  // The same with the time left at this speed.
  void show_rest(const std::string& what, double share);
  // The same for work in phases of different speeds, by the speed of the present one; without a
  // time until that is known. what: of the phase.
  void show_phase(const std::string& what, double share);
  void clear() { line_.clear(); }
  void show_episodes(std::int64_t played, std::int64_t episodes);

 private:
  StatusLine line_;
  Now now_;
  std::chrono::steady_clock::time_point start_;
  std::string phase_;
  double phase_share_ = 0.0;  // before the phase, which began at start_
};

// For RunHooks::on_panel: shows the panel after training. The run is saved by then, so Ctrl-C ends
// the process from here on. Both lines must outlive the returned function.
PlayProgress panel_progress(ProgressLine& training, ShareLine& panel);

}  // namespace broadloom::cli
