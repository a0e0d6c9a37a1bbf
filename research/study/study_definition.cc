#include "research/study/study_definition.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <sstream>
#include <vector>

#include "broadloom/core/config_table.h"
#include "broadloom/env/strata.h"

namespace broadloom {
namespace {

constexpr std::size_t kMostDifferences = 6;
constexpr std::size_t kMostShown = 3;

using Lines = std::map<std::string, std::string>;  // key, value

struct Definition {
  std::string name;
  Lines study;                         // lines above the first cell
  std::map<std::string, Lines> cells;  // by name
};

Definition lines_of(const NamedDefinition& definition) {
  std::istringstream lines(definition.text);
  Definition out{definition.name, {}, {}};
  Lines* section = &out.study;
  for (std::string line; std::getline(lines, line);) {
    const std::size_t blank = std::min(line.find(' '), line.size());
    const std::string key = line.substr(0, blank);
    const std::string value = line.substr(std::min(blank + 1, line.size()));
    if (key == "cell") {
      section = &out.cells[value];
    } else {
      (*section)[key] = value;
    }
  }
  return out;
}

std::string value_at(const Lines& lines, const std::string& key) {
  const auto found = lines.find(key);
  return found == lines.end() ? "" : found->second;
}

// Settings that all cells share.
Lines common_lines(const Definition& definition) {
  if (definition.cells.empty()) return {};
  Lines common = definition.cells.begin()->second;
  for (const auto& [name, cell] : definition.cells) {
    std::erase_if(common, [&cell = cell](const auto& line) {
      return value_at(cell, line.first) != line.second;
    });
  }
  return common;
}

struct Difference {
  std::string key, theirs, ours;  // "": absent
  std::vector<std::string> cells;
};

// Differences of two lists of lines, for the keys that `wanted` accepts.
template <class Wanted>
std::vector<Difference> differences_of(const Lines& theirs, const Lines& ours,
                                       const Wanted& wanted) {
  std::vector<Difference> all;
  for (const auto& [key, text] : theirs) {
    if (wanted(key) && value_at(ours, key) != text)
      all.push_back({key, text, value_at(ours, key), {}});
  }
  for (const auto& [key, text] : ours) {
    if (wanted(key) && !theirs.contains(key)) all.push_back({key, "", text, {}});
  }
  return all;
}

std::string line_text(const std::string& key, const std::string& value) {
  constexpr std::size_t kLongest = 60;
  if (value.empty()) return "nothing";
  const std::string line = key + " " + value;
  return "'" + (line.size() <= kLongest ? line : line.substr(0, kLongest) + "...") + "'";
}

std::string few_names(const std::vector<std::string>& names) {
  const std::size_t shown = std::min(names.size(), kMostShown);
  const auto end = names.begin() + static_cast<std::ptrdiff_t>(shown);
  return fmt::format("{}{}", fmt::join(names.begin(), end, ", "),
                     shown < names.size() ? fmt::format(" and {} more", names.size() - shown) : "");
}

// Gathers the differences of two studies in the order of the message.
class DifferenceWords {
 public:
  DifferenceWords(const NamedDefinition& theirs, const NamedDefinition& ours)
      : their_(lines_of(theirs)), our_(lines_of(ours)) {}

  std::string text() {
    const Lines their_common = common_lines(their_), our_common = common_lines(our_);
    const auto is_common = [&](const std::string& key) {
      return their_common.contains(key) && our_common.contains(key);
    };
    const auto all_cells = differences_of(their_common, our_common, is_common);
    add(all_cells, [](const std::string& key) { return key == "env_id"; });
    add(differences_of(their_.study, our_.study, not_seeds), not_seeds);
    add(all_cells, [](const std::string& key) { return key != "env_id"; });
    add_lone_cells(their_, our_);
    add_lone_cells(our_, their_);
    add_cells([&](const std::string& key) { return !is_common(key); });
    add(differences_of(their_.study, our_.study, is_seeds), is_seeds);
    return joined();
  }

 private:
  static bool is_seeds(const std::string& key) { return key == "seeds"; }
  static bool not_seeds(const std::string& key) { return key != "seeds"; }

  template <class Wanted>
  void add(const std::vector<Difference>& all, const Wanted& wanted) {
    for (const Difference& d : all) {
      if (!wanted(d.key)) continue;
      std::string where;
      if (d.cells.size() > 1) where = fmt::format("in {} cells ", d.cells.size());
      if (d.cells.size() == 1) where = "in cell " + d.cells.front() + " ";
      words_.push_back(fmt::format("{}{} has {}, {} {}", where, their_.name,
                                   line_text(d.key, d.theirs), our_.name,
                                   line_text(d.key, d.ours)));
    }
  }

  void add_lone_cells(const Definition& one, const Definition& other) {
    std::vector<std::string> lone;
    for (const auto& [name, lines] : one.cells) {
      if (!other.cells.contains(name)) lone.push_back(name);
    }
    if (lone.empty()) return;
    words_.push_back(fmt::format("only {} has the cell{} {}", one.name, lone.size() == 1 ? "" : "s",
                                 few_names(lone)));
  }

  // Differences in cells that both have; equal ones of several cells become one.
  template <class Wanted>
  void add_cells(const Wanted& wanted) {
    std::vector<Difference> all;
    for (const auto& [name, lines] : their_.cells) {
      const auto same = our_.cells.find(name);
      if (same == our_.cells.end()) continue;
      for (const Difference& d : differences_of(lines, same->second, wanted)) {
        const auto known = std::find_if(all.begin(), all.end(), [&](const Difference& other) {
          return other.key == d.key && other.theirs == d.theirs && other.ours == d.ours;
        });
        (known == all.end() ? all.emplace_back(d) : *known).cells.push_back(name);
      }
    }
    add(all, [](const std::string&) { return true; });
  }

