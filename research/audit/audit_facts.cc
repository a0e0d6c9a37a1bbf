#include "research/audit/audit_facts.h"

#include <fmt/core.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <sstream>
#include <utility>

#include "broadloom/config/budget.h"
#include "broadloom/config/schedule.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/instruments/audit/environments.h"
#include "broadloom/instruments/audit/streams.h"
#include "broadloom/learn/ppo.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/settings.h"
#include "research/audit/first_starts.h"
#include "research/audit/panel_facts.h"

namespace broadloom {
namespace {

constexpr int kMostStarts = 4096;
constexpr double kMostLanes = 1e9;  // limit for a record's number, far above real ones
constexpr double kLastIteration = 1e15;

double number_in(const Json& json, const char* key) {
  return json[key].is_number() ? json[key].real() : RunFacts::kNone;
}

// A count from 1 to `most`; 1 if absent.
std::int64_t whole_in(const Json& json, const char* key, double most) {
  const double number = number_in(json, key);
  return std::isnan(number) ? 1 : static_cast<std::int64_t>(std::clamp(number, 1.0, most));
}

// The file's text; "" if there is no file.
Result<std::string> text_of(const std::string& path) {
  Result<std::string> text = read_file(path);
  if (!text.ok() && text.status().kind() == ErrorKind::kNotFound) return std::string();
  return text;
}

// Parses every whole line as an object. A last line without an end was cut off, by a full disk or a
// crash, and is skipped. kCorrupt names the file.
Result<std::vector<Json>> json_lines(const std::string& path, const char* what) {
  Result<std::string> text = text_of(path);
  if (!text.ok()) return text.status();
  std::vector<Json> lines;
  std::istringstream stream(text.value().substr(0, text.value().find_last_of('\n') + 1));
  for (std::string line; std::getline(stream, line);) {
    lines.push_back(Json::parse(line));
    if (lines.back().is_object()) continue;
    return Status(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: '{}' is not a line of {}",
                                                   path, line.substr(0, 60), what));
  }
  return lines;
}

Status add_starts(const Config& config, RunFacts& facts) {
  VecEnvOptions options = vec_env_options(config);
  options.stagger_starts = false;
  options.num_envs = std::min(options.families(), kMostStarts);
  options.seed_families = 0;
  Result<std::vector<Fingerprint>> training =
      first_starts(config.env_id, config.env_options, options, config.num_envs);
  if (!training.ok()) return training.status();
  options.streams = StreamSet::kEvaluation;
  options.num_envs = std::clamp(config.eval_episodes, 64, kMostStarts);
  Result<std::vector<Fingerprint>> evaluation =
      first_starts(config.env_id, config.env_options, options, config.num_envs);
  if (!evaluation.ok()) return evaluation.status();
  if (training.value().empty()) return {};
  const std::vector<Fingerprint> starts = evaluation.value();
  const double alike = count_copies(evaluation.value()).across;
  // An environment that always begins equally draws no starts, so there is nothing to compare.
  if (alike > 0.5) return {};
  const double same = count_copies(training.value()).across;
  if (training.value().size() > 1) facts.same_starts = same;
  // If starts of one kind are equal by chance, those of training and evaluation are, too.
  if (std::max(alike, same) > kMostStartsAlike) return {};
  facts.evaluation_starts = share_seen(starts, training.value());
  return {};
}

double planned_rate(const Config& config, double iteration) {
  if (!(iteration >= 1.0 && iteration < kLastIteration)) return RunFacts::kNone;
  const std::int64_t steps = config.steps_before(static_cast<std::int64_t>(iteration));
  const double passed = static_cast<double>(steps) / static_cast<double>(config.schedule_steps());
  return learning_rate_schedule(config).at(passed);
}

double percentile_95(std::vector<double> values) {
  values.erase(std::remove_if(values.begin(), values.end(), [](double x) { return std::isnan(x); }),
               values.end());
  if (values.empty()) return RunFacts::kNone;
  std::sort(values.begin(), values.end());
  return values[values.size() - 1 - values.size() / 20];
}

// Adds streams from {"seed": .., "lanes": .., "streams": {name: number}}, as far as present.
void add_recorded(const Json& record, bool evaluation, std::vector<StreamUse>& uses) {
  if (!record["seed"].is_unsigned()) return;
  const std::int64_t lanes = whole_in(record, "lanes", kMostLanes);
  for (const auto& [name, number] : record["streams"].members()) {
    if (!number.is_integer()) continue;
    uses.push_back({(evaluation ? "evaluation " : "training ") + name, evaluation,
                    record["seed"].integer<std::uint64_t>(), number.integer<std::uint32_t>(),
                    lanes});
  }
}

// The same, with one seed for each key of the rows: {row: [key, ..]}.
void add_recorded_panel(const Json& record, std::vector<StreamUse>& uses) {
  for (const auto& [row, keys] : record["keys"].members()) {
    for (const Json& key : keys.elements()) {
      Json lane_record = record;
      lane_record["seed"] = key;
      add_recorded(lane_record, true, uses);
    }
  }
}

Status add_ledger(const std::string& path, std::vector<StreamUse>& uses) {
  const Result<std::string> text = text_of(path);
  if (!text.ok()) return text.status();
  if (text.value().empty()) return {};
  const Json ledger = Json::parse(text.value());
  if (!ledger.is_object()) {
    return {ErrorKind::kCorrupt, fmt::format("'{}' is damaged: it is not a JSON object", path)};
  }
  add_recorded(ledger["seeds"]["training"], false, uses);
  add_recorded(ledger["seeds"]["evaluation"], true, uses);
  add_recorded_panel(ledger["seeds"]["panel"], uses);
  return {};
}

void count_collisions(std::span<const StreamUse> uses, RunFacts& facts) {
  for (const StreamCollision& collision : find_collisions(uses)) {
    (collision.evaluation_seen() ? facts.evaluation_overlaps : facts.collisions) += 1.0;
    if (!facts.collision.empty()) continue;
    facts.collision = fmt::format("{} and {}, seed {}", collision.first->name,
                                  collision.second->name, collision.first->seed);
  }
}

// Nothing with one gradient step a block: the step's approx_kl is 0 by definition.
void add_logged_kl(const LoggedRun& logged, const Config& config, RunFacts& facts) {
  if (config.minibatch_count() * config.update_epochs <= 1) return;
  facts.logged_kl = percentile_95(logged.approx_kls);
  for (std::size_t i = 0; i < logged.approx_kls.size(); ++i) {
    const double kl = logged.approx_kls[i];
    const double iteration = logged.iterations[i];
    if (std::isnan(kl) || std::isnan(iteration) || kl <= facts.logged_kl_peak) continue;
    facts.logged_kl_peak = kl;
    facts.peak_iteration = static_cast<std::int64_t>(std::clamp(iteration, 0.0, 1e15));
  }
}

void add_logged_facts(const LoggedRun& logged, const Config& config, RunFacts& facts) {
  if (logged.iterations.empty()) return;
  facts.episode_length = logged.lengths.back();
  add_logged_kl(logged, config, facts);
  double difference = 0.0, bound = 0.0;
  for (std::size_t i = 0; i < logged.iterations.size(); ++i) {
    const double rate = logged.learning_rates[i];
    difference = std::max(difference, std::abs(rate - planned_rate(config, logged.iterations[i])));
    bound += rate <= config.adaptive_rate_min || rate >= kMostAdaptiveRate ? 1.0 : 0.0;
  }
  if (config.lr_schedule == "adaptive") {
    facts.learning_rate_bound = bound / static_cast<double>(logged.iterations.size());
  } else if (config.learning_rate > 0.0) {
    facts.learning_rate_off = difference / config.learning_rate;
  }
}

// Seeds of a log's evaluations, with the largest number of episodes of each.
Status add_evaluated(const std::string& path, std::map<std::uint64_t, int>& episodes) {
  const Result<std::vector<Json>> lines = json_lines(path, "eval");
  if (!lines.ok()) return lines.status();
  for (const Json& line : lines.value()) {
    if (!line["seed"].is_unsigned()) continue;
    int& count = episodes[line["seed"].integer<std::uint64_t>()];
    // A stopped evaluation names the episodes that it began, and `episodes` only those that ended.
    const char* const begun = line.contains("asked") ? "asked" : "episodes";
    count = std::max(count, static_cast<int>(whole_in(line, begun, kMostLanes)));
  }
  return {};
}

Status add_stream_facts(const RunFolder& folder, const Config& config, RunFacts& facts) {
  const bool alone = folder.dir().empty();
  const VecEnvOptions made = vec_env_options(config);
  std::vector<StreamUse> uses = training_streams(config.seed, made.num_envs, made.families());
  for (const AlgorithmStream& stream : algorithm_streams(config)) {
    uses.push_back({stream.name, false, config.seed, static_cast<std::uint32_t>(stream.purpose),
                    stream.per_env ? made.num_envs : kFewLanes});
  }
  std::map<std::uint64_t, int> episodes;  // of each seed of the evaluations
  if (config.eval_interval > 0) episodes[config.seed] = config.eval_episodes;
  if (!alone) {
    BROADLOOM_TRY(add_evaluated(folder.eval_path(), episodes));
    BROADLOOM_TRY(add_evaluated(folder.command_eval_path(), episodes));
  }
  for (const auto& [seed, count] : episodes) {
    for (StreamUse& use : evaluation_streams(seed, count)) uses.push_back(std::move(use));
  }
  facts.evaluation_overlaps = 0.0;
  facts.collisions = equal_first_draws(uses);
  count_collisions(uses, facts);
  if (alone) return {};
  std::vector<StreamUse> recorded;
  BROADLOOM_TRY(add_ledger(folder.ledger_line_path(), recorded));
  count_collisions(recorded, facts);
  return {};
}

}  // namespace

