// Programs without devices. tests/cuda tests programs with devices.
#include "broadloom/train/device.h"
#include "broadloom/setup/resolve_config.h"

#include <gtest/gtest.h>

#include <string>

#include "broadloom/config/config.h"
#include "broadloom/train/started_run.h"
#include "broadloom/train/trainer.h"

namespace broadloom {
namespace {

Config config_on(const char* device) {
  return resolve_config({{"env_id", "CartPole-v1"}, {"device", device}}).take();
}

TEST(Devices, AreRefusedByProgramsWithoutThem) {
  const Status status = Trainer::create(config_on("cuda"), 1).status();
  EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
  for (const char* fact : {"device: got cuda", "-DBROADLOOM_CUDA=ON", "set device = cpu"}) {
    EXPECT_NE(status.message().find(fact), std::string::npos) << status.message();
  }
  EXPECT_EQ(Trainer::create(config_on("cpu"), 1).value()->device(), nullptr);
}

TEST(Devices, HaveEverybodysBits) {
  EXPECT_EQ(bits_of(config_on("cpu"), "avx2", {}), "common");
  EXPECT_EQ(bits_of(config_on("cuda"), "avx2", {}), "common");
  EXPECT_EQ(bits_of(config_on("cuda"), "sse4", {}), "own");  // the host's part of it
}

TEST(Devices, HaveBitsOfTheirOwnWhereTheyRound) {
  Config config = config_on("cuda");
  config.precision = "tf32";
  EXPECT_EQ(bits_of(config, "avx2", {}), "own");
}

}  // namespace
}  // namespace broadloom
