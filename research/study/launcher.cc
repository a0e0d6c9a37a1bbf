#include "research/study/launcher.h"

#include <fmt/core.h>

#include "broadloom/core/config_table.h"
#include "research/study/launch_record.h"
#include "research/study/queue_launcher.h"
#include "research/study/slurm.h"

namespace broadloom {
namespace {

// Runs that jobs may be at work on are not to be done twice.
Status check_no_launch(const std::string& store, const StudyPlan& plan) {
  const Result<std::vector<Launch>> launches =
      read_launches(store, static_cast<std::int64_t>(plan.runs.size()));
  if (!launches.ok()) return launches.status();
  for (const Launch& launch : launches.value()) {
    if (launch.is_over) continue;
    return {ErrorKind::kIo,
            fmt::format("jobs of this study were launched ('{}') and what they did is not in '{}' "
                        "yet: call this with --launcher {}, which waits for them and takes it in, "
                        "or name another file with --out",
                        launch.folder, store, launch.launcher)};
  }
  return {};
}

class LocalLauncher : public Launcher {
 public:
  Result<StudySummary> run(const StudyPlan& plan, const LaunchOptions& options,
                           const LaunchHooks& hooks) override {
    BROADLOOM_TRY(check_no_launch(options.study.store, plan));
    return run_study(plan, options.study, hooks.study);
  }
  Result<std::string> describe(const StudyPlan&, const LaunchOptions&,
                               const LaunchHooks&) override {
    return std::string();
  }
};

// All launchers: a line each.
struct Entry {
  const char* name;
  std::unique_ptr<Launcher> (*make)();
};
constexpr Entry kLaunchers[] = {
    {"local", [] { return std::unique_ptr<Launcher>(std::make_unique<LocalLauncher>()); }},
    {"slurm", [] { return make_queue_launcher("slurm", make_slurm_queue()); }},
};

}  // namespace

Result<std::unique_ptr<Launcher>> make_launcher(const std::string& name) {
  std::vector<std::string> names;
  for (const Entry& entry : kLaunchers) {
    if (name == entry.name) return entry.make();
    names.emplace_back(entry.name);
  }
  return unknown_key_error("launcher", name, names);
}

}  // namespace broadloom
