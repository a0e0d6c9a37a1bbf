#include "broadloom/config/config.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/setup/resolve_config.h"
#include "tests/fuzz/fuzz_target.h"

namespace {
long g_accepted = 0;
}  // namespace

std::vector<std::string> fuzz_seeds() {
  return {"env_id = \"CartPole-v1\"\nnum_envs = 8\n",
          "learning_rate = 2.5e-4\nhidden_sizes = [64, 64]\n",
          "anneal_lr = true\n[env]\nis_slippery = false\n",
          "total_timesteps = 1_000_000 # comment\nclip_vloss = false\n",
          "norm_adv = 'batch'\nactivation = \"\"\"elu\"\"\"\n",
          "env_id = \"CartPole-v1\"\nseeds = [1, 2]\n[strata.a]\nforce = [1, 2]\n"
          "[perturbations.b]\nobs_noise = 0.1\nenv.gravity = 9\n"};
}

long fuzz_accepted() { return g_accepted; }

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(data), size);
  if (broadloom::parse_panel(text, "fuzz").ok()) ++g_accepted;
  const auto overrides = broadloom::parse_toml_overrides(text, "fuzz");
  if (overrides.ok() && broadloom::resolve_config(overrides.value()).ok()) ++g_accepted;
  return 0;
}