  std::string joined() const {
    std::string out;
    for (std::size_t i = 0; i < std::min(words_.size(), kMostDifferences); ++i) {
      out += (i > 0 ? "; " : "") + words_[i];
    }
    const std::size_t rest = words_.size() - std::min(words_.size(), kMostDifferences);
    return rest > 0 ? out + fmt::format("; and {} more", rest) : out;
  }

  Definition their_, our_;
  std::vector<std::string> words_;
};

}  // namespace

std::string sampler_of(std::string_view definition) {
  constexpr std::string_view kLine = "\nsampler ";
  const std::size_t line = definition.find(kLine);
  if (line == std::string_view::npos || line > definition.find("\ncell ")) return "";
  const std::size_t begin = line + kLine.size();
  return std::string(definition.substr(begin, definition.find('\n', begin) - begin));
}

bool only_adds_seeds(std::string_view theirs, std::string_view ours) {
  constexpr std::string_view kLine = "\nseeds ";
  const std::size_t line = theirs.find(kLine);
  if (line == std::string_view::npos || !sampler_of(theirs).empty()) return false;
  const std::size_t end = std::min(theirs.find('\n', line + 1), theirs.size());
  if (!ours.starts_with(theirs.substr(0, end)) || ours.substr(end, 1) != ",") return false;
  const std::size_t rest = ours.find('\n', end);
  return rest != std::string_view::npos && ours.substr(rest) == theirs.substr(end);
}

bool only_adds_cells(std::string_view theirs, std::string_view ours) {
  return !sampler_of(theirs).empty() && ours.starts_with(theirs) && theirs.ends_with('\n') &&
         ours.substr(theirs.size()).starts_with("cell ");
}

bool DefinedRuns::has(std::int64_t id, std::int64_t cell, std::int64_t seed) const {
  const auto cell_count = static_cast<std::int64_t>(cells.size());
  const auto seed_count = static_cast<std::int64_t>(seeds.size());
  if (id < 1 || cell_count == 0 || seed_count == 0 || id - 1 >= cell_count * seed_count)
    return false;
  const std::int64_t place = id - 1;
  const std::int64_t c = by_cell ? place / seed_count : place % cell_count;
  const std::int64_t s = by_cell ? place % seed_count : place / cell_count;
  return cell == c + 1 && seed == seeds[static_cast<std::size_t>(s)];
}

void drop_lone_sources(std::string& theirs, std::string& ours) {
  const auto kept = [](const std::string& text, const std::string& other) {
    const std::map<std::string, Lines> cells = lines_of({"", other}).cells;
    std::istringstream lines(text);
    std::string out, cell;
    for (std::string line; std::getline(lines, line);) {
      if (line.starts_with("cell ")) cell = line.substr(5);
      const auto known = cells.find(cell);
      const bool is_lone = line.starts_with(std::string(kSourceKey) + " ") &&
                           known != cells.end() && !known->second.contains(kSourceKey);
      if (!is_lone) out += line + "\n";
    }
    return out;
  };
  const std::string their_text = kept(theirs, ours);
  ours = kept(ours, theirs);
  theirs = their_text;
}

bool same_sources(const std::string& theirs, const std::string& ours) {
  const auto known = defined_values(ours, kSourceKey);
  const auto all = defined_values(theirs, kSourceKey);
  return std::all_of(all.begin(), all.end(), [&](const auto& cell) {
    const auto same = known.find(cell.first);
    return same == known.end() || same->second == cell.second;
  });
}

std::string with_sources(const std::string& definition, const std::string& other) {
  const auto known = defined_values(definition, kSourceKey);
  const auto sources = defined_values(other, kSourceKey);
  std::istringstream lines(definition);
  std::string out, source;  // of the cell whose lines are read
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("cell ")) {
      out += source;
      const std::string cell = line.substr(5);
      const auto found = sources.find(cell);
      const bool is_new = found != sources.end() && !known.contains(cell);
      source = is_new ? fmt::format("{} {}\n", kSourceKey, found->second) : "";
    }
    out += line + "\n";
  }
  return out + source;
}

std::string plain_definition(const std::string& definition) {
  std::istringstream lines(definition);
  std::string out, line;
  while (std::getline(lines, line)) {
    const std::size_t value = line.find(' ') + 1;
    if (is_strata_key(line) && value > 0) {
      line = line.substr(0, value) + plain_strata_text(line.substr(value));
    }
    out += line + "\n";
  }
  return out;
}

DefinedRuns defined_runs(const std::string& definition) {
  DefinedRuns out;
  out.by_cell = !sampler_of(definition).empty();
  std::istringstream lines(definition);
  for (std::string line; std::getline(lines, line);) {
    if (line.starts_with("cell ")) out.cells.push_back(line.substr(5));
    if (!out.cells.empty() || !line.starts_with("seeds ")) continue;
    std::istringstream seeds(line.substr(6));
    for (std::string seed; std::getline(seeds, seed, ',');) {
      std::uint64_t number = 0;
      if (parse_text(std::string_view(seed), number).ok())
        out.seeds.push_back(static_cast<std::int64_t>(number));
    }
  }
  return out;
}

std::map<std::string, std::string> defined_values(const std::string& definition,
                                                  const std::string& key) {
  std::map<std::string, std::string> values;
  for (const auto& [name, lines] : lines_of({"", definition}).cells) {
    if (lines.contains(key)) values[name] = value_at(lines, key);
  }
  return values;
}

std::string definition_differences(const NamedDefinition& theirs, const NamedDefinition& ours) {
  return DifferenceWords(theirs, ours).text();
}

}  // namespace broadloom
