// Makes a panel from TOML or from keys, and writes it.
#include <fmt/core.h>

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "broadloom/core/hash.h"
#include "broadloom/core/toml_tree.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/record/json.h"

namespace broadloom {
namespace {

constexpr std::int64_t kMostEpisodes = 10000000;
constexpr std::string_view kEnv = "env.", kPerturbations = "perturbations.";

bool starts_with(std::string_view text, std::string_view beginning) {
  return text.substr(0, beginning.size()) == beginning;
}

struct PanelEntry {
  std::string key, text;
  unsigned line = 0;  // 0: not from a file
};

// Flattens tables into dotted keys.
Status flatten(const TomlNode& table, const std::string& prefix, const std::string& name,
               std::vector<PanelEntry>& out) {
  for (const TomlNode& node : table.all) {
    const std::string key = prefix + node.key;
    if (node.is(TomlNode::Kind::kTable)) {
      if (node.all.empty()) {
        return toml_error(name, node.line,
                          fmt::format("[{}] is empty; fill it or leave it out", key));
      }
      BROADLOOM_TRY(flatten(node, key + ".", name, out));
      continue;
    }
    const std::optional<std::string> text = value_text(node, name);
    if (!text) {
      return toml_error(name, node.line,
                        fmt::format("{}: got {}, expected a boolean, a number, a string or a flat "
                                    "array of them",
                                    key, kind_words(node)));
    }
    out.push_back({key, *text, node.line});
  }
  return {};
}

Status parse_seeds(const std::string& key, const std::string& text,
                   std::vector<std::uint64_t>& out) {
  std::vector<std::string> words;
  std::vector<std::uint64_t> seeds;
  if (parse_text(text, words).ok()) {
    for (const std::string& word : words) {
      std::int64_t seed = 0;  // the range of TOML
      if (!parse_text(word, seed).ok() || seed < 0) {
        return invalid(
            fmt::format("{}: got '{}', expected whole numbers of at least 0, such as "
                        "[1, 2]",
                        key, text));
      }
      if (std::find(seeds.begin(), seeds.end(), static_cast<std::uint64_t>(seed)) != seeds.end()) {
        return invalid(
            fmt::format("{}: {} is given twice, which would play the same episodes twice; "
                        "expected distinct seeds",
                        key, seed));
      }
      seeds.push_back(static_cast<std::uint64_t>(seed));
    }
  }
  if (seeds.empty()) return invalid(key + ": got none, expected at least one, such as [1, 2]");
  out = std::move(seeds);
  return {};
}

// Builds a panel from its keys, in any order, and checks it.
class PanelBuilder {
 public:
  explicit PanelBuilder(std::string name) : name_(std::move(name)) {}

  Result<Panel> build(const std::vector<PanelEntry>& entries) {
    const auto id = std::find_if(entries.begin(), entries.end(),
                                 [](const PanelEntry& entry) { return entry.key == "env_id"; });
    if (id == entries.end()) {
      return invalid(name_ +
                     ": env_id is missing; expected the environment that the panel is for, "
                     "such as env_id = \"CartPole-v1\"");
    }
    const Status known = list_env_options(id->text).status();
    if (!known.ok()) return error_at(*id, known);
    for (const PanelEntry& entry : entries) {
      const Status status = set(entry);
      if (!status.ok()) return error_at(entry, status);
    }
    BROADLOOM_TRY(check_parts());
    BROADLOOM_TRY(check_rows());
    return std::move(panel_);
  }

 private:
  struct Part {
    Panel::Part part;
    std::vector<PanelEntry> entries;  // one for each option
  };

  Status error_at(const PanelEntry& entry, const Status& status) const {
    const std::string place = entry.line > 0 ? fmt::format("{}:{}", name_, entry.line) : name_;
    return {status.kind(), place + ": " + status.message()};
  }

