// Output for people and scripts, and signals, shared by the commands.
#pragma once

#include <fmt/core.h>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <string_view>
#include <utility>

#include "broadloom/core/number_text.h"  // with_commas
#include "broadloom/core/status.h"
#include "broadloom/record/json.h"

namespace broadloom::cli {

// Exit code of a run that Ctrl-C or SIGTERM ended, as in shells.
constexpr int kInterruptedExit = 130;

// The program's name in help, errors and hints: "broadloom" until set. Set it first.
void set_program_name(const std::string& name);
const std::string& program_name();

// Opens the null device in place of a closed standard input, output or error. Otherwise the next
// opened file would take its number and be printed into. Call it before all else.
void open_standard_streams();
// A file above the limit of `ulimit -f` then is an error of writing, as on a full disk. Programs
// that this one starts do not inherit that, and a host's own setting stays. Call it before all
// else.
void survive_file_size_limit();
// Prints text for a person. Names and paths may come from foreign files, so terminal control
// characters are escaped, as \x1b (core/escape.h). A failed write shows in ferror().
void tell_text(std::FILE* stream, std::string_view text);
template <class... Args>
void tell(std::FILE* stream, fmt::format_string<Args...> text, Args&&... args) {
  tell_text(stream, fmt::format(text, std::forward<Args>(args)...));
}
template <class... Args>
void tell(fmt::format_string<Args...> text, Args&&... args) {
  tell_text(stdout, fmt::format(text, std::forward<Args>(args)...));
}

// Writes "<program>: <message>" to standard error and, for --json, one object with "error" and
// "exit_code" to standard output. Returns the exit code: the error's kind.
int report_error(const Status& status, bool json);
// For programs that run commands as functions: returns the last error message and forgets it;
// tell_errors(false) keeps report_error() from writing to standard error.
std::string take_error();
void tell_errors(bool on_standard_error);

// Print one object and a newline, or text of JSON, to standard output.
void print_json(const Json& object);
void print_data(std::string_view text);
// Makes both append to `text` instead, for programs that run commands as functions. Null: standard
// output again. Returns the text set before; a command within a command puts it back.
std::string* print_data_into(std::string* text);

bool is_terminal(std::FILE* stream);
// Moves a terminal's cursor up by `lines` and clears the screen below.
void clear_lines(std::FILE* stream, std::size_t lines);

struct ScreenSize {
  std::size_t rows = 24, columns = 80;
};

// The terminal's size; 24 x 80 if the stream is no terminal.
ScreenSize screen_size(std::FILE* stream);

// Breaks text into lines of at most `columns`, unless a word is longer. Lines after the first begin
// with `indent`.
std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent);

std::string fixed_text(double value, int decimals);  // "-" for not-a-number
std::string clock_text(double seconds);              // 0:32, 12:05, 1:02:03; "-" when unknown
std::string padded(const std::string& text,
                   int width);  // blanks on the right; negative: on the left

// `threads`, or available_cores() if it is 0.
int resolve_threads(int threads);

// The first SIGINT or SIGTERM sets a flag instead of ending the process; the second ends it.
// SIGHUP, SIGUSR1 and SIGXCPU always set the flag, unless they are ignored or handled already.
void catch_interrupts();
bool was_interrupted();
// From now on the first signal ends the process.
void release_interrupts();

}  // namespace broadloom::cli
