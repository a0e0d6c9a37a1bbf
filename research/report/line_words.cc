#include "research/report/line_words.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>

#include "broadloom/core/number_text.h"
#include "research/report/line_confounds.h"
#include "research/report/report_lines.h"
#include "research/report/report_ranking.h"
#include "research/report/report_scores.h"
#include "research/report/report_words.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostTasksInNumbers = 3;  // whose numbers a sentence gives

const ReportArm& line_arm(const StudyReport& report, int arm) {
  return report.arms[static_cast<std::size_t>(arm)];
}

// Whole numbers with commas, no text as "none".
std::string value_words(const std::string& value) {
  std::int64_t whole = 0;
  if (parse_text(value, whole).ok()) return with_commas(whole);
  return value.empty() ? "none" : value;
}

std::string name_words(const ReportLine& line) {
  if (line.kind == LineKind::kSettings) return "";
  if (line.key == "num_envs") return "N";
  return line.key == "num_steps" ? "T" : line.key;
}

// "N = 8", "learning_rate=0.001"; of settings that vary together those alone.
std::string place_words(const ReportLine& line, std::size_t place) {
  const std::string name = name_words(line);
  if (name.empty()) return value_words(line.values[place]);
  return name + (is_of_shape(line) ? " = " : "=") + value_words(line.values[place]);
}

// "at N = 8", "with learning_rate=0.001".
std::string at_words(const ReportLine& line, std::size_t place) {
  return (is_of_shape(line) ? "at " : "with ") + place_words(line, place);
}

bool is_told(const ReportLine& line, std::size_t place) {
  return line.standings[place] != Standing::kUnknown;
}

// Neighbours that stand alike, those of which nothing is told left out: [first, last].
struct LinePart {
  bool lower = false;
  std::size_t first = 0, last = 0;
};

std::vector<LinePart> stretches_of(const ReportLine& line) {
  std::vector<LinePart> all;
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    if (!is_told(line, i)) continue;
    const bool lower = line.standings[i] == Standing::kLower;
    if (!all.empty() && all.back().lower == lower) {
      all.back().last = i;
    } else {
      all.push_back({lower, i, i});
    }
  }
  return all;
}

// "level from N = 2 to 8", "highest at N = 2".
std::string upper_words(const ReportLine& line, const LinePart& part) {
  if (part.first == part.last) return "highest at " + place_words(line, part.first);
  return fmt::format("level from {} to {}", place_words(line, part.first),
                     value_words(line.values[part.last]));
}

// Numbers in a row that first are lower, then level, then lower; of these parts two at least.
std::string peak_words(const ReportLine& line, const std::vector<LinePart>& parts) {
  const auto value = [&](std::size_t place) { return value_words(line.values[place]); };
  if (!parts[0].lower) {
    return fmt::format("{} and lower from {} on", upper_words(line, parts[0]),
                       value(parts[1].first));
  }
  const std::string until = fmt::format("lower up to {}", place_words(line, parts[0].last));
  const LinePart& top = parts[1];
  if (parts.size() == 2) {
    return top.first == top.last ? fmt::format("{} and highest at {}", until, value(top.first))
                                 : fmt::format("{} and level from {} on", until, value(top.first));
  }
  return fmt::format("highest in the middle, at {}{}, and lower up to {} and from {} on",
                     place_words(line, top.first),
                     top.first == top.last ? "" : " to " + value(top.last), value(parts[0].last),
                     value(parts[2].first));
}

template <class Predicate>
std::vector<std::string> values_that(const ReportLine& line, const Predicate& are) {
  std::vector<std::string> values;
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    if (!are(line.standings[i])) continue;
    values.push_back(values.empty() ? place_words(line, i) : value_words(line.values[i]));
  }
  return values;
}

std::string scattered_words(const ReportLine& line) {
  const std::vector<std::string> lower =
      values_that(line, [](Standing standing) { return standing == Standing::kLower; });
  const std::vector<std::string> upper = values_that(line, [](Standing standing) {
    return standing == Standing::kLeads || standing == Standing::kAlike;
  });
  const std::size_t all = line.arms.size();
  const char* at = is_of_shape(line) ? "at" : "with";
  return fmt::format("highest {} {}{} and lower {} {}", at, list_words(upper, all),
                     upper.size() > 1 ? ", which cannot be told apart," : "", at,
                     list_words(lower, all));
}

// " (too few runs, or not compared, at N = 8)", where others could be told.
std::string untold_words(const ReportLine& line) {
  const std::vector<std::string> untold =
      values_that(line, [](Standing standing) { return standing == Standing::kUnknown; });
  if (untold.empty()) return "";
  return fmt::format(" (too few runs, or not compared, {} {})", is_of_shape(line) ? "at" : "with",
                     list_words(untold, untold.size()));
}

// "between a and b", "from N = 2 to 512", "between a, b and c".
std::string span_words(const ReportLine& line) {
  if (line.ordered && line.arms.size() > 2) {
    return fmt::format("from {} to {}", place_words(line, 0), value_words(line.values.back()));
  }
  std::vector<std::string> values;
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    values.push_back(i == 0 ? place_words(line, i) : value_words(line.values[i]));
  }
  return "between " + list_words(values, values.size());
}