Result<LoggedRun> read_logged_run(const RunFolder& folder) {
  const Result<std::vector<Json>> lines = json_lines(folder.metrics_path(), "metrics");
  if (!lines.ok()) return lines.status();
  LoggedRun logged;
  for (const Json& line : lines.value()) {
    logged.iterations.push_back(number_in(line, "iteration"));
    logged.learning_rates.push_back(number_in(line, "learning_rate"));
    logged.approx_kls.push_back(number_in(line, "approx_kl"));
    logged.lengths.push_back(number_in(line, "episodic_length"));
    if (!line.contains("audit/ends")) continue;
    AuditNumbers& numbers = logged.audit.emplace_back();
    AuditNumbers::visit(numbers, [&](const NumberInfo& info, double& field) {
      field = number_in(line, info.name);
    });
  }
  return logged;
}

Result<RunFacts> facts_of(const Config& config, const RunFolder& folder, const LoggedRun& logged) {
  RunFacts facts;
  facts.num_envs = config.num_envs;
  facts.num_steps = config.num_steps;
  facts.families = config.families();
  facts.lr_schedule = config.lr_schedule;
  facts.truncation_mode = config.truncation_mode;
  facts.bootstraps = truncation_mode(config) == TruncationMode::kBootstrap;
  const Result<EnvSpec> spec =
      env_spec(config.env_id, config.env_options, config.max_episode_steps);
  if (!spec.ok()) return spec.status();
  facts.one_step = spec.value().max_episode_steps == 1;
  for (const ContextRange& range : spec.value().context) facts.context.push_back(range.name);
  const Budget budget = budget_of(config);
  facts.steps_lost = budget.steps_lost;
  facts.updates = budget.updates;
  BROADLOOM_TRY(add_starts(config, facts));
  BROADLOOM_TRY(add_panel_facts(config, folder, facts));
  add_logged_facts(logged, config, facts);
  BROADLOOM_TRY(add_stream_facts(folder, config, facts));
  return facts;
}

}  // namespace broadloom
