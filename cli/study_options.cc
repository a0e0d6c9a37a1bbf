#include "cli/study_options.h"

#include <fmt/core.h>

#include "broadloom/config/config.h"
#include "broadloom/config/keys.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "cli/config_file.h"
#include "cli/config_flags.h"

namespace broadloom::cli {
namespace {

constexpr const char* kGroup = "Study";

Status take_shapes(const std::vector<std::string>& texts, const std::string& flag,
                   std::vector<BlockShape>& out) {
  for (const std::string& text : texts) {
    const Result<BlockShape> shape = parse_shape(text, flag);
    if (!shape.ok()) return shape.status();
    out.push_back(shape.value());
  }
  return {};
}

// Flags win over the file's axes and its [base].
void drop_from_file(const std::string& key, StudySpec& spec) {
  std::erase_if(spec.axes, [&](const StudyAxis& axis) { return axis.name == key; });
  std::erase_if(spec.base, [&](const auto& entry) { return entry.first == key; });
}

Status take_shape_rules(const StudyFlags& flags, StudySpec& spec) {
  if (!flags.reference.empty()) spec.reference = flags.reference;
  const bool any = !flags.shapes.empty() || !flags.doubled.empty() || flags.ladder ||
                   flags.max_envs != 0 || flags.batch != 0;
  if (any) spec.shapes = {};
  if (flags.doublings != 0) spec.shapes.doublings = flags.doublings;
  if (!any) return {};
  spec.shapes.batch = flags.batch;
  spec.shapes.ladder = flags.ladder;
  spec.shapes.max_envs = flags.max_envs;
  BROADLOOM_TRY(take_shapes(flags.shapes, "--shapes", spec.shapes.list));
  BROADLOOM_TRY(take_shapes(flags.doubled, "--doubled", spec.shapes.doubled));
  std::erase_if(spec.base, [&](const auto& entry) {
    return role_of(entry.first) == Role::kShape && !varied_by(spec, entry.first).empty();
  });
  return {};
}

bool is_list(const std::string& key) {
  for (const FieldInfo& field : list_fields(Config{})) {
    if (field.name != key) continue;
    return field.type == "list" || field.type == "names" || field.type == ShapeSchedule::kTypeName;
  }
  return false;
}

// "learning_rate=1e-3,3e-4".
Status take_axis(const std::string& text, StudySpec& spec) {
  const std::size_t equals = text.find('=');
  std::vector<std::string> values;
  if (equals == std::string::npos || equals == 0 ||
      !parse_text(std::string_view(text).substr(equals + 1), values).ok()) {
    return invalid(fmt::format(
        "--grid: got '{}', expected KEY=VALUE,VALUE, as in learning_rate=1e-3,3e-4", text));
  }
  const std::string key = text.substr(0, equals);
  if (is_list(key)) {
    return invalid(fmt::format(
        "--grid: commas separate the values, but each value of {} is a list; put it into the "
        "study's "
        "file, as in [grid] {} = {}",
        key, key,
        key == "shape_schedule" ? "[\"\", \"8x128 @ 0, 64x16 @ 0.3\"]" : "[[64, 64], [256, 256]]"));
  }
  for (const std::string& value : values) {
    Config scratch;
    BROADLOOM_TRY(set_config(scratch, key, value));
    allow_settings({{key, value}});
  }
  return add_axis(key, values, spec.axes);
}

Status take_settings(const StudyFlags& flags, StudySpec& spec) {
  if (!flags.name.empty()) spec.name = flags.name;
  if (flags.points != 0) spec.points = flags.points;
  if (flags.evaluations >= 0) spec.evaluations = flags.evaluations;
  if (!flags.tuned.empty()) spec.tuned = flags.tuned;
  if (!flags.seeds.empty()) {
    const Result<std::vector<std::uint64_t>> seeds = parse_seeds(flags.seeds);
    if (!seeds.ok()) return seeds.status();
    spec.seeds = seeds.value();
  }
  if (!flags.match.empty()) {
    const Result<Match> match = parse_match(flags.match);
    if (!match.ok()) return match.status();
    spec.match = match.value();
    // They belong to the file's match.
    if (spec.match != Match::kGradientSteps) spec.adjust.reset();
    if (!follows_reference(spec.match)) spec.reference.clear();
  }
  if (!flags.adjust.empty()) {
    const Result<Adjust> adjust = parse_adjust(flags.adjust);
    if (!adjust.ok()) return adjust.status();
    spec.adjust = adjust.value();
  }
  return {};
}

// By training on a file, the user allows the code that it names.
void allow_file(const StudySpec& spec) {
  allow_settings(spec.base);
  for (const StudyAxis& axis : spec.axes) {
    for (const StudyAxis::Value& value : axis.values) allow_settings(value.set);
  }
}

}  // namespace

void add_study_flags(Command app, const Context& context, StudyFlags& flags) {
  app.add_option("FILE", flags.file, "Study in TOML; flags win over it").type_name("TOML");
  const auto text = [&](const char* flag, auto& out, const char* type, const char* help) {
    return app.add_option(flag, out, help).type_name(type).group(kGroup);
  };
  text("--seeds", flags.seeds, "SEEDS", "A count (10: seeds 1 to 10), a range (11-20) or a list");
  text("--batch", flags.batch, "INT", "B: N x T of the ladder and of every listed shape")
      .range(1, 1 << 30);
  app.add_flag("--ladder", flags.ladder, "All shapes N x T = batch with powers of two")
      .group(kGroup);
  text("--shapes", flags.shapes, "NxT,...", "These shapes").delimiter(',');
  text("--doubled", flags.doubled, "NxT,...",
       "Each of these shapes, once more with N doubled, and once more with T doubled")
      .delimiter(',');
  text("--doublings", flags.doublings, "INT", "Number of doublings by --doubled (default 1)")
      .range(1, 20);
  text("--max_envs", flags.max_envs, "INT", "N = 1, 2, 4, ... up to this, at num_steps")
      .range(1, 1 << 20);
  text("--match", flags.match, "WORD",
       "Equal between shapes: minibatch_count (default), minibatch_size, gradient_steps or none");
  text("--adjust", flags.adjust, "WORD",
       "Reach equal gradient_steps by minibatches (default) or epochs");
  text("--reference", flags.reference, "NxT",
       "Shape whose minibatch size or gradient steps the others get (default: the first)");
  text("--grid", flags.grid, "KEY=V,V", "Values of a config key; again for another key");
  text("--tuned", flags.tuned, "KEY,...",
       "Keys of the grid: the report compares arms at their own best values, which other seeds "
       "choose")
      .delimiter(',');
  text("--points", flags.points, "INT", "Points of each learning curve (default 50)")
      .range(1, kMostScoredPoints);
  text("--evaluations", flags.evaluations, "INT",
       "Evaluations of each run, spread evenly over its steps (default 1: the final policy)")
      .range(0, 100000);
  text("--name", flags.name, "TEXT", "Name of the study (default: the file's)");
  add_config_flags(app, context, flags.config);
}

Result<StudySpec> read_study_flags(const StudyFlags& flags, const Overrides& env_options,
                                   bool only_looks) {
  StudySpec spec;
  if (!flags.file.empty()) {
    Result<StudySpec> from_file = read_study(flags.file);
    if (!from_file.ok()) return explain_file(from_file.status(), flags.file, FileKind::kStudy);
    spec = from_file.take();
    if (!only_looks) allow_file(spec);
  }
  allow_settings(flags.config);
  BROADLOOM_TRY(take_settings(flags, spec));
  BROADLOOM_TRY(take_shape_rules(flags, spec));
  for (const std::string& axis : flags.grid) drop_from_file(axis.substr(0, axis.find('=')), spec);
  for (const std::string& axis : flags.grid) BROADLOOM_TRY(take_axis(axis, spec));
  if (flags.file.empty() && spec.seeds.empty()) {
    return invalid(
        "a study needs a file or seeds, got neither; call `broadloom study FILE.toml`, or use "
        "flags, "
        "as in `broadloom study --seeds 5 --grid learning_rate=1e-3,3e-4`");
  }
  spec.base.insert(spec.base.end(), flags.config.begin(), flags.config.end());
  spec.base.insert(spec.base.end(), env_options.begin(), env_options.end());
  return spec;
}

}  // namespace broadloom::cli
