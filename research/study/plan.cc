#include "research/study/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <numeric>
#include <set>

#include "broadloom/config/keys.h"
#include "broadloom/core/hash.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/record/manifest.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/resolve_config.h"
#include "broadloom/train/contract.h"
#include "research/study/study_definition.h"

namespace broadloom {
namespace {

// Advice for keys that a study does not accept.
struct KeyAdvice {
  const char* key;
  const char* words;
};
constexpr KeyAdvice kKeyAdvice[] = {
    {"seed", "give seeds"},
    {"stop_at_return",
     "leave it out: runs that end at different steps have no whole curves to compare. The mean "
     "over a whole curve's evaluations shows how soon a cell learns"},
    {"eval_interval", "give evaluations, which are spread evenly over the steps of every cell"},
    {"checkpoint_interval", "leave it out: a study keeps no checkpoints"},
    {"keep_checkpoints", "leave it out: a study keeps no checkpoints"},
    {"log_interval", "give points, which are spread evenly over the steps of every cell"},
};

const char* advice_for(std::string_view key) {
  for (const KeyAdvice& advice : kKeyAdvice) {
    if (key == advice.key) return advice.words;
  }
  return "leave it out: a study writes only its store";
}

// A study has no run folder, its own seeds, and compares runs of equal length.
bool is_forbidden(std::string_view key) {
  const Role role = role_of(key);
  return role == Role::kSeed || role == Role::kRecord || key == "stop_at_return";
}

// Whether the definition of a study includes this setting. The first keys always count, as they are
// in the hashes of existing stores. A later key counts only if results depend on it and it is not
// at its default. Older stores therefore still match their studies.
bool defines(const std::pair<std::string, std::string>& entry, const Overrides& defaults) {
  const KeyFacts& facts = facts_of(entry.first);
  if (facts.since == Since::kFirst) return true;
  if (facts.role == Role::kRecord || facts.role == Role::kMachine) return false;
  if (facts.before != nullptr) return entry.second != facts.before;
  return std::find(defaults.begin(), defaults.end(), entry) == defaults.end();
}

// The policy of a teacher counts, and not the place of its file.
void replace_teacher(const StudyCell& cell, Overrides& keys) {
  if (!cell.teacher) return;
  std::erase_if(keys, [](const auto& entry) { return entry.first == "teacher"; });
  keys.insert(keys.end(), cell.teacher_hashes.begin(), cell.teacher_hashes.end());
}

// A key whose default differs from what older stores did counts only if it has an effect.
Overrides defining_keys(const StudyCell& cell) {
  const Config& config = cell.config;
  static const Overrides kDefaults = to_overrides(Config{});
  Overrides keys = to_overrides(config);
  const std::set<std::string> idle = idle_keys(config);
  std::erase_if(keys, [&](const auto& entry) {
    const bool is_idle = facts_of(entry.first).before != nullptr && idle.count(entry.first) > 0;
    return is_idle || !defines(entry, kDefaults);
  });
  replace_teacher(cell, keys);
  if (!cell.engine.empty()) keys.emplace_back("engine", cell.engine);
  return keys;
}

bool sets(const StudyAxis& axis, std::string_view key) {
  return std::any_of(axis.values.begin(), axis.values.end(), [&](const StudyAxis::Value& value) {
    return std::any_of(value.set.begin(), value.set.end(),
                       [&](const auto& entry) { return entry.first == key; });
  });
}

bool sets_role(const StudyAxis& axis, Role role) {
  return std::any_of(axis.values.begin(), axis.values.end(), [&](const StudyAxis::Value& value) {
    return std::any_of(value.set.begin(), value.set.end(),
                       [&](const auto& entry) { return role_of(entry.first) == role; });
  });
}

Status check_keys(const Overrides& overrides) {
  for (const auto& [key, text] : overrides) {
    if (!is_forbidden(key)) continue;
    return invalid(fmt::format("{} is not a key of a study; {}", key, advice_for(key)));
  }
  return {};
}

Status check_axis(const StudySpec& spec, Adjust adjust, const StudyAxis& axis) {
  if (axis.values.empty()) return invalid(fmt::format("grid: {} has no values", axis.name));
  for (const StudyAxis::Value& value : axis.values) BROADLOOM_TRY(check_keys(value.set));
  for (const std::string& key : decided_keys(spec.match, adjust)) {
    if (!sets(axis, key)) continue;
    return invalid(
        fmt::format("{} is varied, but match = \"{}\" sets it; leave one of them out (match = "
                    "\"none\" keeps nothing equal)",
                    key, match_name(spec.match)));
  }
  return {};
}

// Options of a match that has no use for them.
Status check_match(const StudySpec& spec) {
  const char* match = match_name(spec.match);
  if (spec.adjust && spec.match != Match::kGradientSteps) {
    return invalid(fmt::format(
        "adjust: got {}, but match = \"{}\" does not adjust; leave it out, or use match = "
        "\"gradient_steps\"",
        adjust_name(*spec.adjust), match));
  }
  if (spec.reference.empty() || follows_reference(spec.match)) return {};
  return invalid(
      fmt::format("reference: got {}, but match = \"{}\" follows no shape; leave it out, or use "
                  "match = \"minibatch_size\" or \"gradient_steps\"",
                  spec.reference, match));
}

Status check_base(const StudySpec& spec) {
  BROADLOOM_TRY(check_keys(spec.base));
  for (const auto& [key, text] : spec.base) {
    const std::string varying = varied_by(spec, key);
    if (varying.empty()) continue;
    return invalid(
        fmt::format("{0} is {1} for all cells (in [base] or by --{0}), but each cell gets its own "
                    "value from {2}; leave one of the two out",
                    key, text, varying));
  }
  return {};
}

// The base plus the environment options of the first cell, without which it may be incomplete.
Overrides with_first_options(const StudySpec& spec) {
  Overrides out = spec.base;
  for (const StudyAxis& axis : spec.axes) {
    if (axis.values.empty()) continue;
    for (const auto& [key, text] : axis.values.front().set) {
      if (is_env_option(key)) out.emplace_back(key, text);
    }
  }
  return out;
}

Result<StudyAxis> shape_axis(const StudySpec& spec) {
  StudyAxis axis{"shape", {}};
  ShapeRules rules = spec.shapes;
  if (rules.max_envs > 0 && rules.num_steps == 0) {
    const Result<Config> base = assemble_config(with_first_options(spec));
    if (!base.ok()) return base.status();
    rules.num_steps = base.value().num_steps;
  }
  const Result<std::vector<BlockShape>> shapes = make_shapes(rules);
  if (!shapes.ok()) return shapes.status();
  for (const BlockShape& shape : shapes.value()) {
    axis.values.push_back(
        {shape_text(shape),
         {{"num_envs", to_text(shape.num_envs)}, {"num_steps", to_text(shape.num_steps)}}});
  }
  return axis;
}

// Finds the index of the reference shape.
Status check_reference(const StudySpec& spec, const StudyAxis& axis, std::size_t& index) {
  if (spec.reference.empty()) return {};
  const Result<BlockShape> shape = parse_shape(spec.reference, "reference");
  if (!shape.ok()) return shape.status();
  for (index = 0; index < axis.values.size(); ++index) {
    if (axis.values[index].name == shape_text(shape.value())) return {};
  }
  return invalid(
      fmt::format("reference: {} is not one of the shapes; name one that is, or leave it "
                  "out",
                  spec.reference));
}

class Planner {
 public:
  explicit Planner(const StudySpec& spec)
      : spec_(spec), adjust_(spec.adjust.value_or(Adjust::kMinibatches)) {}

