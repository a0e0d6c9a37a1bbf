// Names of environments' sources without what differs between installs and processes.
// sanitizers: address
#include "broadloom/record/manifest.h"

#include <gtest/gtest.h>

namespace broadloom {
namespace {

TEST(SourceWords, LeaveOutVersionsAndAddresses) {
  EXPECT_EQ(source_words("gymnasium 1.4.0: make('CartPole-v1', gravity=9.5)"),
            "gymnasium: make('CartPole-v1', gravity=9.5)");
  EXPECT_EQ(source_words("gymnax 0.9.1, jax 0.4.30: CartPole"), "gymnax, jax: CartPole");
  EXPECT_EQ(source_words("Made(<f at 0x7f00ab>), <g at 0x1>"), "Made(<f>), <g>");
}

TEST(SourceWords, KeepNumbersOfArguments) {
  for (const char* words : {"", "Made(a=[1, 2.5], b={1: 2})", "make: Made(x= 0x7f, y= 3)",
                            "Sized(size=3), FlattenObservation", "library 2 without arguments"}) {
    EXPECT_EQ(source_words(words), words);
  }
}

}  // namespace
}  // namespace broadloom
