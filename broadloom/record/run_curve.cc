#include "broadloom/record/run_curve.h"

#include <fmt/core.h>

#include <sstream>

#include "broadloom/record/files.h"
#include "broadloom/record/json.h"

namespace broadloom {

Result<Curve> read_curve(const std::string& run_dir) {
  const std::string path = run_dir + "/metrics.jsonl";
  Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  Curve curve;
  std::istringstream lines(bytes.value());
  for (std::string line; std::getline(lines, line);) {
    const Json json = Json::parse(line);
    if (!json.is_object() || !json.contains("global_step") || !json.contains("episodic_return")) {
      return Status(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: '{}' is no metrics line",
                                                     path, line.substr(0, 60)));
    }
    if (!json["episodic_return"].is_number() || !json["global_step"].is_number()) continue;
    curve.steps.push_back(json["global_step"].real());
    curve.returns.push_back(json["episodic_return"].real());
  }
  if (curve.steps.empty()) {
    return Status(
        ErrorKind::kNotFound,
        fmt::format("'{}' has no return yet: no episode has ended; train for longer", path));
  }
  return curve;
}

}  // namespace broadloom
