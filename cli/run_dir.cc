#include "cli/run_dir.h"

#include <fmt/core.h>

#include <algorithm>
#include <chrono>
#include <filesystem>
#include <mutex>
#include <set>

namespace broadloom::cli {

std::string file_name(std::string id) {
  std::replace_if(
      id.begin(), id.end(), [](char c) { return c == '/' || c == ':'; }, '_');
  return id;
}

std::string default_run_dir(const std::string& name) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(now).count();
  const std::string first = fmt::format("runs/{}__{}", file_name(name), seconds);
  // Threads of one process get different names, even before a folder exists.
  static std::mutex mutex;
  static std::set<std::string> given;
  const std::lock_guard lock(mutex);
  std::string dir = first;
  std::error_code error;
  for (int i = 2; given.count(dir) != 0 || std::filesystem::exists(dir, error); ++i) {
    dir = fmt::format("{}-{}", first, i);
  }
  given.insert(dir);
  return dir;
}

}  // namespace broadloom::cli
