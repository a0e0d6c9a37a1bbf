#include "broadloom/record/manifest.h"

#include <fmt/core.h>

#include <algorithm>
#include <cctype>
#include <fstream>
#include <thread>

#include "broadloom/core/escape.h"
#include "broadloom/core/hash.h"
#include "broadloom/core/memory_limits.h"
#include "broadloom/core/utc_time.h"
#include "broadloom/record/files.h"
#include "broadloom/record/json.h"
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

// Absent: environments without limits, such as the library's.
VecEnvTraits simulator_of(const Json& json) {
  VecEnvTraits simulator;
  if (!json.is_object()) return simulator;
  simulator.whole_batch = json["whole_batch"].boolean();
  simulator.deterministic = json["deterministic"].boolean();
  simulator.saves_state = json["saves_state"].boolean();
  simulator.has_final_observations = json["has_final_observations"].boolean();
  simulator.filler_rows = json["filler_rows"].is_boolean() && json["filler_rows"].boolean();
  simulator.common_bits = !json["common_bits"].is_boolean() || json["common_bits"].boolean();
  return simulator;
}

std::vector<std::int64_t> integers_of(const Json& list) {
  std::vector<std::int64_t> out;
  for (const Json& number : list.elements()) out.push_back(number.integer<std::int64_t>());
  return out;
}

std::vector<Manifest::Change> changes_of(const Json& list, std::string_view key) {
  std::vector<Manifest::Change> out;
  for (const Json& change : list.elements()) {
    const std::string& name = change[key].text();
    out.push_back(
        {change["step"].integer<std::int64_t>(), key == "device" && name == "cpu" ? "" : name});
  }
  return out;
}

template <class Number>
Number number_of(const Json& object, const char* key) {
  return object[key].is_integer() ? object[key].integer<Number>() : Number{};
}

bool is_digit(char c) { return std::isdigit(static_cast<unsigned char>(c)) != 0; }

// "1.4.0"; one number alone may be of a name.
bool is_version(std::string_view word) {
  return word.find('.') != std::string_view::npos && is_digit(word.front()) &&
         is_digit(word.back()) &&
         std::all_of(word.begin(), word.end(), [](char c) { return c == '.' || is_digit(c); });
}

std::string without_addresses(std::string_view text) {
  constexpr std::string_view kAddress = " at 0x";
  const std::string upstream = one_line(text);
  std::string out;
  for (std::size_t i = 0; i < upstream.size(); ++i) {
    if (std::string_view(upstream).substr(i).starts_with(kAddress)) {
      i += kAddress.size();
      while (i < upstream.size() && std::isxdigit(static_cast<unsigned char>(upstream[i])) != 0)
        ++i;
      if (i == upstream.size()) break;
    }
    out += upstream[i];
  }
  return out;
}

}  // namespace

std::string version_text() { return fmt::format("{} ({})", BROADLOOM_VERSION, BROADLOOM_REVISION); }

std::string source_words(std::string_view text) {
  const std::string upstream = without_addresses(text);
  // "gymnasium 1.4.0: make('CartPole-v1', x=0x1)": versions come before the colon, arguments after.
  std::size_t head = upstream.find(": ");
  if (head == std::string::npos || upstream.find('(') < head) head = 0;
  std::string out;
  int depth = 0;  // of brackets
  for (std::size_t i = 0; i < upstream.size(); ++i) {
    const std::size_t end = std::min(upstream.find_first_of(" ,:", i + 1), upstream.size());
    const std::string_view word = std::string_view(upstream).substr(i + 1, end - i - 1);
    const bool is_in_head = i < head && !word.empty() && is_digit(word.front());
    if (upstream[i] == ' ' && (is_in_head || (depth == 0 && is_version(word)))) {
      i = end - 1;
      continue;
    }
    if (std::string_view("([{").find(upstream[i]) != std::string_view::npos) ++depth;
    if (std::string_view(")]}").find(upstream[i]) != std::string_view::npos) --depth;
    out += upstream[i];
  }
  return out;
}

bool same_source_text(const std::string& a, const std::string& b) {
  return without_addresses(a) == without_addresses(b);
}

bool same_source(const std::string& a, const std::string& b) {
  return a.empty() || b.empty() || source_words(a) == source_words(b);
}

std::string program_hash() {
  const Result<std::string> bytes = read_file("/proc/self/exe");
  return bytes.ok() ? hash_text(bytes.value()) : "";
}

Json policy_source_json(const PolicySource& source) {
  const std::string& normalizer = source.obs_normalizer_hash;
  Json json = {{"file", source.file},
               {"global_step", source.global_step},
               {"parameters_hash", source.parameters_hash},
               {"obs_normalizer_hash", normalizer.empty() ? Json() : Json(normalizer)}};
  if (!source.optimizer_hash.empty()) json["optimizer_hash"] = source.optimizer_hash;
  return json;
}

PolicySource policy_source_of(const Json& json) {
  return {json["file"].text(), number_of<std::int64_t>(json, "global_step"),
          json["parameters_hash"].text(), json["obs_normalizer_hash"].text(),
          json["optimizer_hash"].text()};
}

Json simulator_json(const VecEnvTraits& simulator) {
  Json out{{"whole_batch", simulator.whole_batch},
           {"deterministic", simulator.deterministic},
           {"saves_state", simulator.saves_state},
           {"has_final_observations", simulator.has_final_observations}};
  // Newer fields: absent means the default.
  if (simulator.filler_rows) out["filler_rows"] = true;
  if (!simulator.common_bits) out["common_bits"] = false;
  return out;
}

