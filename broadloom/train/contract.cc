#include "broadloom/train/contract.h"

#include <fmt/format.h>

#include <map>
#include <memory>

#include "broadloom/config/budget.h"
#include "broadloom/core/number_text.h"
#include "broadloom/env/disturbance.h"
#include "broadloom/env/simulator_call.h"
#include "broadloom/env/strata.h"
#include "broadloom/env/tasks/asked_frames.h"
#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/policy.h"
#include "broadloom/setup/algorithms.h"
#include "broadloom/setup/group_shapes.h"
#include "broadloom/setup/network_shape.h"
#include "broadloom/setup/settings.h"
#include "broadloom/setup/simulator.h"

namespace broadloom {
namespace {

// The environment must have checked the keys.
std::vector<RolloutContract::Stratum> strata_of(const Overrides& env_options) {
  std::map<std::string, RolloutContract::Stratum> by_name;
  std::map<std::string, double> weights;
  double sum = 0.0;
  for (const auto& [key, text] : env_options) {
    if (!is_strata_key(key)) continue;
    const StrataKey parts = split_strata_key(key);
    by_name[parts.stratum].name = parts.stratum;
    weights.try_emplace(parts.stratum, 1.0);
    if (parts.field == "weight") {
      (void)parse_text(text, weights[parts.stratum]).ok();
    } else {
      by_name[parts.stratum].ranges.emplace_back(parts.field, text);
    }
  }
  for (const auto& [name, weight] : weights) sum += weight;
  std::vector<RolloutContract::Stratum> out;
  for (auto& [name, stratum] : by_name) {
    stratum.share = weights[name] / sum;
    out.push_back(std::move(stratum));
  }
  return out;
}

Overrides disturbances_of(const Overrides& env_options) {
  Overrides out;
  for (const auto& [key, text] : env_options) {
    if (is_disturbance_key(key)) out.emplace_back(key.substr(key.find('.') + 1), text);
  }
  return out;
}

RolloutContract::Observed observed(const Space& space) {
  return {space.dtype == Dtype::kU8 ? "uint8" : "float32", space.extents(), space.full_scale(),
          space.frames};
}

std::string scale_text(const RolloutContract::Observed& observed) {
  if (observed.dtype != "uint8") return "";
  if (observed.full_scale == 1.0f) return ", each 0 or 1";
  return fmt::format(", which networks read divided by {:g}", observed.full_scale);
}

std::string history_text(const RolloutContract::Observed& observed) {
  return observed.frames == 1 ? "" : fmt::format(", the last {} observations", observed.frames);
}

std::string frames_text(const RolloutContract::Observed& observed) {
  if (observed.frames == 1 || observed.dtype != "uint8") return history_text(observed);
  return fmt::format(", the last {} frames, each of which the block stores once", observed.frames);
}

std::vector<RolloutContract::Group> groups_of(const Config& config, const EnvSpec& spec) {
  std::vector<RolloutContract::Group> out;
  const std::vector<GroupShape> shapes = group_shapes(config, spec);
  const std::vector<int> frames = group_frames(config.env_id, config.env_options, spec);
  for (std::size_t g = 0; g < shapes.size(); ++g) {
    const ObservationGroup& group = spec.observation.groups[g];
    const char* const dtype = group.dtype == Dtype::kU8    ? "uint8"
                              : group.dtype == Dtype::kI64 ? "int64"
                                                           : "float32";
    out.push_back({group.name,
                   {dtype, group.shape, group.full_scale, frames[g]},
                   layers_text(shapes[g]),
                   shapes[g].policy,
                   shapes[g].critic});
  }
  return out;
}

std::string group_text(const RolloutContract::Group& group) {
  return fmt::format("  {:<16} {} of shape ({}){}, {}, for {}\n", group.name, group.observed.dtype,
                     fmt::join(group.observed.shape, ", "), history_text(group.observed),
                     group.layers,
                     group.policy && group.critic ? "policy and critic"
                     : group.policy               ? "the policy alone"
                                                  : "the critic alone");
}

// Describes observations that are not one row of D float32.
std::string observations_text(const RolloutContract& c) {
  std::string out;
  if (c.observation) {
    out += fmt::format("Observations: {} of shape ({}){}{}\n", c.observation->dtype,
                       fmt::join(c.observation->shape, ", "), scale_text(*c.observation),
                       frames_text(*c.observation));
  }
  if (!c.groups.empty()) out += "Observations in groups:\n";
  for (const RolloutContract::Group& group : c.groups) out += group_text(group);
  if (!c.critic_observation) return out;
  return out + fmt::format("The critic reads observations of its own: {} of shape ({}){}\n",
                           c.critic_observation->dtype,
                           fmt::join(c.critic_observation->shape, ", "),
                           scale_text(*c.critic_observation));
}

std::string percent(double share) { return fmt::format("{:g} %", 100.0 * share); }

std::string strata_text(const RolloutContract& contract) {
  std::string out = contract.strata_sampling;
  for (const RolloutContract::Stratum& stratum : contract.strata) {
    out += fmt::format("; {} {:.0f} %", stratum.name, 100.0 * stratum.share);
    for (const auto& [name, range] : stratum.ranges) out += fmt::format(", {} {}", name, range);
  }
  return out;
}

std::string curriculum_text(const CurriculumOptions& curriculum) {
  const std::string rule =
      curriculum.episodes == 1 && curriculum.down > 0.0 && curriculum.up > 0.0
          ? "up or down by each episode"
          : fmt::format("up from {}, down below {} of {} episodes", percent(curriculum.up),
                        percent(curriculum.down), curriculum.episodes);
  return fmt::format("Curriculum: {}; {}; evaluation draws by the strata's shares\n",
                     fmt::join(curriculum.levels, ", "), rule);
}

// Sizes differ by at most one. One number if they are equal.
std::string sizes_text(const RolloutContract& c) {
  const std::int64_t smallest = c.batch_size / c.minibatches;
  const std::string larger = with_commas(c.minibatch_size);
  return smallest == c.minibatch_size ? larger : with_commas(smallest) + " or " + larger;
}

// A note if minibatch_size does not divide the block.
std::string minibatch_text(const RolloutContract& c) {
  if (c.minibatch_size_asked == 0 || c.batch_size % c.minibatch_size_asked == 0) return "";
  return fmt::format(
      "Note: minibatch_size = {0} was asked for, which does not divide the block of {1}: each "
      "epoch has {2} minibatches of {3} samples instead, the fewest of at most {0}\n",
      with_commas(c.minibatch_size_asked), with_commas(c.batch_size), with_commas(c.minibatches),
      sizes_text(c));
}

std::vector<RolloutContract::Shape> shapes_of(const Config& config) {
  std::vector<RolloutContract::Shape> out;
  if (config.shape_schedule.empty()) return out;
  for (const Stretch& stretch : config.run_stretches()) {
    const Config now = config.of_phase(stretch.phase);
    out.push_back({stretch.first_step, stretch.blocks, now.num_envs, now.num_steps,
                   now.minibatch_count(), now.largest_minibatch()});
  }
  return out;
}

std::string shapes_text(const RolloutContract& c) {
  std::string out;
  for (const RolloutContract::Shape& shape : c.shapes) {
    out += fmt::format(
        "From step {}: {} updates with T = {}, N = {}, and {} minibatches of up to {} samples\n",
        with_commas(shape.first_step), with_commas(shape.iterations), shape.num_steps,
        shape.num_envs, with_commas(shape.minibatches), with_commas(shape.minibatch_size));
  }
  return out;
}

std::string memory_text(const RolloutContract& contract) {
  const MemoryPlan& memory = contract.memory;
  const double block = static_cast<double>(memory.block + memory.permutation);
  std::int64_t most = contract.batch_size;
  for (const RolloutContract::Shape& shape : contract.shapes) {
    most = std::max(most, std::int64_t{shape.num_envs} * shape.num_steps);
  }
  std::string out = fmt::format(
      "{:.1f} MB planned for arrays of the run, including {:.1f} MB for the block ({:.0f} bytes "
      "per sample)",
      memory.total() * 1e-6, block * 1e-6, block / most);
  if (contract.memory_allowed != 0) {
    out += fmt::format("; {:.0f} MB allowed", contract.memory_allowed * 1e-6);
  }
  // Explains why the process's peak memory is larger than the plan.
  return out + "; the program itself takes some MB more";
}

std::string ranks_text(const RankPlan& plan) {
  if (plan.ranks == 1) return "";
  std::string out = fmt::format("Ranks: {}", plan.ranks);
  if (plan.collecting_ranks < plan.ranks)
    out += fmt::format(", of which {} collect", plan.collecting_ranks);
  if (plan.gradient_ranks < plan.ranks) {
    out += fmt::format(", {} {} at gradients", plan.gradient_ranks,
                       plan.gradient_ranks == 1 ? "works" : "work");
  }
  return out +
         fmt::format(
             "; each has the whole block, and receives up to {:.2f} MB per iteration: {:.2f} of "
             "the block and its statistics, {:.2f} of {} gradients\n",
             plan.received() * 1e-6, (plan.block + plan.statistics) * 1e-6, plan.gradient * 1e-6,
             with_commas(plan.gradients));
}

}  // namespace

std::string recorded_upstream(const EnvSpec& spec) {
  return is_named_by_source(spec) ? spec.upstream : "";
}

Result<RolloutContract> make_contract(const Config& config, int threads, int ranks) {
  const Result<std::unique_ptr<VecEnv>> made = make_one_env(config);
  if (!made.ok()) return made.status();
  VecEnv& one = *made.value();
  BROADLOOM_TRY(check_fits(config, one));
  BROADLOOM_TRY(check_ranks(one, ranks));
  RolloutContract contract;
  contract.simulator = one.traits();
  contract.can_begin_anew = one.can_begin_anew();
  contract.env_id = config.env_id;
  contract.num_steps = config.num_steps;
  contract.num_envs = config.num_envs;
  contract.observation_size = one.spec().observation_size();
  contract.reward_terms = one.spec().reward_terms;
  contract.commands = one.spec().commands;
  contract.terrain = one.spec().terrain;
  contract.upstream = recorded_upstream(one.spec());
  contract.engine = one.spec().engine;
  const Space& seen = one.spec().observation;
  if (seen.dtype != Dtype::kF32 || !seen.shape.empty() || seen.frames > 1) {
    contract.observation = observed(seen);
  }
  contract.groups = groups_of(config, one.spec());
  const Space& critic = critic_space(config, one.spec());
  if (critic.size > 0) contract.critic_observation = observed(critic);
  contract.batch_size = config.batch_size();
  contract.minibatches = config.minibatch_count();
  contract.minibatch_size = config.largest_minibatch();
  contract.minibatch_size_asked = config.minibatch_size;
  contract.update_epochs = config.update_epochs;
  contract.iterations = config.num_iterations();
  contract.shapes = shapes_of(config);
  contract.gradient_steps = config.gradient_steps();
  contract.most_envs = config.most_envs();
  contract.seed = config.seed;
  contract.families = config.families();
  contract.most_families = config.seed_families > 0 ? config.seed_families : config.most_envs();
  contract.envs_per_family = config.num_envs / config.families();
  contract.eval_episodes = config.eval_episodes;
  contract.strata = strata_of(config.env_options);
  contract.strata_sampling = config.strata_sampling;
  contract.curriculum = curriculum_options(config);
  contract.disturbances = disturbances_of(config.env_options);
  contract.threads = threads;
  contract.ranks = plan_ranks(config, ranks, one);
  BROADLOOM_TRY(
      with_simulator_errors([&] { contract.memory = plan_memory(config, threads, one, ranks); }));
  contract.memory_allowed = memory_allowed(config);
  contract.besides = extra_steps_text(config);
  contract.budget = budget_warning(config);
  return contract;
}

std::string contract_text(const RolloutContract& c) {
  std::string out;
  out += fmt::format("Block (T, N, D) = ({}, {}, {}): {} samples per update, {} update{}\n",
                     c.num_steps, c.num_envs, c.observation_size, with_commas(c.batch_size),
                     with_commas(c.iterations), c.iterations == 1 ? "" : "s");
  out += observations_text(c);
  out +=
      fmt::format("Update: {} epoch{} of {} minibatch{} of {} samples; {} gradient step{} in all\n",
                  c.update_epochs, c.update_epochs == 1 ? "" : "s", with_commas(c.minibatches),
                  c.minibatches == 1 ? "" : "es", sizes_text(c), with_commas(c.gradient_steps),
                  c.gradient_steps == 1 ? "" : "s");
  out += minibatch_text(c);
  out += shapes_text(c);
  if (!c.besides.empty()) out += c.besides + "\n";
  if (c.envs_per_family > 1) {
    out += fmt::format(
        "Seed families: {}, with {} environments in each, which draw the same random numbers\n",
        with_commas(c.families), with_commas(c.envs_per_family));
  }
  if (!c.strata.empty()) out += fmt::format("Strata: {}\n", strata_text(c));
  if (!c.curriculum.levels.empty()) out += curriculum_text(c.curriculum);
  for (std::size_t i = 0; i < c.disturbances.size(); ++i) {
    const auto& [name, value] = c.disturbances[i];
    out += fmt::format("{}{} {}", i == 0 ? "Disturbed by: " : ", ", name, value);
  }
  if (!c.disturbances.empty()) out += "\n";
  if (!c.engine.empty()) out += fmt::format("Stepped by {}\n", c.engine);
  for (const std::string& limit : simulator_limits(c.simulator, c.can_begin_anew)) {
    out += fmt::format("Simulator: {}\n", limit);
  }
  out += ranks_text(c.ranks);
  out += fmt::format("Seed: {}. Threads: {}. Memory: {}\n", c.seed, c.threads, memory_text(c));
  if (!c.budget.empty()) out += c.budget + "\n";
  return out;
}

}  // namespace broadloom
