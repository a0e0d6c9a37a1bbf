// `broadloom export`: writes a policy to files that run without Broadloom.
#include <fmt/core.h>

#include <algorithm>
#include <memory>
#include <string>
#include <vector>

#include "broadloom/export/export_policy.h"
#include "cli/commands.h"
#include "cli/config_flags.h"
#include "cli/console.h"
#include "cli/policy_isa.h"

namespace broadloom::cli {
namespace {

struct ExportCommand {
  std::string source;  // a run or a checkpoint
  bool best = false;
  ExportOptions options;
  bool quiet = false, json = false;
};

std::vector<const Operation*> outputs_of(const PolicyGraph& graph) {
  std::vector<const Operation*> out;
  for (const std::string& name : graph.outputs) out.push_back(&graph.operation(name));
  return out;
}

void print_exported(const ExportedPolicy& exported) {
  std::size_t width = sizeof(kObservationName) - 1;
  for (const std::string& name : exported.graph.outputs) width = std::max(width, name.size());
  const auto line = [&](const char* side, const std::string& name, const std::string& what) {
    tell("  {:<4}{:<{}}  {}\n", side, name, width, what);
  };
  line("in", kObservationName, observation_text(exported.graph) + ", as the environment gives it");
  if (exported.graph.mask_size > 0) {
    line("", kMaskName,
         fmt::format("bool [N, {}], true for valid actions", exported.graph.mask_size));
  }
  if (exported.graph.state_size > 0) line("", kStateName, state_text(exported.graph));
  const char* side = "out";
  for (const Operation* output : outputs_of(exported.graph)) {
    line(side, output->name, output_text(*output));
    side = "";
  }
  for (const std::string& note : exported.notes) tell("{}\n", note);
  tell(
      "Checked on {} states: the exported operations, in double precision, differ from the "
      "network by at most {:.1e}\n",
      exported.rows, exported.difference);
  for (const std::string& file : exported.files) tell("{}\n", file);
}

Json summary(const ExportCommand& command, const ExportedPolicy& exported) {
  Json outputs = Json::object();
  for (const Operation* output : outputs_of(exported.graph)) {
    outputs[output->name] = output_text(*output);
  }
  Json about = Json::object();
  for (const auto& [key, value] : exported.graph.about) about[key] = value;
  Json out{{"run_dir", command.source},
           {"format", exported.format},
           {"files", exported.files},
           {"observation", observation_text(exported.graph)},
           {"outputs", outputs},
           {"about", about},
           {"parity_rows", exported.rows},
           {"difference", exported.difference},
           {"tolerance", exported.tolerance},
           {"notes", exported.notes}};
  if (exported.graph.state_size > 0) out["state"] = state_text(exported.graph);
  return out;
}

Status run(ExportCommand& command) {
  BROADLOOM_TRY(use_best(command.best, command.source));
  BROADLOOM_TRY(use_isa_of_policy(command.source));
  const Result<ExportedPolicy> exported = export_policy(command.source, command.options);
  if (!exported.ok()) return exported.status();
  if (command.json) {
    print_json(summary(command, exported.value()));
  } else if (!command.quiet) {
    print_exported(exported.value());
  }
  return {};
}

}  // namespace

void add_export_command(Command root, Context& context) {
  const Command app = root.add_subcommand(
      "export", "Write a policy, with its normaliser, as an ONNX, PyTorch, NumPy or C++ file");
  const auto command = std::make_shared<ExportCommand>();
  app.add_option("RUN", command->source, "Run folder (its newest checkpoint) or a checkpoint file")
      .required();
  app.add_flag(
      "--best", command->best,
      "Use best.safetensors of the run, the checkpoint of its best evaluation in training");
  app.add_option(
         "--format", command->options.format,
         "onnx; torch: a module with named layers; npz: NumPy arrays; cpp: a header of C++17 "
         "(default: from the name in --out, else onnx)")
      .type_name("WORD");
  app.add_option(
         "--out", command->options.out,
         "File to write, ends in .onnx, .py, .npz or .h (default: policy.onnx, policy.py, "
         "policy.npz or policy.h in the run's folder; for a checkpoint file, here). Also writes "
         "<file>.parity.npz: states and the policy's outputs for them")
      .type_name("FILE");
  app.add_flag("--value", command->options.with_value,
               "Include the critic's value as an output (default; --no-value: leave it out)");
  app.add_option("--namespace", command->options.cpp_namespace,
                 "Of the C++ header's names (default: policy)")
      .type_name("NAME");
  app.add_flag("--force", command->options.force, "Replace existing files");
  add_allow_flag(app, context);
  app.add_flag("--quiet", command->quiet, "Print nothing but errors");
  app.add_flag("--json", command->json, "Standard output is one JSON object");
  app.callback([&context, command] {
    context.action = [command] {
      const Status status = run(*command);
      return status.ok() ? 0 : report_error(status, command->json);
    };
  });
}

}  // namespace broadloom::cli