Json plugin_json(const EnvPlugin& plugin) {
  return {{"name", plugin.name}, {"version", plugin.version}, {"hash", plugin.hash}};
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
  manifest.memory_bytes = static_cast<std::int64_t>(machine_memory());
  manifest.created = utc_now();
  return manifest;
}

Json changes_json(const std::vector<Manifest::Change>& changes, std::string_view key) {
  Json out = Json::array();
  for (const auto& [step, name] : changes) {
    out.push_back({{"step", step}, {key, name.empty() && key == "device" ? "cpu" : name}});
  }
  return out;
}

std::string manifest_json(const Manifest& m) {
  Json json;
  json["format"] = 1;
  json["created"] = m.created;
  json["version"] = m.version;
  json["revision"] = m.revision;
  json["compiler"] = m.compiler;
  json["build_type"] = m.build_type;
  json["isa"] = m.isa;
  if (!m.bits.empty()) json["bits"] = m.bits;
  json["threads"] = m.threads;
  if (m.ranks > 1) json["ranks"] = m.ranks;
  json["hardware"] = {{"cpu", m.cpu}, {"cores", m.cores}, {"memory_bytes", m.memory_bytes}};
  if (!m.device.empty()) json["hardware"]["device"] = m.device;
  if (!m.device_changes.empty()) json["device_changes"] = changes_json(m.device_changes, "device");
  json["seeds"] = {{"train", m.seed}};
  Json config = Json::object();
  for (const auto& [key, text] : m.config) config[key] = text;
  json["config"] = config;
  if (!m.panel.empty()) json["panel"] = m.panel;
  if (!m.extended_from.empty()) json["extended_from"] = m.extended_from;
  if (!m.rerun_of.empty()) json["rerun_of"] = m.rerun_of;
  if (m.init) json["init"] = policy_source_json(*m.init);
  if (m.teacher) json["teacher"] = policy_source_json(*m.teacher);
  if (m.simulator != VecEnvTraits{}) json["simulator"] = simulator_json(m.simulator);
  if (m.plugin != EnvPlugin{}) json["plugin"] = plugin_json(m.plugin);
  if (!m.upstream.empty()) json["upstream"] = m.upstream;
  if (!m.engine.empty()) json["engine"] = m.engine;
  if (!m.engine_changes.empty()) json["engine_changes"] = changes_json(m.engine_changes, "engine");
  if (!m.new_episodes_at.empty()) json["new_episodes_at"] = m.new_episodes_at;
  return json.dump(2) + "\n";
}

bool same_engine(const std::string& a, const std::string& b) {
  const auto without_folder = [](const std::string& engine) {
    const std::size_t end = engine.rfind('/'), model = engine.rfind(", ", end);
    if (end == std::string::npos || model == std::string::npos) return engine;
    return engine.substr(0, model + 2) + engine.substr(end + 1);
  };
  return without_folder(a) == without_folder(b);
}

Result<Manifest> read_manifest(const std::string& path) {
  Result<std::string> bytes = read_file(path);
  if (!bytes.ok()) return bytes.status();
  const Json json = Json::parse(bytes.value());
  if (!json["config"].is_object()) {
    return Status(ErrorKind::kCorrupt, fmt::format("'{}' is damaged: it is not a manifest", path));
  }
  Manifest m;
  for (const auto& [key, text] : json["config"].members()) {
    if (!text.is_string()) {
      return Status(ErrorKind::kCorrupt,
                    fmt::format("'{}' is damaged: config key '{}' is not text", path, key));
    }
    m.config.emplace_back(key, text.text());
  }
  const Json& hardware = json["hardware"];
  m.seed = number_of<std::uint64_t>(json["seeds"], "train");
  m.threads = number_of<int>(json, "threads");
  if (json.contains("ranks")) m.ranks = number_of<int>(json, "ranks");
  m.cpu = hardware["cpu"].text();
  m.device = hardware["device"].text();
  m.device_changes = changes_of(json["device_changes"], "device");
  m.cores = number_of<int>(hardware, "cores");
  m.memory_bytes = number_of<std::int64_t>(hardware, "memory_bytes");
  m.isa = json["isa"].text();
  m.bits = json["bits"].text();
  m.panel = json["panel"].text();
  m.extended_from = integers_of(json["extended_from"]);
  m.rerun_of = json["rerun_of"].text();
  m.simulator = simulator_of(json["simulator"]);
  m.plugin = {json["plugin"]["name"].text(), json["plugin"]["version"].text(),
              json["plugin"]["hash"].text()};
  m.upstream = json["upstream"].text();
  m.engine = json["engine"].text();
  m.engine_changes = changes_of(json["engine_changes"], "engine");
  m.new_episodes_at = integers_of(json["new_episodes_at"]);
  if (json.contains("init")) m.init = policy_source_of(json["init"]);
  if (json.contains("teacher")) m.teacher = policy_source_of(json["teacher"]);
  m.version = json["version"].text();
  m.revision = json["revision"].text();
  m.compiler = json["compiler"].text();
  m.build_type = json["build_type"].text();
  m.created = json["created"].text();
  return m;
}

}  // namespace broadloom