// The main clause: "the evaluation return is level from N = 2 to 8 and lower from 32 on".
std::string clause(const ReportLine& line) {
  const char* score = score_words(line.score);
  if (line.differ) return fmt::format("the {} is {}", score, reading_words(line));
  if (!enough_runs(line)) {
    return fmt::format("the runs are too few to call a difference of the {} {}", score,
                       span_words(line));
  }
  return fmt::format("no difference of the {} was found {}{}", score, span_words(line),
                     untold_words(line));
}

std::size_t place_of(const ReportLine& line, int arm) {
  return static_cast<std::size_t>(std::find(line.arms.begin(), line.arms.end(), arm) -
                                  line.arms.begin());
}

Estimate iqm_at(const StudyReport& report, const ReportLine& line, std::size_t place) {
  return cell_on(report, line_arm(report, line.arms[place]), line.task)->summary(line.score)->iqm;
}

// The one told to be lower that has the lowest IQM.
std::size_t lowest(const StudyReport& report, const ReportLine& line) {
  std::size_t found = place_of(line, line.leader);
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    if (line.standings[i] != Standing::kLower) continue;
    if (iqm_at(report, line, i).value <= iqm_at(report, line, found).value ||
        line.standings[found] != Standing::kLower) {
      found = i;
    }
  }
  return found;
}

// "482 [465, 493] at N = 8 against 92 [80, 103] at N = 512"; of a line without a difference what
// its intervals leave room for.
std::string numbers(const StudyReport& report, const ReportLine& line) {
  if (!line.differ) return room_of(line) > 0.0 ? size_words(room_of(line)) : "";
  const std::size_t high = place_of(line, line.leader), low = lowest(report, line);
  const std::string most = estimate_words(iqm_at(report, line, high));
  const std::string least = estimate_words(iqm_at(report, line, low));
  if (line.arms.size() == 2) return fmt::format("{} against {}", most, least);  // named already
  return fmt::format("{} {} against {} {}", most, at_words(line, high), least, at_words(line, low));
}

// Of a line whose comparisons call what chance alone does often enough.
std::string chance_words(const ReportLine& line) {
  const bool called =
      std::count(line.standings.begin(), line.standings.end(), Standing::kLower) > 0;
  if (line.differ || !called) return "";
  return fmt::format(" (arms that are all alike differ as much with probability {:.2f})",
                     line.chance);
}

// What all arms of a line have, of what varies elsewhere: "clip_vloss=false".
std::vector<std::string> held_settings(const StudyReport& report, const ReportLine& line) {
  std::vector<std::string> held;
  for (const auto& setting : line_arm(report, line.arms.front()).settings) {
    const bool by_all = std::all_of(line.arms.begin(), line.arms.end(), [&](int arm) {
      const Overrides& settings = line_arm(report, arm).settings;
      return std::find(settings.begin(), settings.end(), setting) != settings.end();
    });
    if (by_all) held.push_back(setting.first + "=" + value_words(setting.second));
  }
  return held;
}

// "at a batch of 1,024", "at N = 8, T = 128 with clip_vloss = false"; "" where nothing else varies.
std::string held_words(const StudyReport& report, const ReportLine& line, bool with_shape) {
  const ReportArm& first = line_arm(report, line.arms.front());
  std::string text;
  const bool shapes =
      with_shape && std::any_of(report.arms.begin(), report.arms.end(), [&](const ReportArm& a) {
        return a.num_envs != first.num_envs || a.num_steps != first.num_steps;
      });
  switch (line.kind) {
    case LineKind::kWidthOfBatch:
      text = "at a batch of " + with_commas(line.fixed);
      break;
    case LineKind::kWidth:
      text = "at T = " + with_commas(line.fixed);
      break;
    case LineKind::kLength:
      text = "at N = " + with_commas(line.fixed);
      break;
    default:
      if (shapes) {
        text = fmt::format("at N = {}, T = {}", with_commas(first.num_envs),
                           with_commas(first.num_steps));
      }
  }
  const std::vector<std::string> rest = held_settings(report, line);
  if (rest.empty()) return text;
  return fmt::format("{}{}with {}", text, text.empty() ? "" : " ", list_words(rest, rest.size()));
}

// A clause and the tasks that it is true of, with their numbers.
struct Said {
  std::string clause;
  std::vector<const ReportLine*> lines;
};

