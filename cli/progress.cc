#include "cli/progress.h"

#include <fmt/core.h>

#include <cmath>
#include <utility>

#include "broadloom/core/escape.h"
#include "cli/console.h"

namespace broadloom::cli {
namespace {

std::string progress_text(const Progress& progress) {
  const std::string total = with_commas(progress.total_timesteps);
  const double share = progress.total_timesteps > 0
                           ? static_cast<double>(progress.global_step) /
                                 static_cast<double>(progress.total_timesteps)
                           : 0.0;
  // Not a number if the environment defines no success.
  const bool knows_success = !std::isnan(progress.success_rate);
  const std::string success =
      knows_success ? fmt::format("  success {:3.0f} %", 100.0 * progress.success_rate) : "";
  return fmt::format(
      "{} / {} steps  {:3.0f} %  {} steps/s  return {}{}  {} left",
      padded(with_commas(progress.global_step), -static_cast<int>(total.size())), total,
      100.0 * share, padded(with_commas(static_cast<std::int64_t>(progress.steps_per_second)), -9),
      padded(fixed_text(progress.mean_return, 2), -9), success, clock_text(progress.seconds_left));
}

}  // namespace

StatusLine::StatusLine(std::FILE* stream, bool quiet, std::chrono::milliseconds apart, Now now)
    : stream_(stream),
      quiet_(quiet),
      live_(is_terminal(stream)),
      apart_(live_ ? std::chrono::milliseconds(100) : apart),
      now_(std::move(now)),
      written_at_(now_()) {}

bool StatusLine::is_due() const { return !quiet_ && now_() - written_at_ >= apart_; }

void StatusLine::write(const std::string& text) {
  if (quiet_) return;
  shown_ = true;
  written_at_ = now_();
  // "\x1b[K" clears what a longer line left behind.
  const std::string plain = terminal_text(text);
  put(live_ ? "\r" + plain + "\x1b[K" : plain + "\n");
}

// fmt::print() would throw if the terminal is gone, and end the run before it is saved.
void StatusLine::put(const std::string& text) {
  std::fputs(text.c_str(), stream_);
  std::fflush(stream_);
}

void StatusLine::end() { put(live_ && shown_ ? "\n" : ""); }

void StatusLine::clear() {
  put(live_ && shown_ ? "\r\x1b[K" : "");
  shown_ = false;
}

ProgressLine::ProgressLine(std::FILE* stream, bool quiet)
    : line_(stream, quiet, std::chrono::seconds(5)) {}

void ProgressLine::show(const Progress& progress) {
  last_ = progress;
  pending_ = true;
  if (shown_ && !line_.is_due()) return;
  shown_ = true;
  pending_ = false;
  line_.write(progress_text(progress));
}

void ProgressLine::finish() {
  if (pending_) line_.write(progress_text(last_));
  pending_ = false;
  line_.end();
}

ShareLine::ShareLine(bool quiet, std::FILE* stream, Now now)
    : line_(stream, quiet, std::chrono::seconds(10), now), now_(std::move(now)), start_(now_()) {}

void ShareLine::show(const std::string& what, double share) {
  if (line_.is_due()) line_.write(fmt::format("{:3.0f} %  {}", 100.0 * share, what));
}

void ShareLine::show_first(const std::string& what, double seconds) {
  constexpr double kLongSeconds = 2.0;
  if (seconds < kLongSeconds) return;
  line_.write(fmt::format("{:3.0f} %  {}, about {}", 0.0, what, clock_text(seconds)));
}

void ShareLine::show_rest(const std::string& what, double share) {
  const double made = share - phase_share_;
  if (!line_.is_due() || !(made > 0.0)) return;
  const double seconds = std::chrono::duration<double>(now_() - start_).count();
  line_.write(fmt::format("{:3.0f} %  {}, {} left", 100.0 * share, what,
                          clock_text(seconds * (1.0 - share) / made)));
}

void ShareLine::show_phase(const std::string& what, double share) {
  if (what != phase_) {
    phase_ = what;
    phase_share_ = share;
    start_ = now_();
  }
  if (share > phase_share_) {
    show_rest(what, share);
  } else {
    show(what, share);
  }
}

void ShareLine::show_episodes(std::int64_t played, std::int64_t episodes) {
  const std::string what =
      fmt::format("{} of {} episodes played", with_commas(played), with_commas(episodes));
  if (played == 0) {
    start_ = now_();  // training may have gone before
    show(what, 0.0);
  } else {
    show_rest(what, static_cast<double>(played) / static_cast<double>(episodes));
  }
}

PlayProgress panel_progress(ProgressLine& training, ShareLine& panel) {
  return [&](std::int64_t played, std::int64_t episodes) {
    if (played == 0) {
      training.finish();
      release_interrupts();
    }
    panel.show_episodes(played, episodes);
  };
}

}  // namespace broadloom::cli
