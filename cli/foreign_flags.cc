#include "cli/foreign_flags.h"

#include <algorithm>
#include <cctype>

namespace broadloom::cli {
namespace {

struct ForeignFlag {
  const char* name;
  const char* hint;
};

constexpr char kNoTracking[] =
    "Broadloom sends nothing to Weights & Biases; leave the flag out. The run folder has "
    "metrics.jsonl and, with --tensorboard, event files that Weights & Biases can sync";
constexpr char kNoDevice[] =
    "training runs on the CPU, with --threads N cores; use --device cuda for a GPU, or leave the "
    "flag out";
constexpr char kNoUpload[] =
    "Broadloom uploads nothing; leave the flag out. The policy is in the run folder, as "
    "checkpoints/*.safetensors";

constexpr char kNoConfigFlag[] =
    "name a config file without a flag, as in `broadloom train FILE.toml` or `broadloom study "
    "FILE.toml`";

// Flags of CleanRL's PPO, and other libraries' names for a device and a config file.
constexpr ForeignFlag kForeignFlags[] = {
    {"config", kNoConfigFlag},
    {"config_file", kNoConfigFlag},
    {"cfg", kNoConfigFlag},
    {"track", kNoTracking},
    {"wandb_project_name", kNoTracking},
    {"wandb_entity", kNoTracking},
    {"cuda", kNoDevice},
    {"gpu", kNoDevice},
    {"torch_deterministic",
     "every run is deterministic, with any number of threads; leave the flag out"},
    {"capture_video",
     "training makes no videos; leave the flag out. `broadloom watch RUN --out x.mp4` films "
     "episodes later"},
    {"exp_name", "a run is named by its folder; use --out DIR instead"},
    {"save_model", "every run is saved, at each --checkpoint_interval; leave the flag out"},
    {"upload_model", kNoUpload},
    {"hf_entity", kNoUpload},
};

std::string plain_flag(std::string name) {
  for (char& c : name) {
    c = c == '-' ? '_' : static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  }
  return name.rfind("no_", 0) == 0 ? name.substr(3) : name;
}

}  // namespace

std::string foreign_flag_hint(const std::string& name) {
  const std::string wanted = plain_flag(name);
  const auto* const found = std::find_if(std::begin(kForeignFlags), std::end(kForeignFlags),
                                         [&](const ForeignFlag& f) { return wanted == f.name; });
  return found == std::end(kForeignFlags) ? "" : found->hint;
}

}  // namespace broadloom::cli