  Result<StudyPlan> plan() {
    BROADLOOM_TRY(gather_axes());
    if (spec_.seeds.empty()) return invalid("the study has no seeds; give some, as in seeds = 10");
    constexpr std::size_t kMostRuns = 1000000;
    std::size_t cells = 1;
    for (const StudyAxis& axis : axes_) {
      cells *= axis.values.size();
      if (cells <= kMostRuns / spec_.seeds.size()) continue;  // asked each time, against overflow
      return invalid(
          fmt::format("{} cells or more with {} seeds are more than {} runs; leave out "
                      "values or seeds",
                      cells, spec_.seeds.size(), kMostRuns));
    }
    std::vector<std::size_t> indices(axes_.size(), 0);
    for (std::size_t i = 0; i < cells; ++i) {
      BROADLOOM_TRY(add_cell(indices));
      advance(indices);
    }
    BROADLOOM_TRY(check_uses());
    BROADLOOM_TRY(check_names());
    compare_defaults();
    add_runs();
    define();
    return std::move(plan_);
  }

 private:
  Status gather_axes() {
    BROADLOOM_TRY(check_base(spec_));
    BROADLOOM_TRY(check_match(spec_));
    if (!spec_.shapes.empty() || spec_.shapes.batch != 0) {
      Result<StudyAxis> shapes = shape_axis(spec_);
      if (!shapes.ok()) return shapes.status();
      BROADLOOM_TRY(check_reference(spec_, shapes.value(), reference_));
      axes_.push_back(shapes.take());
      for (const StudyAxis& axis : spec_.axes) {
        if (!sets_role(axis, Role::kShape)) continue;
        return invalid(fmt::format(
            "{} sets num_envs, num_steps or shape_schedule, and so do the shapes; leave one out",
            axis.name));
      }
    } else if (!spec_.reference.empty()) {
      return invalid("reference: the study has no shapes; add [shapes], or leave reference out");
    }
    axes_.insert(axes_.end(), spec_.axes.begin(), spec_.axes.end());
    for (const StudyAxis& axis : axes_) BROADLOOM_TRY(check_axis(spec_, adjust_, axis));
    for (const std::string& key : spec_.tuned) BROADLOOM_TRY(check_tuned(key));
    if (!spec_.tuned.empty() && spec_.seeds.size() == 1) {
      return invalid(
          "tuned: got 1 seed, expected at least 2, since a seed's value is chosen with the others; "
          "give more seeds, or leave tuned out");
    }
    return check_sampler();
  }

