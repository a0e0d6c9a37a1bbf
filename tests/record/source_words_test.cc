// Names of environments' sources without what differs between installs and processes.
// sanitizers: address
#include "broadloom/record/manifest.h"

#include <gtest/gtest.h>

#include "broadloom/core/memory_limits.h"

namespace broadloom {
namespace {

TEST(SourceWords, LeaveOutVersionsAndAddresses) {
  EXPECT_EQ(source_words("gymnasium 1.4.0: make('CartPole-v1', gravity=9.5)"),
            "gymnasium: make('CartPole-v1', gravity=9.5)");
  EXPECT_EQ(source_words("gymnax 0.9.1, jax 0.4.30: CartPole"), "gymnax, jax: CartPole");
  EXPECT_EQ(source_words("Made(<f at 0x7f00ab>), <g at 0x1>"), "Made(<f>), <g>");
}

// Python's arguments may be arrays, whose text has several lines.
TEST(SourceWords, AreOneLine) {
  const std::string lines = "Own(grid=array([[0., 0.],\n       [0., 1.]]))";
  const std::string line = "Own(grid=array([[0., 0.], [0., 1.]]))";
  EXPECT_EQ(source_words(lines), line);
  EXPECT_TRUE(same_source(lines, lines));
  EXPECT_TRUE(same_source(lines, line));
  EXPECT_TRUE(same_source_text(line, lines));
  EXPECT_FALSE(same_source(lines, "Own(grid=array([[0., 0.],\n       [1., 1.]]))"));
}

// A record has all of the machine's memory, though this process may have less.
TEST(Manifest, HasTheMachinesMemory) {
  EXPECT_GT(machine_memory(), 0U);
  EXPECT_EQ(make_manifest({}, 1, 1, "baseline").memory_bytes,
            static_cast<std::int64_t>(machine_memory()));
}

// The built-in environments and most users write "library version file".
TEST(SourceWords, LeaveOutVersionsWithoutAColon) {
  EXPECT_EQ(source_words("MuJoCo Playground 0.1.0 go1/joystick.py, on biped.xml"),
            "MuJoCo Playground go1/joystick.py, on biped.xml");
  EXPECT_EQ(source_words("cart 1.0, a plug-in"), "cart, a plug-in");
  EXPECT_EQ(source_words("MySim 2.1"), "MySim");
}

TEST(SameSource, IsThatOfAnotherVersionOrOfARecordWithout) {
  EXPECT_TRUE(same_source("MySim 2.1", "MySim 2.2"));
  EXPECT_TRUE(same_source("mk(o=<Obj at 0x7f01>)", "mk(o=<Obj at 0x7f02>)"));
  EXPECT_TRUE(same_source("", "MySim 2.1"));
  EXPECT_TRUE(same_source("MySim 2.1", ""));
  EXPECT_FALSE(same_source("MySim 2.1", "YourSim 2.1"));
  EXPECT_FALSE(same_source("MySim(gravity= 2.1)", "MySim(gravity= 2.2)"));
  EXPECT_FALSE(same_source("Sim, on robot 2.1.xml", "Sim, on robot 2.2.xml"));
}

TEST(SameSourceText, DiffersInVersionsAndNotInAddresses) {
  EXPECT_TRUE(same_source_text("mk(o=<Obj at 0x7f01>)", "mk(o=<Obj at 0x7f02>)"));
  EXPECT_FALSE(same_source_text("MySim 2.1", "MySim 2.2"));
  EXPECT_FALSE(same_source_text("", "MySim 2.1"));
}

TEST(SourceWords, KeepNumbersOfArguments) {
  for (const char* words : {"", "Made(a=[1, 2.5], b={1: 2})", "make: Made(x= 0x7f, y= 3)",
                            "Sized(size=3), FlattenObservation", "library 2 without arguments",
                            "Made(x=[1, 2.5, 3.5])", "Sim, on robot 2.1.xml"}) {
    EXPECT_EQ(source_words(words), words);
  }
}

}  // namespace
}  // namespace broadloom
