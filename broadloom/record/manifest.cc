#include "broadloom/record/manifest.h"

#include <fmt/chrono.h>
#include <fmt/format.h>
#include <unistd.h>

#include <ctime>
#include <fstream>
#include <nlohmann/json.hpp>
#include <thread>

#include "broadloom/core/hash.h"
#include "broadloom/record/files.h"
#include "broadloom_build_info.inc"

namespace broadloom {
namespace {

std::string cpu_name() {
  std::ifstream info("/proc/cpuinfo");
  for (std::string line; std::getline(info, line);) {
    if (line.rfind("model name", 0) != 0) continue;
    const std::size_t colon = line.find(": ");
    if (colon != std::string::npos) return line.substr(colon + 2);
  }
  return "unknown";
}

template <class Number>
Number number_of(const nlohmann::ordered_json& object, const char* key) {
  return object.contains(key) && object[key].is_number_integer() ? object[key].get<Number>()
                                                                 : Number{};
}

nlohmann::ordered_json part_of(const nlohmann::ordered_json& object, const char* key) {
  return object.contains(key) && object[key].is_object() ? object[key]
                                                         : nlohmann::ordered_json::object();
}

std::string text_of(const nlohmann::ordered_json& object, const char* key) {
  return object.contains(key) && object[key].is_string() ? object[key].get<std::string>() : "";
}

}  // namespace

std::string version_text() { return fmt::format("{} ({})", BROADLOOM_VERSION, BROADLOOM_REVISION); }

std::string program_hash() {
  const Result<std::string> bytes = read_file("/proc/self/exe");
  return bytes.ok() ? hash_text(bytes.value()) : "";
}

Manifest make_manifest(const Overrides& config, std::uint64_t seed, int threads,
                       const std::string& isa) {
  Manifest manifest;
  manifest.config = config;
  manifest.seed = seed;
  manifest.threads = threads;
  manifest.isa = isa;
  manifest.version = BROADLOOM_VERSION;
  manifest.revision = BROADLOOM_REVISION;
  manifest.compiler = BROADLOOM_COMPILER;
  manifest.build_type = BROADLOOM_BUILD_TYPE;
  manifest.cpu = cpu_name();
  manifest.cores = static_cast<int>(std::thread::hardware_concurrency());
  manifest.memory_bytes =
      static_cast<std::int64_t>(::sysconf(_SC_PHYS_PAGES)) * ::sysconf(_SC_PAGE_SIZE);
  manifest.created = fmt::format("{:%Y-%m-%dT%H:%M:%SZ}", fmt::gmtime(std::time(nullptr)));
  return manifest;
}

std::string manifest_json(const Manifest& m) {
  nlohmann::ordered_json json;
  json["format"] = 1;
  json["created"] = m.created;
  json["version"] = m.version;
  json["revision"] = m.revision;
  json["compiler"] = m.compiler;
  json["build_type"] = m.build_type;
  json["isa"] = m.isa;
  if (!m.bits.empty()) json["bits"] = m.bits;
  json["threads"] = m.threads;
  json["hardware"] = {{"cpu", m.cpu}, {"cores", m.cores}, {"memory_bytes", m.memory_bytes}};
  json["seeds"] = {{"train", m.seed}};
  nlohmann::ordered_json config = nlohmann::ordered_json::object();
  for (const auto& [key, text] : m.config) config[key] = text;
  json["config"] = config;
  if (!m.panel.empty()) json["panel"] = m.panel;
  return json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) + "\n";
}

Result<Manifest> read_manifest(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  const nlohmann::ordered_json json = nlohmann::ordered_json::parse(bytes.value(), nullptr, false);
  if (json.is_discarded() || !json.is_object() || !json.contains("config") ||
      !json["config"].is_object()) {
    return Status(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: it is not a manifest", path));
  }
  Manifest m;
  for (const auto& [key, text] : json["config"].items()) {
    if (!text.is_string()) {
      return Status(ErrorKind::kCorrupt,
                    fmt::format("'{}' is damaged: config key '{}' is not text", path, key));
    }
    m.config.emplace_back(key, text.get<std::string>());
  }
  const nlohmann::ordered_json hardware = part_of(json, "hardware");
  m.seed = number_of<std::uint64_t>(part_of(json, "seeds"), "train");
  m.threads = number_of<int>(json, "threads");
  m.cpu = text_of(hardware, "cpu");
  m.cores = number_of<int>(hardware, "cores");
  m.memory_bytes = number_of<std::int64_t>(hardware, "memory_bytes");
  m.isa = text_of(json, "isa");
  m.bits = text_of(json, "bits");
  m.panel = text_of(json, "panel");
  m.version = text_of(json, "version");
  m.revision = text_of(json, "revision");
  m.compiler = text_of(json, "compiler");
  m.build_type = text_of(json, "build_type");
  m.created = text_of(json, "created");
  return m;
}

}  // namespace broadloom
