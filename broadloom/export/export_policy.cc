#include "broadloom/export/export_policy.h"

#include <fmt/core.h>

#include <array>
#include <filesystem>
#include <memory>
#include <system_error>

#include "broadloom/evaluate/run_path.h"
#include "broadloom/export/cpp_header.h"
#include "broadloom/export/numpy_policy.h"
#include "broadloom/export/onnx_model.h"
#include "broadloom/export/parity.h"
#include "broadloom/export/torch_module.h"
#include "broadloom/record/files.h"
#include "broadloom/record/safetensors.h"

namespace broadloom {
namespace {

namespace fs = std::filesystem;

struct Format {
  const char* name;
  const char* ending;
};
constexpr std::array<Format, 4> kFormats{
    {{"onnx", ".onnx"}, {"torch", ".py"}, {"npz", ".npz"}, {"cpp", ".h"}}};

// The format by its name, else by the extension of the file, else the first one.
Result<Format> format_of(const ExportOptions& options) {
  if (options.format.empty() && options.out.empty()) return kFormats.front();
  for (const Format& format : kFormats) {
    const bool has_ending = options.out.ends_with(format.ending);
    if (options.format.empty() && has_ending) return format;
    if (options.format != format.name) continue;
    if (options.out.empty() || has_ending) return format;
    return invalid(fmt::format("out: got '{}', expected a name that ends in {}, as format = {} has",
                               options.out, format.ending, format.name));
  }
  if (!options.format.empty()) {
    return invalid(
        fmt::format("format: got '{}', expected onnx, torch, npz or cpp", options.format));
  }
  return invalid(
      fmt::format("out: got '{}', expected a name that ends in .onnx, .py (PyTorch), "
                  ".npz or .h (C++); for another name, set the format, too",
                  options.out));
}

// In the order of the user's list.
std::vector<std::string> paths_of(const Format& format, const std::string& out) {
  std::vector<std::string> paths{out};
  if (std::string_view(format.name) == "torch") {
    paths.push_back(fs::path(out).replace_extension(".safetensors").string());
  } else if (std::string_view(format.name) == "cpp") {
    paths.push_back(fs::path(out).replace_extension("").string() + "_parity.cc");
  }
  paths.push_back(out + ".parity.npz");
  return paths;
}

Status check_places(const std::vector<std::string>& paths, const FoundCheckpoint& found,
                    bool force) {
  std::error_code error;
  for (const std::string& path : paths) {
    if (RunFolder::is_among_checkpoints(path)) {
      return invalid(fmt::format(
          "'{}' would be among a run's checkpoints, where resume and evaluation look; name another "
          "place (--out)",
          path));
    }
    if (!fs::exists(path, error)) continue;
    if (fs::equivalent(path, found.path, error)) {
      return invalid(fmt::format(
          "'{}' is the checkpoint itself, which would be overwritten; name another place", path));
    }
    if (force) continue;
    return {ErrorKind::kIo,
            fmt::format("'{}' exists already; name another place (--out), or replace it (--force)",
                        path)};
  }
  return {};
}

// Writes all files except the parity file.
Status write_policy(const Format& format, const std::string& cpp_namespace, PolicyGraph& graph,
                    const Parity& parity, const std::vector<std::string>& paths) {
  const std::string_view name = format.name;
  if (name == "torch") {
    const Metadata metadata(graph.about.begin(), graph.about.end());
    BROADLOOM_TRY(write_safetensors(paths[1], state_dict(graph), metadata));
    return write_file_atomically(paths[0], torch_module(graph));
  }
  if (name == "cpp") {
    const std::string header = fs::path(paths[0]).filename().string();
    BROADLOOM_TRY(
        write_file_atomically(paths[1], cpp_parity_program(graph, parity, cpp_namespace, header)));
    return write_file_atomically(paths[0], cpp_header(graph, cpp_namespace));
  }
  const Result<std::string> bytes = name == "onnx" ? onnx_model(graph) : numpy_policy(graph);
  if (!bytes.ok()) return bytes.status();
  return write_file_atomically(paths[0], bytes.value());
}

std::vector<std::string> notes_of(const Policy& policy, bool with_value, const Parity& parity) {
  const Space& observation = policy.spec.observation;
  std::vector<std::string> notes;
  const bool is_first = observation.frame_padding == FramePadding::kFirst;
  const std::string stacks = stacks_text(policy, " ", ", ");
  if (!stacks.empty()) {
    notes.push_back(fmt::format(
        "Groups are the last observations of an episode, the newest last, images joined by "
        "channels: {}; before the first one there are {}.",
        stacks, is_first ? "copies of it" : "zeros"));
  }
  if (observation.frames > 1) {
    notes.push_back(
        observation.extents().size() == 1
            ? fmt::format(
                  "An input is the last {} observations of an episode, the newest last; before "
                  "the first one there are {}.",
                  observation.frames, is_first ? "copies of it" : "zeros")
            : fmt::format("An observation is the last {} images of an episode, the newest last "
                          "among its channels; before the first image of an episode there is {}.",
                          observation.frames, is_first ? "the same image" : "a black one"));
  }
  if (!parity.unplayed.empty()) {
    notes.push_back(fmt::format(
        "The files were checked on observations drawn from the space of {} instead of states that "
        "the policy plays, since it cannot be made here: {}.",
        policy.config.env_id, parity.unplayed));
  }
  if (policy.config.precision == "tf32") {
    notes.push_back(
        "It was trained in tf32 but is written in float32, as evaluations use it. Its outputs may "
        "differ from those during training by the rounding of TF32.");
  }
  const bool has_own = policy.network.shape().critic_observation_size > 0;
  if (with_value && has_own) {
    notes.push_back(
        "The critic reads an observation that the policy does not have, so there is no value.");
  }
  if (with_value && !has_own && policy.reward_norm != nullptr) {
    notes.push_back("Values are for rewards scaled by norm_reward.");
  }
  if (parity.difference > kParityTolerance) {
    notes.push_back(fmt::format(
        "The tolerance is {:.1e} instead of {:.0e}: the network's numbers are so large, or cancel "
        "so much, that float32 is not more exact.",
        parity.tolerance, kParityTolerance));
  }
  return notes;
}

}  // namespace

Result<ExportedPolicy> export_policy(const std::string& run_or_checkpoint,
                                     const ExportOptions& options) {
  const Result<Format> format = format_of(options);
  if (!format.ok()) return format.status();
  const bool is_cpp = std::string_view(format.value().name) == "cpp";
  if (!options.cpp_namespace.empty() && !is_cpp) {
    return invalid(
        fmt::format("namespace: got '{}', expected none with format = {}; only cpp has one",
                    options.cpp_namespace, format.value().name));
  }
  const std::string cpp_namespace =
      options.cpp_namespace.empty() ? "policy" : options.cpp_namespace;
  BROADLOOM_TRY(check_cpp_namespace(cpp_namespace));
  const bool with_value = options.with_value && !is_cpp;
  const Result<FoundCheckpoint> found = find_policy(run_or_checkpoint);
  if (!found.ok()) return found.status();
  const std::string default_name = std::string("policy") + format.value().ending;
  const std::string out = !options.out.empty() ? options.out
                          : found.value().is_alone()
                              ? default_name
                              : found.value().folder.dir() + "/" + default_name;
  ExportedPolicy exported;
  exported.format = format.value().name;
  exported.files = paths_of(format.value(), out);
  BROADLOOM_TRY(check_places(exported.files, found.value(), options.force));

  const Result<std::unique_ptr<LoadedPolicy>> loaded =
      LoadedPolicy::load(found.value(), PolicySpaces::kTrained);
  if (!loaded.ok()) return loaded.status();
  const Policy policy = loaded.value()->view();
  if (is_cpp && policy.network.is_recurrent()) {
    return invalid(
        fmt::format("format: got cpp for a policy with recurrent = {}, whose state the header "
                    "cannot keep yet; expected onnx, torch or npz",
                    policy.config.recurrent));
  }
  if (is_cpp && !policy.spec.observation.groups.empty()) {
    return invalid(fmt::format(
        "format: got cpp for observations in groups, {}, which the header cannot take yet; "
        "expected onnx, torch or npz",
        shape_text(policy.spec.observation)));
  }
  exported.graph = policy_graph(policy, with_value);
  const Result<Parity> parity = play_parity(policy, exported.graph);
  if (!parity.ok()) return parity.status();
  exported.rows = parity.value().rows;
  exported.difference = parity.value().difference;
  exported.tolerance = parity.value().tolerance;
  exported.notes = notes_of(policy, with_value, parity.value());

  const Result<std::string> expected = parity_file(parity.value(), exported.graph);
  if (!expected.ok()) return expected.status();
  BROADLOOM_TRY(
      write_policy(format.value(), cpp_namespace, exported.graph, parity.value(), exported.files));
  BROADLOOM_TRY(write_file_atomically(exported.files.back(), expected.value()));
  return exported;
}

}  // namespace broadloom
