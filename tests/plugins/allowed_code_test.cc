// Code named only by a file is not loaded (broadloom/env/plugins/allowed_code.h).
#include "broadloom/env/plugins/allowed_code.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <string>

#include "broadloom/env/tasks/registry.h"
#include "broadloom/evaluate/panel.h"
#include "broadloom/setup/resolve_config.h"
#include "tests/support/folders.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

bool says(const Status& status, const std::string& words) {
  return status.message().find(words) != std::string::npos;
}

// A library that is not allowed, in its own folder.
class AllowedCode : public testing::Test {
 protected:
  void SetUp() override {
    const char* name = testing::UnitTest::GetInstance()->current_test_info()->name();
    folder_ = fs::path(testing::TempDir()) / ("allowed_code_" + std::string(name));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "below");
    for (const char* file : {"libwalk.so", "below/libwalk.so"}) {
      fs::copy_file(fs::path(test_plugin_folder()) / "libwalk.so", folder_ / file);
    }
    ::unsetenv(kPluginPathVariable);
  }
  void TearDown() override {
    ::unsetenv(kPluginPathVariable);
    fs::remove_all(folder_);
  }

  std::string at(const std::string& file) const { return (folder_ / file).string(); }
  static std::string id_of(const std::string& path) { return "plugin:" + path + ":Walk-v0"; }
  static Status open(const std::string& path) { return env_spec(id_of(path), {}).status(); }

  // Whether the library is loaded into this process.
  static bool is_loaded(const std::string& path) {
    std::ifstream maps("/proc/self/maps");
    const std::string text{std::istreambuf_iterator<char>(maps), {}};
    return text.find(fs::canonical(path).string()) != std::string::npos;
  }

  fs::path folder_;
};

TEST_F(AllowedCode, LoadsNothingNamedOnlyByAFile) {
  const std::string path = at("libwalk.so"), id = id_of(path);
  const Status refusals[] = {open(path), resolve_config({{"env_id", id}}).status(),
                             list_env_options(id).status(),
                             parse_panel("env_id = \"" + id + "\"\n", "panel").status()};
  for (const Status& refused : refusals) {
    EXPECT_EQ(refused.kind(), ErrorKind::kInvalidConfig);
    EXPECT_TRUE(says(refused, "add --allow_plugin " + path)) << refused.message();
  }
  EXPECT_FALSE(is_loaded(path));
}

TEST_F(AllowedCode, AllowsAFileOrItsFolderByName) {
  EXPECT_TRUE(allow_code(at("libwalk.so")).ok());
  EXPECT_TRUE(open(at("libwalk.so")).ok());
  EXPECT_TRUE(open(at("below/../libwalk.so")).ok());  // the same file
  EXPECT_FALSE(open(at("below/libwalk.so")).ok());
  EXPECT_TRUE(allow_code(at("below")).ok());
  EXPECT_TRUE(open(at("below/libwalk.so")).ok());
}

// Subfolders may hold runs from others.
TEST_F(AllowedCode, AllowsFilesInFoldersOfTheVariable) {
  ::setenv(kPluginPathVariable, ("nowhere::" + folder_.string()).c_str(), 1);
  EXPECT_TRUE(open("libwalk.so").ok());
  EXPECT_TRUE(open(at("libwalk.so")).ok());
  EXPECT_FALSE(open("below/libwalk.so").ok());
  EXPECT_FALSE(open(at("below/libwalk.so")).ok());
  EXPECT_EQ(allow_flag(id_of(at("libwalk.so"))), "");
  EXPECT_EQ(allow_flag(id_of(at("below/libwalk.so"))), " --allow_plugin " + at("below/libwalk.so"));
}

TEST_F(AllowedCode, AllowsCodeInGivenSettings) {
  const std::string path = at("libwalk.so");
  allow_settings({{"seed", "1"}, {"env.map", path}});
  EXPECT_FALSE(open(path).ok());  // allowed only as an option's value
  EXPECT_TRUE(check_option_allowed("map", path).ok());
  EXPECT_TRUE(says(check_option_allowed("map", at("below")), "env.map: '"));
  allow_settings({{"env_id", id_of(path)}});
  EXPECT_TRUE(open(path).ok());
}

TEST_F(AllowedCode, ChecksOptionsThatNameCode) {
  ASSERT_TRUE(allow_code(test_plugin_folder()).ok());
  const std::string id = "plugin:" + test_plugin_folder() + "/libfaulty.so:Wants-v0";
  const auto status = [&](const std::string& library) {
    return env_spec(id, {{"wait", "5"}, {"library", library}}).status();
  };
  EXPECT_TRUE(status("").ok());
  EXPECT_TRUE(says(status(at("libwalk.so")), "env.library: '" + at("libwalk.so")))
      << status("x").message();
  ASSERT_TRUE(allow_code(at("libwalk.so")).ok());
  EXPECT_TRUE(status(at("libwalk.so")).ok());
}

TEST_F(AllowedCode, TreatsPythonPackagesAsNamespaces) {
  EXPECT_TRUE(says(check_namespace_allowed("gymnasium"), "add --allow_plugin gymnasium"));
  allow_settings({{"env_id", "gymnasium/CartPole-v1"}});
  EXPECT_TRUE(check_namespace_allowed("gymnasium").ok());
  EXPECT_EQ(allow_flag("warp/Hopper-v5"), " --allow_plugin warp");
  EXPECT_FALSE(check_namespace_allowed("envpool").ok());
  EXPECT_TRUE(allow_code("envpool").ok());
  EXPECT_TRUE(check_namespace_allowed("envpool").ok());
}

TEST_F(AllowedCode, NamesWhatDoesNotExist) {
  EXPECT_EQ(allow_code(at("libnone.so")).kind(), ErrorKind::kNotFound);
  EXPECT_EQ(allow_code("").kind(), ErrorKind::kNotFound);
}

// Users copy the flag into a shell.
TEST_F(AllowedCode, QuotesTheFlagForAShell) {
  fs::copy_file(at("libwalk.so"), at("a b;c.so"));
  EXPECT_TRUE(says(open(at("a b;c.so")), "--allow_plugin '" + at("a b;c.so") + "'"));
}

}  // namespace
}  // namespace broadloom
