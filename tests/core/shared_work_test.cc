#include "broadloom/core/shared_work.h"

#include <gtest/gtest.h>

#include <vector>

#include "broadloom/core/thread_pool.h"

namespace broadloom {
namespace {

// Every thread of a section comes to the work, some of them again and again.
TEST(SharedWork, IsDoneOnceAndWholeBeforeAnyoneGoesOn) {
  for (const int threads : {1, 2, 3, 8}) {
    ThreadPool pool(threads);
    SharedWork work;
    for (int section = 0; section < 1000; ++section) {
      const int parts = section % 13;
      std::vector<int> runs(13, 0);  // plain ints: a part taken twice is a race that TSan sees
      std::vector<int> seen(16, -1);
      work.reset(parts);
      pool.run(16, [&](int task) {
        work.finish([&](int part) { ++runs[part]; });
        int sum = 0;
        for (const int run : runs) sum += run;
        seen[task] = sum;
      });
      for (int part = 0; part < 13; ++part) ASSERT_EQ(runs[part], part < parts ? 1 : 0);
      ASSERT_EQ(seen, std::vector<int>(16, parts));
    }
  }
}

TEST(SharedWork, IsNothingBeforeItIsSet) {
  SharedWork work;
  work.finish([](int) { FAIL(); });
}

}  // namespace
}  // namespace broadloom
