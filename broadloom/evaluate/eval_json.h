// Writes evaluations as lines of logs. See docs/formats/run_folder.md.
#pragma once

#include <cstdint>
#include <string>

#include "broadloom/evaluate/evaluator.h"

namespace broadloom {

// A line of eval.jsonl and a line of eval_command.jsonl.
std::string eval_json_line(const EvalResult& result, std::uint64_t seed);
std::string command_eval_json_line(const EvalResult& result, const EvalOptions& options);

}  // namespace broadloom
