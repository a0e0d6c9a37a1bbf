#include "broadloom/core/available_cores.h"

#include <gtest/gtest.h>
#include <sched.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "broadloom/core/memory_limits.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

class Quotas : public testing::Test {
 protected:
  Quotas()
      : mounts_(fs::temp_directory_path() / ("broadloom_quotas_" + std::to_string(::getpid()))) {}
  ~Quotas() override { fs::remove_all(mounts_); }

  void write(const std::string& file, const std::string& text) {
    fs::create_directories((mounts_ / file).parent_path());
    std::ofstream(mounts_ / file) << text;
  }
  double quota(const std::string& control_groups) {
    return quota_cores(control_groups, mounts_.string());
  }

  fs::path mounts_;
};

TEST_F(Quotas, Version2IsTheSmallestUpToTheRoot) {
  EXPECT_EQ(quota("0::/user/mine\n"), HUGE_VAL);
  write("user/mine/cpu.max", "max 100000\n");
  EXPECT_EQ(quota("0::/user/mine\n"), HUGE_VAL);
  write("user/cpu.max", "150000 100000\n");
  EXPECT_EQ(quota("0::/user/mine\n"), 1.5);
  write("user/mine/cpu.max", "400000 100000\n");
  EXPECT_EQ(quota("0::/user/mine\n"), 1.5);
  write("cpu.max", "50000 100000\n");
  EXPECT_EQ(quota("0::/user/mine\n"), 0.5);
  EXPECT_EQ(quota("0::/\n"), 0.5);
  EXPECT_EQ(quota("0::/of/the/host\n"), 0.5);  // a container sees its own group as the root
}

TEST_F(Quotas, Version1HasAFolderForItsControllers) {
  const std::string groups = "5:memory:/mine\n4:cpu,cpuacct:/mine\n1:name=systemd:/mine\n0::/\n";
  write("cpu,cpuacct/mine/cpu.cfs_quota_us", "-1\n");
  write("cpu,cpuacct/mine/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(quota(groups), HUGE_VAL);
  write("cpu,cpuacct/mine/cpu.cfs_quota_us", "250000\n");
  EXPECT_EQ(quota(groups), 2.5);
}

TEST_F(Quotas, WhatCannotBeReadSetsNone) {
  write("cpu.max", "nonsense\n");
  for (const char* groups : {"", "\n", "0", "0:", "0::", "0::relative\n", ":::::\n"}) {
    EXPECT_EQ(quota(groups), HUGE_VAL) << groups;
  }
  EXPECT_EQ(quota("0::/\n"), HUGE_VAL);
  write("cpu.max", "0 100000\n");
  EXPECT_EQ(quota("0::/\n"), HUGE_VAL);
}

TEST_F(Quotas, MemoryIsTheSmallestUpToTheRoot) {
  const auto memory = [&](const std::string& groups) {
    return group_memory(groups, mounts_.string());
  };
  EXPECT_EQ(memory("0::/jobs/mine\n"), HUGE_VAL);
  write("jobs/mine/memory.max", "max\n");
  EXPECT_EQ(memory("0::/jobs/mine\n"), HUGE_VAL);
  write("jobs/memory.max", "3000\n");
  write("memory.max", "5000\n");
  EXPECT_EQ(memory("0::/jobs/mine\n"), 3000.0);
  EXPECT_EQ(memory("0::/\n"), 5000.0);
  write("memory/mine/memory.limit_in_bytes", "2000\n");
  EXPECT_EQ(memory("5:memory:/mine\n"), 2000.0);
}

TEST(MemoryLimits, AreThoseThatAreSetTheSmallestFirst) {
  EXPECT_TRUE(memory_limits({}).empty());
  const std::vector<MemoryLimit> limits =
      memory_limits({.machine = 64e9, .group = 9223372036854771712.0, .address_space = 5e8});
  ASSERT_EQ(limits.size(), 2u);
  EXPECT_EQ(limits[0].text(), "ulimit -v allows 500.0 MB");
  EXPECT_FALSE(limits[0].is_shared);
  EXPECT_EQ(limits[1].text(), "this machine has 64.0 GB");
  EXPECT_TRUE(limits[1].is_shared);
  EXPECT_EQ(memory_limits({.machine = 64e9, .group = HUGE_VAL, .data = 2e9})[0].text(),
            "ulimit -d allows 2.0 GB");
  EXPECT_EQ(memory_limits({.machine = 64e9, .group = 4e9})[0].text(),
            "the control group allows 4.0 GB");
}

TEST(MemoryLimits, HoldTheMachinesMemory) {
  const std::vector<MemoryLimit> limits = memory_limits();
  const auto machine = std::find_if(limits.begin(), limits.end(), [](const MemoryLimit& limit) {
    return limit.text().starts_with("this machine has");
  });
  ASSERT_NE(machine, limits.end());
  EXPECT_EQ(machine->bytes, machine_memory());
}

TEST(AvailableCores, AreThoseThatThisProcessMayRunOn) {
  const int all = available_cores();
  EXPECT_GE(all, 1);
  EXPECT_LE(all, static_cast<int>(std::thread::hardware_concurrency()));
  cpu_set_t before;
  ASSERT_EQ(sched_getaffinity(0, sizeof(before), &before), 0);
  cpu_set_t one;
  CPU_ZERO(&one);
  for (int core = 0; core < CPU_SETSIZE && CPU_COUNT(&one) == 0; ++core) {
    if (CPU_ISSET(core, &before)) CPU_SET(core, &one);
  }
  ASSERT_EQ(sched_setaffinity(0, sizeof(one), &one), 0);
  EXPECT_EQ(available_cores(), 1);
  sched_setaffinity(0, sizeof(before), &before);
}

}  // namespace
}  // namespace broadloom