  // A sampler's settings are variants alone: a grid beside them would multiply each.
  Status check_sampler() const {
    if (spec_.sampler.empty()) return {};
    if (axes_.size() != 1 || axes_.front().name != "variant") {
      return invalid(
          "sampler: got shapes, a grid or no variants, expected [[variants]] alone, each a setting "
          "that the sampler chose");
    }
    if (spec_.sampler.find_first_of("\r\n") != std::string::npos) {
      return invalid("sampler: got several lines, expected one line that names sampler and seed");
    }
    return {};
  }

  Status check_tuned(const std::string& key) const {
    std::vector<std::string> keys;
    for (const StudyAxis& axis : axes_) {
      if (axis.values.size() < 2) continue;
      for (const auto& value : axis.values) {  // variants may set different keys
        for (const auto& [set, text] : value.set) {
          if (set == key) return check_tuned_key(key);
          if (std::find(keys.begin(), keys.end(), set) == keys.end()) keys.push_back(set);
        }
      }
    }
    return unknown_key_error("tuned key", key, keys);
  }

  // The last axis varies fastest.
  void advance(std::vector<std::size_t>& indices) const {
    for (std::size_t a = indices.size(); a-- > 0;) {
      if (++indices[a] < axes_[a].values.size()) return;
      indices[a] = 0;
    }
  }

  Overrides overrides(const std::vector<std::size_t>& indices) const {
    Overrides out = spec_.base;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const Overrides& set = axes_[a].values[indices[a]].set;
      out.insert(out.end(), set.begin(), set.end());
    }
    return out;
  }