  Status set(const PanelEntry& entry) {
    const std::string& key = entry.key;
    if (starts_with(key, kEnv)) return add(env_, "", key.substr(kEnv.size()), entry);
    if (is_strata_key(key)) return set_stratum(entry);
    if (starts_with(key, kPerturbations)) return set_perturbation(entry);
    if (key == "seed" || key == "seeds") {
      if (std::exchange(has_seeds_, true)) return invalid("got seed and seeds; give only one");
      return parse_seeds(key, entry.text, panel_.seeds);
    }
    const std::string root = key.substr(0, key.find('.'));
    std::vector<std::string> known = field_names<Panel>();
    if (root == key && std::find(known.begin(), known.end(), key) != known.end()) {
      return set_field(panel_, key, entry.text);
    }
    known.insert(known.end(), {"seed", "seeds", "env", "strata", "perturbations"});
    if (std::find(known.begin(), known.end(), root) == known.end()) {
      return unknown_key_error("key of a panel", root, known);
    }
    return invalid(
        fmt::format("{}: expected {}", key,
                    root == "env" || root == "strata" || root == "perturbations"
                        ? fmt::format("a table, [{}{}]", root, root == "env" ? "" : ".<name>")
                        : "a value, not a table"));
  }

  static Status add(Part& part, const std::string& name, const std::string& option,
                    const PanelEntry& entry) {
    part.part.name = name;
    part.part.options.emplace_back(
        option, is_strata_key(option) ? plain_strata_text(entry.text) : entry.text);
    part.entries.push_back(entry);
    return {};
  }

  Status set_stratum(const PanelEntry& entry) {
    BROADLOOM_TRY(check_strata_key(entry.key));
    const StrataKey parts = split_strata_key(entry.key);
    if (parts.stratum == kAllRows) {
      return invalid("strata.all: 'all' means all strata together; choose another name");
    }
    if (parts.field == "weight") {
      return invalid(entry.key + ": a panel plays all strata equally often; leave it out");
    }
    return add(strata_[parts.stratum], parts.stratum, entry.key, entry);
  }

  Status set_perturbation(const PanelEntry& entry) {
    const std::string rest = entry.key.substr(kPerturbations.size());
    const std::size_t dot = rest.find('.');
    const std::string name = rest.substr(0, dot);
    // Names follow the rule of strata.
    if (dot == std::string::npos || !check_strata_key("strata." + name + ".x").ok()) {
      return invalid(
          fmt::format("{}: expected a table [perturbations.<name>] with a name of "
                      "letters, digits and _, and in it obs_noise, action_delay, "
                      "obs_delay, push_interval, push_steps or env.<option>",
                      entry.key));
    }
    if (name == kNominal || name == kAllRows) {
      return invalid(fmt::format(
          "perturbations.{0}: '{0}' is {1}; choose another name", name,
          name == kNominal ? "the row without any, which always exists" : "all of them together"));
    }
    const std::string option = rest.substr(dot + 1);
    const bool is_env_option = starts_with(option, kEnv);
    return add(perturbations_[name], name,
               is_env_option ? option.substr(kEnv.size()) : "disturb." + option, entry);
  }

  // Checks the options that the part adds to [env]; the error names the first line that causes it.
  Status check_part(const Part& part) const {
    Overrides options = &part == &env_ ? Overrides{} : env_.part.options;
    const std::size_t begin = options.size();
    options.insert(options.end(), part.part.options.begin(), part.part.options.end());
    const Status whole = env_spec(panel_.env_id, options).status();
    if (whole.ok()) return {};
    for (std::size_t i = 0; i + 1 < part.entries.size(); ++i) {
      const Overrides first_options(options.begin(), options.begin() + begin + i + 1);
      const Status cut = env_spec(panel_.env_id, first_options).status();
      if (cut.message() == whole.message()) return error_at(part.entries[i], whole);
    }
    return error_at(part.entries.back(), whole);
  }

  // The order of keys in the file does not matter.
  static Panel::Part sorted_by_key(const Part& part) {
    Panel::Part sorted = part.part;
    std::sort(sorted.options.begin(), sorted.options.end());
    return sorted;
  }

  Status check_parts() {
    if (!env_.entries.empty()) BROADLOOM_TRY(check_part(env_));
    panel_.env = sorted_by_key(env_).options;
    for (const auto& [name, part] : strata_) {
      BROADLOOM_TRY(check_part(part));
      panel_.strata.push_back(sorted_by_key(part));
    }
    for (const auto& [name, part] : perturbations_) {
      BROADLOOM_TRY(check_part(part));
      BROADLOOM_TRY(check_perturbation(part));
      panel_.perturbations.push_back(sorted_by_key(part));
    }
    return {};
  }

