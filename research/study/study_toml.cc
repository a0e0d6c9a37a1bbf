// Reads a study's TOML file.
#include <fmt/core.h>

#include <filesystem>
#include <functional>
#include <optional>

#include "broadloom/config/config.h"
#include "broadloom/core/toml_tree.h"
#include "research/study/study_spec.h"

namespace broadloom {
namespace {

using Kind = TomlNode::Kind;

// Reads one file; every error names its line.
class StudyReader {
 public:
  explicit StudyReader(const std::string& path) : path_(path) {}

  Result<StudySpec> read(const TomlNode& root) {
    spec_.name = std::filesystem::path(path_).stem().string();
    for (const TomlNode& node : root.all) BROADLOOM_TRY(top_level(node));
    const TomlNode* base = root.find("base");
    if (base != nullptr && base->is(Kind::kString)) drop_varied_keys();
    return std::move(spec_);
  }

 private:
  Status error_at(const TomlNode& node, const std::string& message) const {
    return toml_error(path_, node.line, message);
  }
  Status error_at(const TomlNode& node, const Status& status) const {
    if (status.ok() || status.kind() != ErrorKind::kInvalidConfig) return status;
    return error_at(node, status.message());
  }
  Status expected(const TomlNode& node, const std::string& what) const {
    return error_at(node, fmt::format("{}: got {}, expected {}", node.key, got(node), what));
  }
  static std::string got(const TomlNode& node) {
    return node.is_scalar() ? "'" + node.text + "'" : kind_words(node);
  }

  Status top_level(const TomlNode& node) {
    if (node.key == "base") return base(node);
    if (node.key == "shapes") return shapes(node);
    if (node.key == "grid") return grid(node);
    if (node.key == "variants") return variants(node);
    if (node.key == "seeds") return seeds(node);
    if (node.key == "match") return choice(node, parse_match, spec_.match);
    if (node.key == "adjust") return choice(node, parse_adjust, spec_.adjust);
    if (node.key == "points") return integer(node, 1, kMostScoredPoints, spec_.points);
    if (node.key == "evaluations") return integer(node, 0, 100000, spec_.evaluations);
    if (node.key == "name") return text(node, spec_.name);
    if (node.key == "tuned") return tuned(node);
    if (node.key == "sampler") return text(node, spec_.sampler);
    return error_at(
        node, unknown_key_error("key", node.key,
                                {"name", "base", "shapes", "grid", "variants", "seeds", "match",
                                 "adjust", "points", "evaluations", "tuned", "sampler"}));
  }

  Status text(const TomlNode& node, std::string& out) const {
    if (!node.is(Kind::kString) || node.text.empty()) return expected(node, "a string");
    out = node.text;
    return {};
  }

  Status integer(const TomlNode& node, int low, int high, int& out) const {
    int value = 0;
    if (!node.is(Kind::kInt) || !parse_text(node.text, value).ok() || value < low || value > high) {
      return expected(node, fmt::format("an integer from {} to {}", low, high));
    }
    out = value;
    return {};
  }

  // A key, or a list of them.
  Status tuned(const TomlNode& node) {
    if (node.is(Kind::kString)) {
      spec_.tuned.emplace_back();
      return text(node, spec_.tuned.back());
    }
    if (!node.is(Kind::kArray)) return expected(node, "a key of [grid], or a list of them");
    for (const TomlNode& item : node.all) {
      if (!item.is(Kind::kString)) return expected(node, "a key of [grid], or a list of them");
      spec_.tuned.push_back(item.text);
    }
    return {};
  }

  template <class Value, class Out>
  Status choice(const TomlNode& node, Result<Value> (*parse)(const std::string&), Out& out) {
    if (!node.is(Kind::kString)) return expected(node, "a string");
    const Result<Value> value = parse(node.text);
    if (!value.ok()) return error_at(node, value.status());
    out = value.value();
    return {};
  }

  // A table of keys, or the name of a config file in the study's folder.
  Status base(const TomlNode& node) {
    if (!node.is(Kind::kTable) && !node.is(Kind::kString)) {
      return expected(node, "a table of config keys, or the name of a config file");
    }
    const std::filesystem::path file = std::filesystem::path(path_).parent_path() / node.text;
    const Result<Overrides> overrides =
        node.is(Kind::kTable) ? toml_overrides(node, path_) : read_toml_overrides(file.string());
    if (!overrides.ok()) return overrides.status();
    spec_.base = overrides.value();
    return {};
  }

  // A named config file may set keys that the study varies; a [base] table may not.
  void drop_varied_keys() {
    std::erase_if(spec_.base,
                  [&](const auto& entry) { return !varied_by(spec_, entry.first).empty(); });
  }

  Status seeds(const TomlNode& node) {
    if (node.is(Kind::kArray)) {
      std::string list = value_text(node, path_).value_or("");
      // A list of one number is that seed, not a count.
      if (node.all.size() == 1) list += "-" + list;
      return take_seeds(node, list);
    }
    if (!node.is(Kind::kInt) && !node.is(Kind::kString)) {
      return expected(node, "how many, a list of them, or a text such as \"11-20\"");
    }
    return take_seeds(node, node.text);
  }
  Status take_seeds(const TomlNode& node, const std::string& list) {
    const Result<std::vector<std::uint64_t>> seeds = parse_seeds(list);
    if (!seeds.ok()) return error_at(node, seeds.status());
    spec_.seeds = seeds.value();
    return {};
  }

