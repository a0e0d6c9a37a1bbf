// A folder for one test, removed afterwards.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <string>

namespace broadloom {

class InFolder : public ::testing::Test {
 protected:
  InFolder() { std::filesystem::create_directories(dir_); }
  ~InFolder() override {
    std::error_code ignored;
    std::filesystem::remove_all(dir_, ignored);
  }
  std::string at(const std::string& name) const { return (dir_ / name).string(); }

 private:
  std::filesystem::path dir_ =
      std::filesystem::temp_directory_path() /
      ("broadloom_" + std::string(::testing::UnitTest::GetInstance()->current_test_info()->name()) +
       std::to_string(::getpid()));
};

}  // namespace broadloom
