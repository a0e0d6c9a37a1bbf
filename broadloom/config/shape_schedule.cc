#include "broadloom/config/shape_schedule.h"

#include <fmt/format.h>

#include <charconv>
#include <cmath>

#include "broadloom/core/config_table.h"

namespace broadloom {
namespace {

constexpr int kMaxExtent = 1 << 20;  // of environments and of steps, as in Config

std::string_view without_blanks(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

Status bad_entry(std::string_view entry, const std::string& fault) {
  constexpr std::size_t kLongest = 60;
  return invalid(
      fmt::format("got the entry '{}': {}; write num_envs x num_steps @ share of total_timesteps, "
                  "as in 8x128 @ "
                  "0, 64x16/256 @ 0.3 (256: minibatch_size)",
                  entry.substr(0, kLongest), fault));
}

// Reads an integer from 1 to most at the start of the text; false: there is none.
bool take_count(std::string_view& text, int most, int& out) {
  const auto [rest, error] = std::from_chars(text.data(), text.data() + text.size(), out);
  if (error != std::errc() || out < 1 || out > most) return false;
  text.remove_prefix(static_cast<std::size_t>(rest - text.data()));
  return true;
}

bool take_mark(std::string_view& text, char mark) {
  if (text.empty() || text.front() != mark) return false;
  text.remove_prefix(1);
  return true;
}

Status parse_block(std::string_view entry, std::string_view text, ShapePhase& out) {
  if (!take_count(text, kMaxExtent, out.shape.num_envs) || !take_mark(text, 'x') ||
      !take_count(text, kMaxExtent, out.shape.num_steps)) {
    return bad_entry(entry, fmt::format("its shape is not two numbers from 1 to {}", kMaxExtent));
  }
  if (text.empty()) return {};
  if (take_mark(text, '/') && take_count(text, 1 << 30, out.minibatch_size) && text.empty()) {
    return {};
  }
  return bad_entry(entry,
                   "after its shape comes something other than /minibatch_size of at least 1");
}

Status parse_entry(std::string_view entry, ShapePhase& out) {
  const std::size_t mark = entry.find('@');
  if (mark == std::string_view::npos) return bad_entry(entry, "it has no @");
  BROADLOOM_TRY(parse_block(entry, without_blanks(entry.substr(0, mark)), out));
  if (!parse_text(entry.substr(mark + 1), out.start).ok() || out.start < 0.0 || out.start >= 1.0) {
    return bad_entry(entry, "its start is not a number from 0 to below 1");
  }
  return {};
}

// The first phase starts at 0, and each other after the one before it.
Status check_order(std::string_view entry, const std::vector<ShapePhase>& before,
                   const ShapePhase& phase) {
  if (before.empty()) {
    return phase.start == 0.0 ? Status() : bad_entry(entry, "the first entry does not start at 0");
  }
  if (phase.start > before.back().start) return {};
  return bad_entry(entry,
                   fmt::format("it does not start after the one before it, which starts at {}",
                               before.back().start));
}

// The first step at or after the phase's start.
std::int64_t step_of_start(const ShapePhase& phase, std::int64_t total_timesteps) {
  return static_cast<std::int64_t>(std::ceil(phase.start * static_cast<double>(total_timesteps)));
}

}  // namespace

std::size_t ShapeSchedule::phase_at(std::int64_t step, std::int64_t total_timesteps) const {
  std::size_t phase = 0;
  while (phase + 1 < phases.size() && step >= step_of_start(phases[phase + 1], total_timesteps)) {
    ++phase;
  }
  return phase;
}

std::string to_text(const ShapePhase& phase) {
  const std::string size =
      phase.minibatch_size > 0 ? fmt::format("/{}", phase.minibatch_size) : std::string();
  return fmt::format("{}x{}{} @ {}", phase.shape.num_envs, phase.shape.num_steps, size,
                     to_text(phase.start));
}

std::string to_text(const ShapeSchedule& schedule) {
  std::string text;
  for (const ShapePhase& phase : schedule.phases) {
    text += (text.empty() ? "" : ", ") + to_text(phase);
  }
  return text;
}

Status parse_text(std::string_view text, ShapeSchedule& out) {
  ShapeSchedule schedule;
  if (without_blanks(text) == "none") text = {};
  for (std::string_view rest = without_blanks(text); !rest.empty();) {
    const std::size_t comma = rest.find(',');
    const std::string_view entry = without_blanks(rest.substr(0, comma));
    ShapePhase phase;
    BROADLOOM_TRY(parse_entry(entry, phase));
    BROADLOOM_TRY(check_order(entry, schedule.phases, phase));
    schedule.phases.push_back(phase);
    if (comma == std::string_view::npos) break;
    rest = without_blanks(rest.substr(comma + 1));
    if (rest.empty()) return bad_entry("", "nothing follows the last comma");
  }
  out = std::move(schedule);
  return {};
}

std::vector<Stretch> stretches(const ShapeSchedule& schedule, std::int64_t total_timesteps) {
  std::vector<Stretch> out;
  std::int64_t step = 0;
  while (true) {
    const std::size_t phase = schedule.phase_at(step, total_timesteps);
    const BlockShape& shape = schedule.phases[phase].shape;
    const std::int64_t batch = std::int64_t{shape.num_envs} * shape.num_steps;
    const bool last = phase + 1 == schedule.phases.size();
    const std::int64_t end =
        last ? total_timesteps : step_of_start(schedule.phases[phase + 1], total_timesteps);
    const std::int64_t wanted = (end - step + batch - 1) / batch;
    const std::int64_t fitting = (total_timesteps - step) / batch;
    const std::int64_t blocks = std::min(last ? fitting : wanted, fitting);
    if (blocks > 0) out.push_back({phase, step, blocks, batch});
    step += blocks * batch;
    if (last || blocks < wanted) return out;
  }
}

}  // namespace broadloom