  // The cell that this one is matched with: axes of shape, minibatches and epochs are at their
  // reference; those of the environment or budget stay. Among the task's keys only env_id counts
  // here; all of them would change the matching of existing studies.
  std::vector<std::size_t> reference_of(std::vector<std::size_t> indices) const {
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (sets(axes_[a], "env_id") || sets_role(axes_[a], Role::kBudget)) continue;
      if (!sets_role(axes_[a], Role::kShape) && !sets_role(axes_[a], Role::kMinibatches)) continue;
      indices[a] = axes_[a].name == "shape" ? reference_ : 0;
    }
    return indices;
  }

  std::string name_of(const std::vector<std::size_t>& indices) const {
    std::string name;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const StudyAxis::Value& value = axes_[a].values[indices[a]];
      if (!name.empty()) name += " ";
      if (!value.name.empty()) {
        name += value.name;
        continue;
      }
      for (std::size_t i = 0; i < value.set.size(); ++i) {
        name += (i > 0 ? " " : "") + value.set[i].first + "=" + value.set[i].second;
      }
    }
    return name.empty() ? "base" : name;
  }

  Result<Config> assemble(const std::vector<std::size_t>& indices) const {
    Result<Config> config = assemble_config(overrides(indices));
    // Matching divides by the number of iterations, which is 0 if the budget is below one block.
    if (config.ok() && config.value().num_iterations() < 1) return validate(config.value());
    return config;
  }

  Status add_cell(const std::vector<std::size_t>& indices) {
    StudyCell cell;
    cell.name = name_of(indices);
    const auto failure = [&](const Status& status) {
      return Status(status.kind(), fmt::format("cell {}: {}", cell.name, status.message()));
    };
    const Result<Config> config = assemble(indices);
    if (!config.ok()) return failure(config.status());
    const Status uses = note_uses(cell.name, overrides(indices), config.value());
    if (!uses.ok()) return failure(uses);
    const Result<Config> reference = assemble(reference_of(indices));
    if (!reference.ok()) return failure(reference.status());
    given_.push_back(config.value());
    cell.config = config.value();
    const Result<std::string> note =
        apply_match(spec_.match, adjust_, reference.value(), cell.config);
    if (!note.ok()) return failure(note.status());
    cell.note = note.value();
    const Status valid = check_config(cell.config);
    if (!valid.ok()) return failure(valid);
    const Result<EnvSpec> spec = env_spec(cell.config.env_id, cell.config.env_options);
    if (!spec.ok()) return failure(spec.status());
    cell.engine = spec.value().engine;
    cell.source = source_words(recorded_upstream(spec.value()));
    const Status has_teacher = add_teacher(cell);
    if (!has_teacher.ok()) return failure(has_teacher);
    cell.config.seed = 0;
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const Overrides& set = axes_[a].values[indices[a]].set;
      cell.changes.insert(cell.changes.end(), set.begin(), set.end());
    }
    plan_.cells.push_back(std::move(cell));
    return {};
  }

  // Cells that name one file have the same bytes, even if it changes meanwhile.
  Status add_teacher(StudyCell& cell) {
    if (!learns_from_teacher(cell.config)) return {};
    const std::string& name = cell.config.teacher;
    const auto same = std::find_if(plan_.cells.begin(), plan_.cells.end(), [&](const StudyCell& c) {
      return c.teacher && c.config.teacher == name;
    });
    Result<std::optional<TeacherFile>> file =
        same == plan_.cells.end() ? read_teacher_file(cell.config) : same->teacher;
    if (!file.ok()) return file.status();
    const Result<EnvSpec> spec = env_spec(cell.config.env_id, cell.config.env_options);
    if (!spec.ok()) return spec.status();
    const Result<std::unique_ptr<TeacherPolicy>> teacher =
        make_teacher(cell.config, spec.value(), file.value());
    if (!teacher.ok()) return teacher.status();
    const PolicySource& source = teacher.value()->source;
    cell.teacher_hashes = {{"teacher.parameters_hash", source.parameters_hash}};
    if (!source.obs_normalizer_hash.empty()) {
      cell.teacher_hashes.emplace_back("teacher.obs_normalizer_hash", source.obs_normalizer_hash);
    }
    cell.teacher = file.take();
    return {};
  }

  // config: before the match, which sets keys itself.
  Status note_uses(const std::string& cell, const Overrides& overrides, Config config) {
    config.eval_interval = spec_.evaluations;  // a study sets evaluations instead
    const Result<std::vector<KeyUse>> uses = key_uses(overrides, config);
    if (!uses.ok()) return uses.status();
    for (const KeyUse& use : uses.value()) {
      if (use.acts) acting_.insert(use.key);
      if (!use.refusal.empty()) {
        idle_.emplace(use.key, fmt::format("cell {}: {}", cell, use.refusal));
      }
    }
    return {};
  }

  // A key of all cells may be without effect in some of them, but not in all.
  Status check_uses() const {
    for (const auto& [key, refusal] : idle_) {
      if (acting_.count(key) == 0) return invalid(refusal);
    }
    return {};
  }

  // Names identify cells, and equal cells would count twice.
  Status check_names() const {
    std::map<std::string, const StudyCell*> names, configs;
    for (const StudyCell& cell : plan_.cells) {
      std::string config;
      Config acting = cell.config;
      acting.eval_interval = spec_.evaluations;
      Overrides keys = to_overrides(without_idle_values(acting));
      replace_teacher(cell, keys);
      for (const auto& [key, text] : keys) {
        config += key + "=" + text + "\n";
      }
      const auto [other, is_new] = configs.emplace(config, &cell);
      if (!is_new) {
        return invalid(fmt::format("cells {} and {} are the same{}; leave one of them out",
                                   other->second->name, cell.name,
                                   idle_difference(other->second->config, cell.config)));
      }
      if (!names.emplace(cell.name, &cell).second) {
        return invalid(
            fmt::format("two cells are named {}, but their settings differ; give each its own name",
                        cell.name));
      }
    }
    return {};
  }

  // The first key in which two equally trained cells differ, and what it needs to have an effect.
  static std::string idle_difference(const Config& first, const Config& second) {
    const Overrides ours = to_overrides(first), theirs = to_overrides(second);
    std::set<std::string> idle = idle_keys(first);
    idle.merge(idle_keys(second));
    for (std::size_t i = 0; i < ours.size() && i < theirs.size(); ++i) {
      if (ours[i] == theirs[i] || idle.count(ours[i].first) == 0) continue;
      const std::string needs = needs_sentence(facts_of(ours[i].first));
      return fmt::format(", since {} has no effect here ({})", ours[i].first,
                         needs.substr(0, needs.size() - 1));
    }
    return {};
  }

  // Compares what the cells were given: the match changes keys for its own reason.
  void compare_defaults() {
    const std::vector<std::string> decided = decided_keys(spec_.match, adjust_);
    std::set<std::string> explained(decided.begin(), decided.end());
    for (const StudyCell& cell : plan_.cells) {
      for (const auto& [key, text] : cell.changes) explained.insert(key);
    }
    const std::vector<FieldInfo> first = list_fields(given_.front());
    std::set<std::string> differ;
    for (const Config& given : given_) {
      const std::vector<FieldInfo> fields = list_fields(given);
      for (std::size_t i = 0; i < first.size(); ++i) {
        if (fields[i].value_text != first[i].value_text) differ.insert(first[i].name);
      }
    }
    for (const FieldInfo& field : first) {
      if (differ.count(field.name) == 0 || explained.count(field.name) > 0) continue;
      plan_.differing_defaults.push_back(field.name);
    }
  }

  void add_runs() {
    std::vector<Overrides> keys;  // of each cell
    for (const StudyCell& cell : plan_.cells) keys.push_back(defining_keys(cell));
    const auto add = [&](std::size_t cell, std::uint64_t seed) {
      std::string text;
      for (const auto& [key, value] : keys[cell]) {
        text += key + "=" + (key == "seed" ? to_text(seed) : value) + "\n";
      }
      const auto id = static_cast<std::int64_t>(plan_.runs.size()) + 1;
      plan_.runs.push_back({id, static_cast<int>(cell), seed, hash_text(text)});
    };
    if (!spec_.sampler.empty()) {
      for (std::size_t c = 0; c < plan_.cells.size(); ++c) {
        for (const std::uint64_t seed : spec_.seeds) add(c, seed);
      }
      return;
    }
    for (const std::uint64_t seed : spec_.seeds) {
      for (std::size_t c = 0; c < plan_.cells.size(); ++c) add(c, seed);
    }
  }

  void define() {
    plan_.name = spec_.name;
    plan_.sampler = spec_.sampler;
    plan_.match = spec_.match;
    plan_.adjust = adjust_;
    plan_.points = spec_.points;
    plan_.evaluations = spec_.evaluations;
    plan_.seeds = spec_.seeds;
    std::string& text = plan_.definition;
    text = fmt::format("points {}\nevaluations {}\nmatch {}\nseeds {}\n", spec_.points,
                       spec_.evaluations, match_name(spec_.match), fmt::join(spec_.seeds, ","));
    if (!spec_.tuned.empty()) text += fmt::format("tuned {}\n", fmt::join(spec_.tuned, ","));
    if (!spec_.sampler.empty()) text += fmt::format("sampler {}\n", spec_.sampler);
    std::string hashed = text;  // without sources, which older stores lack
    for (const StudyCell& cell : plan_.cells) {
      std::string lines = "cell " + cell.name + "\n";
      for (const auto& [key, value] : defining_keys(cell)) {
        if (key != "seed") lines += key + " " + value + "\n";
      }
      hashed += lines;
      text += lines;
      if (!cell.source.empty()) text += fmt::format("{} {}\n", kSourceKey, cell.source);
    }
    plan_.hash = hash_text(hashed);
  }

  const StudySpec& spec_;
  const Adjust adjust_;
  std::vector<Config> given_;                // of each cell, before the match
  std::set<std::string> acting_;             // keys with an effect in some cell
  std::map<std::string, std::string> idle_;  // keys without one in some cell: the first refusal
  std::vector<StudyAxis> axes_;
  std::size_t reference_ = 0;
  StudyPlan plan_;
};

}  // namespace

