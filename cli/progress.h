// Progress for whoever watches.
#pragma once

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

#include "broadloom/train/run.h"

namespace broadloom::cli {

// On a terminal one line, rewritten at most ten times a second; elsewhere plain lines, so far
// apart. Writes nothing when `quiet`.
class StatusLine {
 public:
  StatusLine(std::FILE* stream, bool quiet, std::chrono::milliseconds apart);

  // Whether a line may be written: not yet where one was a moment ago, or the work has just begun.
  bool is_due() const;
  void write(const std::string& text);
  void end();    // what follows starts on a line of its own
  void clear();  // takes the live line away

 private:
  using Clock = std::chrono::steady_clock;

  void put(const std::string& text);

  std::FILE* stream_;
  bool quiet_;
  bool live_;
  bool shown_ = false;
  std::chrono::milliseconds apart_;
  Clock::time_point written_at_ = Clock::now();
};

// Of a training run.
class ProgressLine {
 public:
  ProgressLine(std::FILE* stream, bool quiet);

  void show(const Progress& progress);
  // Ends the live line, showing where it stopped, so that what follows starts on a line of its own.
  void finish();

 private:
  StatusLine line_;
  bool shown_ = false;
  bool pending_ = false;  // last_ has not been written
  Progress last_{};
};

// Of work that knows how much of it is done, on standard error; takes its line away at the end.
class ShareLine {
 public:
  explicit ShareLine(bool quiet);
  ~ShareLine() { clear(); }
  ShareLine(const ShareLine&) = delete;
  ShareLine& operator=(const ShareLine&) = delete;

  void show(const std::string& what, double share);
  void clear() { line_.clear(); }
  void show_episodes(std::int64_t played, std::int64_t episodes);

 private:
  StatusLine line_;
};

// For RunHooks::on_panel: shows the panel after the training. The run is saved by then, so from
// here on Ctrl-C ends the process. Both lines must outlive it.
PlayProgress panel_progress(ProgressLine& training, ShareLine& panel);

}  // namespace broadloom::cli