std::string said_words(const StudyReport& report, const Said& said, const std::string& held,
                       bool with_numbers, bool brief) {
  std::vector<std::string> tasks, all;
  for (const ReportLine* line : said.lines) {
    tasks.push_back(task_words(report, {line->task}));
    const std::string one = with_numbers ? numbers(report, *line) : "";
    if (!one.empty()) all.push_back(one);
    if (!one.empty() && said.lines.size() > 1) all.back() += fmt::format(" ({})", tasks.back());
  }
  const ReportLine& first = *said.lines.front();
  std::string text =
      fmt::format("on {}{} {}{}", list_words(tasks, tasks.size()),
                  held.empty() ? "" : " " + held + ",", said.clause, chance_words(first));
  if (!all.empty()) {
    text += fmt::format("{} {}",
                        first.differ ? ":" : "; the intervals leave room for differences of up to",
                        fmt::join(all, first.differ ? ", " : " and "));
  }
  if (!brief && with_numbers && first.differ && all.size() == 1 && room_of(first) > 0.0) {
    text += fmt::format(
        "; between those that cannot be told apart the intervals leave room for up to {}",
        size_words(room_of(first)));
  }
  return text;
}

}  // namespace

std::vector<LineOnTasks> lines_on_tasks(const StudyReport& report) {
  std::vector<LineOnTasks> all;
  const bool common = std::any_of(report.arms.begin(), report.arms.end(),
                                  [](const ReportArm& arm) { return arm.cells.size() > 1; });
  const auto same = [&](const ReportLine& a, const ReportLine& b) {
    if (a.kind != b.kind || a.key != b.key || a.fixed != b.fixed || a.task == b.task) return false;
    return common ? a.arms == b.arms
                  : a.values == b.values && held_settings(report, a) == held_settings(report, b);
  };
  for (const ReportLine& line : report.lines) {
    const auto found = std::find_if(all.begin(), all.end(), [&](const LineOnTasks& lines) {
      return same(*lines.front(), line) &&
             std::none_of(lines.begin(), lines.end(),
                          [&](const ReportLine* other) { return other->task == line.task; });
    });
    if (found == all.end()) {
      all.push_back({&line});
    } else {
      found->push_back(&line);
    }
  }
  return all;
}

bool is_of_shape(const ReportLine& line) {
  return line.key == "num_envs" || line.key == "num_steps";
}

std::string varied_words(const ReportLine& line) {
  if (line.kind == LineKind::kSettings) return "settings";
  return name_words(line);
}

std::string reading_words(const ReportLine& line) {
  if (!line.differ) return "";
  if (line.arms.size() == 2) {
    const std::size_t high = place_of(line, line.leader), low = 1 - high;
    return fmt::format("higher {} than {}", at_words(line, high), at_words(line, low));
  }
  const std::vector<LinePart> parts = stretches_of(line);
  const bool one_top = std::count_if(parts.begin(), parts.end(),
                                     [](const LinePart& part) { return !part.lower; }) == 1;
  const std::string words =
      line.ordered && one_top ? peak_words(line, parts) : scattered_words(line);
  return words + untold_words(line);
}

double room_of(const ReportLine& line) {
  double most = 0.0;
  for (std::size_t i = 0; i < line.arms.size(); ++i) {
    const bool open = line.standings[i] == Standing::kAlike ||
                      (!line.differ && line.standings[i] == Standing::kLower);
    if (!open || !line.ahead[i] || !std::isfinite(line.ahead[i]->low)) continue;
    most = std::max({most, std::abs(line.ahead[i]->low), std::abs(line.ahead[i]->high)});
  }
  return most;
}

bool opposite(const StudyReport& report, const LineOnTasks& line) {
  for (std::size_t i = 0; i < line.front()->arms.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      int least = 0, most = 0;
      for (const ReportLine* one : line) {
        const std::optional<Outcome> found =
            outcome(report, one->arms[i], one->arms[j], one->task, one->score);
        least = std::min(least, found ? found->result : 0);
        most = std::max(most, found ? found->result : 0);
      }
      if (least < 0 && most > 0) return true;
    }
  }
  return false;
}

std::string line_sentence(const StudyReport& report, const LineOnTasks& line, bool brief) {
  std::vector<Said> all;
  LineOnTasks in_order = line;
  std::sort(in_order.begin(), in_order.end(),
            [](const ReportLine* a, const ReportLine* b) { return a->task < b->task; });
  for (const ReportLine* one : in_order) {
    const std::string words = clause(*one);
    const auto found = std::find_if(all.begin(), all.end(),
                                    [&](const Said& said) { return said.clause == words; });
    if (found == all.end()) {
      all.push_back({words, {one}});
    } else {
      found->lines.push_back(one);
    }
  }
  std::vector<std::string> words;
  // Tasks whose arms are of other shapes each have their own.
  const bool one_shape = std::all_of(line.begin(), line.end(), [&](const ReportLine* one) {
    return one->arms == line.front()->arms;
  });
  const std::string held = held_words(report, *line.front(), one_shape);
  for (const Said& said : all) {
    const bool first = words.empty() && all.size() == 1;
    words.push_back(
        said_words(report, said, first ? held : "", line.size() <= kMostTasksInNumbers, brief));
  }
  std::string text = fmt::format("{}", fmt::join(words, "; "));
  if (opposite(report, line)) text = "it depends on the task: " + text;
  if (!held.empty() && all.size() > 1) text = held + ", " + text;
  if (text[0] >= 'a' && text[0] <= 'z') text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text + line_confounds(report, in_order) + ".";
}

}  // namespace broadloom
