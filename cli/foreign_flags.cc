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
    "nothing is sent to Weights & Biases; the run folder has metrics.jsonl and, with "
    "--tensorboard, "
    "event files that it can sync; leave it out";
constexpr char kNoDevice[] =
    "the processor trains, with --threads N of its cores, unless --device cuda has a GPU do it; "
    "say that, or leave it out";
constexpr char kNoUpload[] =
    "nothing is uploaded; the policy is in the run folder, checkpoints/*.safetensors; leave it out";

constexpr char kNoConfigFlag[] =
    "a file of settings stands without a flag, as in `broadloom train FILE.toml` or `broadloom "
    "study FILE.toml`";

// Those of CleanRL's PPO, and other libraries' words for a device and a file.
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
     "every run is deterministic, whatever the number of threads; leave it out"},
    {"capture_video",
     "no videos are made; `broadloom eval RUN` plays the policy and says how it did; leave it out"},
    {"exp_name", "a run is named by its folder; say --out DIR instead"},
    {"save_model", "every run is saved, as often as --checkpoint_interval says; leave it out"},
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
