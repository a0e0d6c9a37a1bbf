#include "cli/study_lines.h"

#include <fmt/core.h>

#include <algorithm>

#include "cli/console.h"

namespace broadloom::cli {
namespace {

// A wrapped line would take two rows, and the next rewrite would move up too few.
std::string cut(const std::string& text, std::size_t columns) {
  return text.substr(0, columns - 1);
}

}  // namespace

StudyLines::StudyLines(std::FILE* stream, bool quiet, const StudyPlan& plan)
    : stream_(stream),
      quiet_(quiet),
      live_(is_terminal(stream)),
      plan_(plan),
      written_runs_(plan.cells.size(), 0) {
  for (const StudyCell& cell : plan.cells) width_ = std::max(width_, cell.name.size());
}

std::string StudyLines::cell_line(const StudyProgress& progress, std::size_t cell) const {
  const CellProgress& c = progress.cells[cell];
  const bool over = c.finished + c.failed == c.runs;
  return fmt::format("{}  {}/{} runs  IQM {}  {}{}",
                     padded(plan_.cells[cell].name, static_cast<int>(width_)),
                     padded(to_text(c.finished), -static_cast<int>(to_text(c.runs).size())), c.runs,
                     padded(fixed_text(c.training_iqm, 1), -8),
                     over ? "finished" : clock_text(c.seconds_left) + " left",
                     c.failed > 0 ? fmt::format("  {} failed", c.failed) : "");
}

std::string StudyLines::total_line(const StudyProgress& progress) {
  if (!progress.waiting.empty()) return "Waiting: " + progress.waiting;
  return fmt::format("{}/{} runs{} in {}, {} left{}", progress.finished, progress.runs,
                     progress.failed > 0 ? fmt::format(", {} failed,", progress.failed) : "",
                     clock_text(progress.seconds), clock_text(progress.seconds_left),
                     progress.jobs.empty() ? "" : "; " + progress.jobs);
}

void StudyLines::show(const StudyProgress& progress) {
  if (quiet_) return;
  if (!shown_ && !told_before_ && progress.before > 0) {
    tell(stream_, "{} of {} runs were done before\n", progress.before, progress.runs);
  }
  told_before_ = true;
  last_ = progress;
  pending_ = shown_ = true;
  const auto interval = live_ ? std::chrono::milliseconds(250) : std::chrono::milliseconds(10000);
  const Clock::time_point now = Clock::now();
  if (now - written_at_ < interval) return;
  written_at_ = now;
  live_ ? write_live(progress) : write_plain(progress);
}

void StudyLines::finish() {
  if (pending_) live_ ? write_live(last_) : write_plain(last_);
  if (!shown_) return;
  shown_ = false;
  lines_ = 0;
  tell(stream_, "\n");
  std::fflush(stream_);
}

void StudyLines::write_live(const StudyProgress& progress) {
  const ScreenSize size = screen_size(stream_);
  std::vector<std::size_t> order(progress.cells.size());
  for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
  const std::size_t room = size.rows > 4 ? size.rows - 3 : 1;
  if (order.size() > room) {
    std::stable_partition(order.begin(), order.end(), [&](std::size_t i) {
      const CellProgress& c = progress.cells[i];
      return c.finished + c.failed < c.runs;
    });
    order.resize(room);
    std::sort(order.begin(), order.end());
  }
  clear_lines(stream_, lines_);
  std::string text;
  for (const std::size_t cell : order) text += cut(cell_line(progress, cell), size.columns) + "\n";
  text += cut(total_line(progress), size.columns) + "\n";
  lines_ = order.size() + 1;
  pending_ = false;
  tell(stream_, "{}", text);
  std::fflush(stream_);
}

void StudyLines::write_plain(const StudyProgress& progress) {
  for (std::size_t i = 0; i < progress.cells.size(); ++i) {
    const int over = progress.cells[i].finished + progress.cells[i].failed;
    if (over == written_runs_[i]) continue;
    written_runs_[i] = over;
    tell(stream_, "{}\n", cell_line(progress, i));
  }
  tell(stream_, "{}\n", total_line(progress));
  pending_ = false;
  std::fflush(stream_);
}

}  // namespace broadloom::cli
