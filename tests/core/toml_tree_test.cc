// sanitizers: address
// TOML that is made to bring the program down.
#include "broadloom/core/toml_tree.h"

#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>

namespace broadloom {
namespace {

std::string dotted(int parts) {
  std::string key = "a";
  for (int i = 1; i < parts; ++i) key += ".a";
  return key;
}

// Tables within each other are destroyed within each other, on the stack.
TEST(TomlTree, RefusesKeysOfTooManyParts) {
  const std::string deep = dotted(200000);
  std::string nested = "x=1";
  for (int i = 0; i < 20; ++i) nested = dotted(10) + "={" + nested + "}";
  for (const std::string& text :
       {deep + " = 1", "[" + deep + "]\nx = 1", "# it's\nb = '#'\n" + deep + "=1", nested,
        "b = {c = \"\"\"it is \"\"\"\"\", " + deep + " = 1}",
        "b = {c = ''''it''''', " + deep + " = 1}", "b = {c = \"\\\\\", " + deep + " = 1}",
        "b = \"\"\"\n\\\n\"\"\"\n" + deep + " = 1"}) {
    const Status status = parse_toml(text, "f.toml").status();
    EXPECT_EQ(status.kind(), ErrorKind::kInvalidConfig);
    EXPECT_NE(status.message().find("too many parts"), std::string::npos)
        << status.message() << " for " << text.substr(0, 60);
  }
}

TEST(TomlTree, NamesTheLineOfSuchAKey) {
  const Status status =
      parse_toml("a = 1\nb = \"\"\"\nx\\\ny\n\"\"\"\n" + dotted(100) + " = 1", "f.toml").status();
  EXPECT_EQ(status.message().substr(0, 10), "f.toml:6: ") << status.message();
}

TEST(TomlTree, ReadsDotsThatAreNoParts) {
  std::string numbers = "1.5", points(1000, '.');
  for (int i = 0; i < 1000; ++i) numbers += i % 10 == 0 ? ",\n1.5" : ", 1.5";
  for (const std::string& text :
       {std::string("a.b.c = 1"), "x = [" + numbers + "]", "x = \"" + points + "\"",
        "x = '" + points + "'", "x = 1 # " + points, "x = \"\"\"\n" + points + "\n\"\"\"",
        "[" + dotted(30) + "]\n" + dotted(30) + " = 1"}) {
    const Result<TomlNode> tree = parse_toml(text, "f.toml");
    EXPECT_TRUE(tree.ok()) << tree.status().message();
  }
}

TEST(TomlTree, FindsPathsBesideTheFile) {
  const std::filesystem::path folder = std::filesystem::temp_directory_path() /
                                       ("broadloom_toml_paths_" + std::to_string(::getpid()));
  std::filesystem::create_directories(folder / "inner");
  std::ofstream(folder / "robot.xml") << "x";
  const std::string file = folder / "inner" / "run.toml", here = folder.string();
  EXPECT_EQ(path_in(file, "../robot.xml"), here + "/inner/../robot.xml");
  EXPECT_EQ(path_in(here + "/run.toml", "./robot.xml"), here + "/robot.xml");
  EXPECT_EQ(path_in(file, "./robot.xml"), "./robot.xml") << "nothing is there";
  EXPECT_EQ(path_in(here + "/run.toml", "robot.xml"), "robot.xml") << "no path by its beginning";
  EXPECT_EQ(path_in("run.toml", "./robot.xml"), "./robot.xml");
  const TomlNode tree =
      parse_toml("a = './robot.xml'\nb = ['./robot.xml', '.']\nc = 1", "f").take();
  EXPECT_EQ(value_text(*tree.find("a"), here + "/run.toml"), here + "/robot.xml");
  EXPECT_EQ(value_text(*tree.find("b"), here + "/run.toml"), here + "/robot.xml,.");
  EXPECT_EQ(value_text(*tree.find("c"), here + "/run.toml"), "1");
  // A relative folder stays one, and models' paths begin with a dot.
  const std::filesystem::path before = std::filesystem::current_path();
  std::filesystem::current_path(folder.parent_path());
  EXPECT_EQ(path_in(folder.filename() / "run.toml", "./robot.xml"),
            "./" + (folder.filename() / "robot.xml").string());
  std::filesystem::current_path(before);
  std::filesystem::remove_all(folder);
}

TEST(TomlTree, DoesNotWaitForAPipe) {
  const std::string path = std::filesystem::temp_directory_path() /
                           ("broadloom_toml_pipe_" + std::to_string(::getpid()));
  ASSERT_EQ(::mkfifo(path.c_str(), 0644), 0);
  const Status status = read_toml(path, "config file").status();
  std::filesystem::remove(path);
  EXPECT_EQ(status.kind(), ErrorKind::kIo);
  EXPECT_NE(status.message().find("is a pipe"), std::string::npos) << status.message();
}

TEST(TomlTree, AdvisesQuotesForABareText) {
  const auto error = [](const std::string& text) {
    return parse_toml(text, "f.toml").status().message();
  };
  EXPECT_EQ(error("seed = 1\nenv_id = CartPole-v1   # the task\n"),
            "f.toml:2: env_id: got CartPole-v1, expected a text in quotes: env_id = "
            "\"CartPole-v1\"");
  EXPECT_NE(error("out = /tmp/run").find("out = \"/tmp/run\""), std::string::npos);
  EXPECT_EQ(error("norm_obs = True"),
            "f.toml:1: norm_obs: got True, expected true, without a capital");
  EXPECT_EQ(error("instruments = [gns, shadow]"),
            "f.toml:1: instruments: got [gns, shadow], expected each text in quotes, as in "
            "[\"a\", \"b\"]");
  EXPECT_NE(error("seed = \n").find("not valid TOML"), std::string::npos);
  EXPECT_NE(error("a = true\na = true\n").find("cannot redefine"), std::string::npos);
  EXPECT_NE(error("a = \"x\n").find("not valid TOML"), std::string::npos);
  EXPECT_NE(error("no key here").find("not valid TOML"), std::string::npos);
}

}  // namespace
}  // namespace broadloom
