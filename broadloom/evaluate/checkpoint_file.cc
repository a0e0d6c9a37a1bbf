#include "broadloom/evaluate/checkpoint_file.h"

#include <fmt/core.h>

#include <filesystem>
#include <utility>

#include "broadloom/core/hash.h"
#include "broadloom/record/files.h"
#include "broadloom/setup/resolve_config.h"

namespace broadloom {
namespace {

Status read_bytes(const SafetensorsFile& file, const std::string& key, std::int64_t& out) {
  const auto found = file.metadata.find(key);
  if (found != file.metadata.end() && parse_text(found->second, out).ok() && out >= 0) return {};
  return {ErrorKind::kCorrupt,
          fmt::format("it is no checkpoint of a run: its metadata has no number '{}'", key)};
}

// Not there: no events were written. Only the name, since that file of the run's folder is cut.
std::string events_file_of(const SafetensorsFile& file) {
  const auto found = file.metadata.find("events_file");
  if (found == file.metadata.end()) return "";
  return std::filesystem::path(found->second).filename().string();
}

Overrides config_of(const SafetensorsFile& file) {
  const std::string prefix = kConfigPrefix;
  Overrides overrides;
  for (const auto& [key, text] : file.metadata) {
    if (key.rfind(prefix, 0) == 0) overrides.emplace_back(key.substr(prefix.size()), text);
  }
  return overrides;
}

std::string way_out(const FoundCheckpoint& found) {
  if (found.is_alone()) return "use another checkpoint";
  const std::string before = found.folder.checkpoint_before(found.path);
  if (before.empty()) return "the run has no other checkpoint: train it anew";
  return fmt::format("remove that file, and '{}' will be used", before);
}

}  // namespace

Result<Checkpoint> read_checkpoint(const std::string& path) {
  const Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  Result<SafetensorsFile> file = parse_safetensors(bytes.value(), path);
  if (!file.ok()) return file.status();
  Checkpoint checkpoint;
  const auto in_file = [&](const Status& status) {
    return Status(status.kind(), fmt::format("'{}': {}", path, status.message()));
  };
  if (file.value().metadata.count("checksum") == 0) {
    return in_file(
        {ErrorKind::kCorrupt, "it is no checkpoint of a run, or was altered: it has no checksum"});
  }
  for (const auto& [key, place] : {std::pair{"metrics_bytes", &checkpoint.logs.metrics},
                                   std::pair{"eval_bytes", &checkpoint.logs.eval},
                                   std::pair{"events_bytes", &checkpoint.logs.events}}) {
    const Status status = read_bytes(file.value(), key, *place);
    if (!status.ok()) return in_file(status);
  }
  checkpoint.logs.events_file = events_file_of(file.value());
  Result<Config> config = resolve_config(config_of(file.value()));
  if (!config.ok()) return in_file(config.status());
  checkpoint.config = config.take();
  checkpoint.hash = hash_text(bytes.value());
  checkpoint.file = file.take();
  return checkpoint;
}

Status with_way_out(const Status& status, const FoundCheckpoint& found) {
  if (status.kind() != ErrorKind::kCorrupt) return status;
  return {status.kind(), fmt::format("{}; {}", status.message(), way_out(found))};
}

Result<Checkpoint> read_checkpoint(const FoundCheckpoint& found) {
  Result<Checkpoint> checkpoint = read_checkpoint(found.path);
  if (checkpoint.ok()) return checkpoint;
  return with_way_out(checkpoint.status(), found);
}

}  // namespace broadloom
