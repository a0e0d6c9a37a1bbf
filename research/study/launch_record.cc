#include "research/study/launch_record.h"

#include <fmt/core.h>

#include <algorithm>
#include <charconv>
#include <filesystem>

#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
#include "research/study/study_part.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

constexpr char kFolder[] = "launch-";
constexpr int kMostLaunches = 1000000;  // folders with larger numbers are not launches

// The number in "launch-12"; 0 for other names.
int number_of(const fs::path& folder) {
  const std::string name = folder.filename().string();
  int number = 0;
  if (name.rfind(kFolder, 0) == 0) {
    std::from_chars(name.data() + sizeof kFolder - 1, name.data() + name.size(), number);
  }
  return number < kMostLaunches ? number : 0;
}

// The numbers of a store's launches, ascending.
Result<std::vector<int>> numbers(const std::string& folder) {
  std::vector<int> found;
  std::error_code error;
  if (!fs::exists(folder, error)) return found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error)) {
    if (number_of(it->path()) > 0) found.push_back(number_of(it->path()));
  }
  if (error) {
    return Status(ErrorKind::kIo,
                  fmt::format("cannot read the folder '{}': {}", folder, error.message()));
  }
  std::sort(found.begin(), found.end());
  return found;
}

Result<Launch> read_launch(const std::string& folder, std::int64_t runs) {
  const std::string path = folder + "/launch.json";
  const Result<std::string> text = read_file(path);
  if (!text.ok()) return text.status();
  const Json json = Json::parse(text.value());
  Launch launch;
  launch.folder = folder;
  launch.launcher = json["launcher"].text();
  launch.name = json["name"].text();
  launch.array = json["array"].text();
  launch.created = json["created"].text();
  launch.is_over = json["is_over"].boolean();
  bool is_right = !launch.launcher.empty() && !launch.name.empty() && json["parts"].is_array();
  if (is_right) {
    std::int64_t left = runs;  // each run belongs to at most one part
    for (const Json& part : json["parts"].elements()) {
      const Result<std::vector<std::int64_t>> part_runs = parse_runs(part.text(), runs);
      left -= static_cast<std::int64_t>(part_runs.value().size());
      is_right = is_right && part_runs.ok() && left >= 0;
      if (!is_right) break;
      launch.parts.push_back(part_runs.value());
    }
  }
  if (is_right) return launch;
  return Status(
      ErrorKind::kCorrupt,
      fmt::format(
          "'{}' is not a valid record of a launch; if none of its jobs is running, merge the "
          "stores beside it (`study merge`) and remove its folder",
          path));
}

}  // namespace

std::string launches_folder(const std::string& store) {
  fs::path path(store);
  if (path.extension() == ".sqlite") path.replace_extension();
  return path.string() + "-jobs";
}

Result<std::vector<Launch>> read_launches(const std::string& store, std::int64_t runs) {
  const std::string folder = launches_folder(store);
  const Result<std::vector<int>> found = numbers(folder);
  if (!found.ok()) return found.status();
  std::vector<Launch> launches;
  for (const int number : found.value()) {
    const std::string path = fmt::format("{}/{}{}", folder, kFolder, number);
    Result<Launch> launch = read_launch(path, runs);
    if (launch.status().kind() == ErrorKind::kNotFound) continue;
    if (!launch.ok()) return launch.status();
    launches.push_back(launch.take());
  }
  return launches;
}

Result<std::string> make_launch_folder(const std::string& store) {
  const std::string folder = launches_folder(store);
  const Result<std::vector<int>> found = numbers(folder);
  if (!found.ok()) return found.status();
  const int next = found.value().empty() ? 1 : found.value().back() + 1;
  const std::string path = fmt::format("{}/{}{}", folder, kFolder, next);
  BROADLOOM_TRY(make_folders(path));
  return path;
}

Status write_launch(const Launch& launch) {
  Json parts = Json::array();
  for (const std::vector<std::int64_t>& runs : launch.parts) parts.push_back(runs_text(runs));
  const Json json = {{"launcher", launch.launcher}, {"name", launch.name},
                     {"array", launch.array},       {"created", launch.created},
                     {"is_over", launch.is_over},   {"parts", parts}};
  return write_file_atomically(launch.folder + "/launch.json", json.dump(2) + "\n");
}

}  // namespace broadloom