  // A perturbation without effect would wrongly suggest that nothing harms the policy.
  Status check_perturbation(const Part& part) const {
    Overrides disturbance;
    bool changes = false;
    for (std::size_t i = 0; i < part.entries.size(); ++i) {
      const auto& [key, text] = part.part.options[i];
      if (is_disturbance_key(key)) {
        disturbance.emplace_back(key, text);
        continue;
      }
      changes = true;
      for (const auto& [name, stratum] : strata_) {
        const std::string drawn = fmt::format("strata.{}.{}", name, key);
        for (const auto& [constant, range] : stratum.part.options) {
          if (constant != drawn) continue;
          return error_at(
              part.entries[i],
              invalid(fmt::format("{}: the stratum '{}' draws {} for every episode, so this "
                                  "would have no effect; leave one of them out",
                                  part.entries[i].key, name, key)));
        }
      }
    }
    const Result<Disturbance> disturbed = make_disturbance(disturbance);
    if (changes || (disturbed.ok() && disturbed.value().any())) return disturbed.status();
    return error_at(
        part.entries.front(),
        invalid(fmt::format("perturbations.{}: has no effect; expected obs_noise, action_delay, "
                            "obs_delay or push_interval above 0, or env.<option>",
                            part.part.name)));
  }

  Status check_rows() const {
    const std::int64_t rows = static_cast<std::int64_t>(panel_rows(panel_).size());
    const std::int64_t plays = rows * static_cast<std::int64_t>(panel_.seeds.size());
    if (plays > kMostEpisodes / panel_.episodes) {
      return invalid(
          fmt::format("{}: {} rows of {} episodes from each of {} seeds are too many, "
                      "expected at most {} episodes in all",
                      name_, rows, panel_.episodes, panel_.seeds.size(), kMostEpisodes));
    }
    std::set<std::uint64_t> keys;
    for (const PanelRow& row : panel_rows(panel_)) {
      const Status status = env_spec(panel_.env_id, row.env_options).status();
      if (!status.ok()) {
        return invalid(fmt::format("{}: row {} / {}: {}", name_, row.stratum, row.perturbation,
                                   status.message()));
      }
      for (const std::uint64_t key : row.keys) {
        if (keys.insert(key).second) continue;
        return invalid(
            fmt::format("{}: two rows have equal draws by chance, at {} / {}; rename one", name_,
                        row.stratum, row.perturbation));
      }
    }
    return {};
  }

  std::string name_;
  Panel panel_;
  bool has_seeds_ = false;
  Part env_;
  std::map<std::string, Part> strata_, perturbations_;
};

Result<Panel> panel_of(const TomlNode& root, const std::string& name) {
  std::vector<PanelEntry> entries;
  BROADLOOM_TRY(flatten(root, "", name, entries));
  return PanelBuilder(name).build(entries);
}

template <class Number>
bool is_exactly(const std::string& text) {
  Number number{};
  return parse_text(text, number).ok() && to_text(number) == text;
}

// The TOML value that is read as `text`.
std::string toml_value(const std::string& text) {
  const bool plain =
      is_exactly<bool>(text) || is_exactly<std::int64_t>(text) || is_exactly<double>(text);
  return plain ? text : Json(text).dump();  // a JSON string is valid TOML
}

}  // namespace

Result<Panel> parse_panel(std::string_view text, const std::string& name) {
  const Result<TomlNode> root = parse_toml(text, name);
  if (!root.ok()) return root.status();
  return panel_of(root.value(), name);
}

Result<Panel> read_panel(const std::string& path) {
  const Result<TomlNode> root = read_toml(path, "panel");
  if (!root.ok()) return root.status();
  return panel_of(root.value(), path);
}

Result<Panel> resolve_panel(const Overrides& overrides) {
  std::vector<PanelEntry> entries;
  for (const auto& [key, text] : overrides) entries.push_back({key, text});
  return PanelBuilder("the panel").build(entries);
}

std::string panel_toml(const Panel& panel) {
  std::string out;
  for (const auto& [key, text] : to_overrides(panel)) {
    const std::size_t dots = is_strata_key(key) ? text.find("..") : std::string::npos;
    if (key == "seeds") {
      out += fmt::format("{} = [{}]\n", key, text);
    } else if (dots != std::string::npos) {
      out += fmt::format("{} = [{}, {}]\n", key, text.substr(0, dots), text.substr(dots + 2));
    } else {
      out += fmt::format("{} = {}\n", key, toml_value(text));
    }
  }
  return out;
}

std::string panel_hash(const Panel& panel) { return hash_text(panel_toml(panel)); }

}  // namespace broadloom