std::int64_t StudyCell::batch_size() const {
  if (config.shape_schedule.empty()) return config.batch_size();
  return std::llround(static_cast<double>(environment_steps()) /
                      static_cast<double>(config.num_iterations()));
}

std::int64_t StudyCell::minibatch_count() const {
  if (config.shape_schedule.empty()) return config.minibatch_count();
  const std::int64_t minibatches = config.gradient_steps() / config.update_epochs;
  return std::llround(static_cast<double>(minibatches) /
                      static_cast<double>(config.num_iterations()));
}

std::int64_t StudyCell::minibatch_size() const {
  std::int64_t largest = 0;
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    largest = std::max(largest, config.of_phase(p).largest_minibatch());
  }
  return largest;
}

std::int64_t StudyCell::smallest_minibatch() const {
  std::int64_t smallest = config.batch_size();
  for (std::size_t p = 0; p < config.phase_count(); ++p) {
    const Config phase = config.of_phase(p);
    smallest = std::min(smallest, phase.batch_size() / phase.minibatch_count());
  }
  return smallest;
}

// With a schedule of shapes, the mean of the whole run.
double StudyCell::samples_per_gradient() const {
  if (!config.shape_schedule.empty()) {
    return static_cast<double>(environment_steps()) / static_cast<double>(config.gradient_steps());
  }
  return static_cast<double>(config.batch_size()) /
         static_cast<double>(config.minibatch_count() * config.update_epochs);
}

Result<StudyPlan> plan_study(const StudySpec& spec) { return Planner(spec).plan(); }

}  // namespace broadloom
