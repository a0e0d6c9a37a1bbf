// Runs the conformance checks on all sixteen Procgen games in one process, so that pictures load
// once. The argument is the plug-in. PROCGEN_PATH is Procgen's folder. Prints each finding on a
// line; exit code 0: no findings.
#include <cstdio>
#include <memory>
#include <string>

#include "broadloom/env/conformance/conformance.h"
#include "broadloom/env/plugins/allowed_code.h"
#include "broadloom/env/plugins/library.h"
#include "broadloom/env/tasks/registry.h"

int main(int argc, char** argv) {
  using namespace broadloom;
  if (argc != 2) return 2;
  if (!allow_code(argv[1]).ok()) return 2;
  const Result<const PluginLibrary*> library = open_plugin_library(argv[1]);
  if (!library.ok()) return std::printf("%s\n", library.status().message().c_str()), 2;
  int findings = 0, games = 0;
  ConformanceOptions options;
  options.num_steps = 41;
  for (; games < library.value()->plugin->num_tasks; ++games) {
    const std::string id =
        "plugin:" + std::string(argv[1]) + ":" + library.value()->plugin->tasks[games].id;
    const ConformanceReport report = check_vec_env(
        [&](const VecEnvOptions& asked) { return make_vec_env(id, {}, asked); }, options);
    for (const std::string& finding : report.findings()) {
      std::printf("%s: %s\n", id.c_str(), finding.c_str());
      ++findings;
    }
  }
  std::printf("%d games, %d findings\n", games, findings);
  return findings == 0 && games == 16 ? 0 : 1;
}