  Status shapes(const TomlNode& node) {
    if (!node.is(Kind::kTable)) return expected(node, "a table, [shapes]");
    for (const TomlNode& rule : node.all) BROADLOOM_TRY(shape_rule(rule));
    if (spec_.shapes.empty() && spec_.shapes.batch == 0) {
      return error_at(node, "[shapes] is empty; expected list, ladder, doubled or max_envs");
    }
    return {};
  }
  Status shape_rule(const TomlNode& node) {
    constexpr int kMost = 1 << 20;
    ShapeRules& rules = spec_.shapes;
    if (node.key == "list") return shape_list(node, rules.list);
    if (node.key == "doubled") return shape_list(node, rules.doubled);
    if (node.key == "doublings") return integer(node, 1, 20, rules.doublings);
    if (node.key == "max_envs") return integer(node, 1, kMost, rules.max_envs);
    if (node.key == "num_steps") return integer(node, 1, kMost, rules.num_steps);
    if (node.key == "reference") return text(node, spec_.reference);
    if (node.key == "batch") {
      int batch = 0;
      BROADLOOM_TRY(integer(node, 1, std::numeric_limits<int>::max(), batch));
      rules.batch = batch;
      return {};
    }
    if (node.key == "ladder") {
      if (!node.is(Kind::kBool)) return expected(node, "true or false");
      rules.ladder = node.text == "true";
      return {};
    }
    return error_at(node, unknown_key_error("key of [shapes]", node.key,
                                            {"list", "batch", "ladder", "doubled", "doublings",
                                             "max_envs", "num_steps", "reference"}));
  }
  Status shape_list(const TomlNode& node, std::vector<BlockShape>& out) const {
    const bool is_list = node.is(Kind::kArray) && !node.all.empty();
    if (!is_list && !node.is(Kind::kString)) {
      return expected(node, "shapes, such as [\"8x128\", \"128x8\"]");
    }
    for (const TomlNode& item : is_list ? node.all : std::vector<TomlNode>{node}) {
      const Result<BlockShape> shape = parse_shape(item.text, node.key);
      if (!shape.ok()) return error_at(item, shape.status());
      out.push_back(shape.value());
    }
    return {};
  }

  // [grid]: a list of values for each key. A table inside is a prefix with a dot: env.is_slippery.
  Status grid(const TomlNode& node, const std::string& prefix = "") {
    if (!node.is(Kind::kTable)) return expected(node, "a table, [grid]");
    for (const TomlNode& member : node.all) {
      if (member.is(Kind::kTable) && prefix.empty() && member.key == "env") {
        BROADLOOM_TRY(grid(member, "env."));
        continue;
      }
      BROADLOOM_TRY(grid_axis(member, prefix + member.key));
    }
    if (node.all.empty()) {
      return error_at(node,
                      "[grid] is empty; expected keys with lists of values, such as "
                      "learning_rate = [1e-3, 3e-4]");
    }
    return {};
  }
  Status grid_axis(const TomlNode& node, const std::string& key) {
    if (!node.is(Kind::kArray)) {
      return error_at(node,
                      fmt::format("{}: got {}, expected a list of values; put a value that all "
                                  "cells share into [base]",
                                  key, got(node)));
    }
    std::vector<std::string> values;
    for (const TomlNode& item : node.all) {
      const std::optional<std::string> value = value_text(item, path_);
      if (!value) {
        return error_at(item, fmt::format("{}: got {} in its list, expected plain values", key,
                                          kind_words(item)));
      }
      Config scratch;
      BROADLOOM_TRY(error_at(item, set_config(scratch, key, *value)));
      values.push_back(*value);
    }
    return error_at(node, add_axis(key, values, spec_.axes));
  }

  // [[variants]]: each sets several keys and may have a name.
  Status variants(const TomlNode& node) {
    if (!node.is(Kind::kArray) || node.all.empty() || !node.all.front().is(Kind::kTable)) {
      return expected(node, "tables, each under [[variants]]");
    }
    StudyAxis axis{"variant", {}};
    for (const TomlNode& item : node.all) {
      if (!item.is(Kind::kTable)) {
        return error_at(item, fmt::format("variants: got {}, expected only tables", got(item)));
      }
      StudyAxis::Value value;
      TomlNode keys = item;
      std::erase_if(keys.all, [](const TomlNode& member) { return member.key == "name"; });
      if (const TomlNode* name = item.find("name")) BROADLOOM_TRY(text(*name, value.name));
      const Result<Overrides> set = toml_overrides(keys, path_);
      if (!set.ok()) return set.status();
      value.set = set.value();
      axis.values.push_back(std::move(value));
    }
    spec_.axes.push_back(std::move(axis));
    return {};
  }

  std::string path_;
  StudySpec spec_;
};

}  // namespace

Result<StudySpec> parse_study(std::string_view text, const std::string& path) {
  const Result<TomlNode> root = parse_toml(text, path);
  if (!root.ok()) return root.status();
  return StudyReader(path).read(root.value());
}

Result<StudySpec> read_study(const std::string& path) {
  const Result<TomlNode> root = read_toml(path, "study file");
  if (!root.ok()) return root.status();
  return StudyReader(path).read(root.value());
}

}  // namespace broadloom
