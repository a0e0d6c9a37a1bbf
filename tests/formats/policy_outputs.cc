// Prints the outputs of a checkpoint's policy, for checkpoint_page_test.py.
//
// usage: policy_outputs CHECKPOINT < observations
// Input line: D numbers as the environment gives them. Output line: the policy's outputs (logits or
// means), then the value.
#include <fmt/format.h>

#include <iostream>
#include <vector>

#include "broadloom/train/checkpoint.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

void print_outputs(const Trainer& trainer, std::vector<float> observation) {
  const ActorCritic& network = trainer.network();
  if (const ObsNormalizer* normalizer = trainer.obs_normalizer())
    normalizer->normalize(observation.data(), 1, observation.data());
  TileWorkspace<float> work = network.make_workspace<float>();
  network.forward(trainer.params(), observation.data(), 1, work);
  for (int a = 0; a < network.shape().action_outputs; ++a)
    fmt::print("{} ", work.policy[static_cast<std::size_t>(a) * kTileRows]);
  fmt::print("{}\n", work.values[0]);
}

Status answer(const std::string& path) {
  const Result<Checkpoint> checkpoint = read_checkpoint(path);
  if (!checkpoint.ok()) return checkpoint.status();
  const Result<std::unique_ptr<Trainer>> trainer = Trainer::create(checkpoint.value().config, 1);
  if (!trainer.ok()) return trainer.status();
  BROADLOOM_TRY(restore(checkpoint.value(), *trainer.value()));
  std::vector<float> row(static_cast<std::size_t>(trainer.value()->spec().observation_size()));
  for (std::size_t d = 0; std::cin >> row[d];) {
    if (++d < row.size()) continue;
    print_outputs(*trainer.value(), row);
    d = 0;
  }
  return {};
}

}  // namespace
}  // namespace broadloom

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  const broadloom::Status status = broadloom::answer(argv[1]);
  if (!status.ok()) fmt::print(stderr, "{}\n", status.message());
  return status.ok() ? 0 : 1;
}
