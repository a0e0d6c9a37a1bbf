// What the commands share in talking to a person or a script.
#pragma once

#include <cstdint>
#include <cstdio>
#include <nlohmann/json_fwd.hpp>
#include <string>

#include "broadloom/core/status.h"

namespace broadloom::cli {

// Exit code of a run that Ctrl-C or SIGTERM ended, as shells use it.
constexpr int kInterruptedExit = 130;

// Writes "broadloom: <message>" to standard error and, for --json, one object with "error" and
// "exit_code" to standard output. Returns the exit code, which is the error's kind.
int report_error(const Status& status, bool json);

// One object and a newline on standard output.
void print_json(const nlohmann::ordered_json& object);

bool is_terminal(std::FILE* stream);

std::string with_commas(std::int64_t value);             // 500,000
std::string fixed_text(double value, int decimals);      // "-" for not-a-number
std::string clock_text(double seconds);                  // 0:32, 12:05, 1:02:03; "-" when unknown
std::string padded(const std::string& text, int width);  // on the right; negative: on the left

// `threads` as asked for, or the processor's number of threads where it is 0.
int resolve_threads(int threads);

// SIGINT and SIGTERM raise a flag instead of ending the process; a second one ends it at once.
void catch_interrupts();
bool was_interrupted();

}  // namespace broadloom::cli
