#include "bridges/mujoco/worlds.h"

#include <algorithm>
#include <cstring>

#include "broadloom/core/random.h"

namespace broadloom::mujoco {

namespace {

// Lane of the parts' own factors, above the lanes of families and below those of rounds
// (env/strata_formulas.h).
constexpr std::uint32_t kPartsLane = 0x40000000u;

}  // namespace

PhysicsConstants physics_of(const double* constants) {
  PhysicsConstants physics;
  std::memcpy(static_cast<void*>(&physics), constants, sizeof(physics));
  return physics;
}

Worlds::Worlds(const WorldSetup& setup, const EnvSpec& spec, const VecEnvOptions& options)
    : setup_(setup),
      draws_{options.seed, env_streams(options.streams).strata, options.families(),
             options.strata_sampling},
      curriculum_(
          options.streams == StreamSet::kTraining ? options.curriculum : CurriculumOptions{},
          spec.strata, options.num_envs),
      count_(options.num_envs) {
  const auto count = static_cast<std::size_t>(count_);
  fields_.resize(count * setup_.fields.size());
  if (setup_.strata.empty()) return;
  drawn_.resize(count * setup_.constants.size());
  stratum_.assign(count, -1);
}

std::span<const std::byte> Worlds::drawn(int i) const {
  if (drawn_.empty()) return {};
  return std::as_bytes(std::span(row(i), setup_.constants.size()));
}

void Worlds::begin_episode(int i, std::int64_t episode) {
  if (!drawn_.empty()) {
    double* constants = &drawn_[static_cast<std::size_t>(i) * setup_.constants.size()];
    std::copy(setup_.constants.begin(), setup_.constants.end(), constants);
    if (curriculum_.empty()) {
      stratum_[i] = setup_.strata.draw(draws_, lane(i), episode, constants);
    } else {
      stratum_[i] = curriculum_.stratum(i);
      setup_.strata.draw_within(stratum_[i], draws_, lane(i), episode, constants);
    }
  }
  if (fields_.empty()) return;
  Random random(draws_.seed, draws_.purpose, kPartsLane | lane(i),
                static_cast<std::uint64_t>(episode));
  setup_.fields.draw(physics_of(row(i)), random,
                     &fields_[static_cast<std::size_t>(i) * setup_.fields.size()]);
}

void Worlds::episode_ended(int i, bool success, std::int64_t episode) {
  if (curriculum_.empty()) return;
  curriculum_.episode_ended(
      i, success,
      Random(draws_.seed, Purpose::kCurriculum, lane(i), static_cast<std::uint64_t>(episode)));
}

void Worlds::set(int i, mjModel& model) const {
  if (fields_.empty()) return;
  setup_.fields.set(&fields_[static_cast<std::size_t>(i) * setup_.fields.size()], model);
}

void Worlds::append_state(const std::string& prefix, std::vector<TensorRef>& out) {
  const auto add = [&](const char* name, Dtype dtype, std::size_t width, void* data) {
    out.push_back(
        {prefix + name, dtype, {count_, static_cast<std::int64_t>(width)}, data, {kFiniteRange}});
  };
  curriculum_.append_state(prefix, out);
  const auto last = static_cast<double>(setup_.strata.all().size()) - 1.0;
  if (!fields_.empty()) add(".fields", Dtype::kF64, setup_.fields.size(), fields_.data());
  if (drawn_.empty()) return;
  out.push_back({prefix + ".stratum", Dtype::kI32, {count_}, stratum_.data(), {{0.0, last}}});
  add(".constants", Dtype::kF64, setup_.constants.size(), drawn_.data());
}

}  // namespace broadloom::mujoco
