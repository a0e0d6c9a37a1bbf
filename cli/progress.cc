#include "cli/progress.h"

#include <fmt/core.h>

#include <cmath>

#include "cli/console.h"

namespace broadloom::cli {
namespace {

std::string progress_text(const Progress& progress) {
  const std::string total = with_commas(progress.total_timesteps);
  const double share = progress.total_timesteps > 0
                           ? static_cast<double>(progress.global_step) /
                                 static_cast<double>(progress.total_timesteps)
                           : 0.0;
  // Only where the environment names one.
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

ProgressLine::ProgressLine(std::FILE* stream, bool quiet)
    : stream_(stream), quiet_(quiet), live_(is_terminal(stream)) {}

void ProgressLine::show(const Progress& progress) {
  if (quiet_) return;
  last_ = progress;
  pending_ = true;
  const auto interval = live_ ? std::chrono::milliseconds(100) : std::chrono::milliseconds(5000);
  const Clock::time_point now = Clock::now();
  if (shown_ && now - written_at_ < interval) return;
  written_at_ = now;
  write(progress);
}

void ProgressLine::finish() {
  if (quiet_) return;
  if (pending_) write(last_);
  if (live_ && shown_) fmt::print(stream_, "\n");
  std::fflush(stream_);
}

void ProgressLine::write(const Progress& progress) {
  shown_ = true;
  pending_ = false;
  // "\x1b[K" clears what a longer line left behind.
  const std::string text = progress_text(progress);
  fmt::print(stream_, "{}", live_ ? "\r" + text + "\x1b[K" : text + "\n");
  std::fflush(stream_);
}

}  // namespace broadloom::cli
