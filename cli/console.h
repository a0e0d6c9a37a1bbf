// What the commands share in talking to a person or a script.
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

// Exit code of a run that Ctrl-C or SIGTERM ended, as shells use it.
constexpr int kInterruptedExit = 130;

// What the program is called in help, errors and hints: "broadloom" until set. Set it before
// anything else.
void set_program_name(const std::string& name);
const std::string& program_name();

// Opens the null device for those of standard input, output and error that are closed. The next
// file to be opened would stand in for one otherwise, and be printed into. To be called before all
// else.
void open_standard_streams();
// Text for a person. Names, paths and messages in it come from files and libraries of others: what
// a terminal would obey is written as \x1b (core/escape.h). A failed write shows in ferror().
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
// "exit_code" to standard output. Returns the exit code, which is the error's kind.
int report_error(const Status& status, bool json);
// What it said last, once: for who runs commands within a program of another kind. Such a one may
// have it say nothing on standard error.
std::string take_error();
void tell_errors(bool on_standard_error);

// One object and a newline on standard output; and the text of one.
void print_json(const Json& object);
void print_data(std::string_view text);
// From now on both append to `text` instead, for programs that take the answer of a command while
// others print to standard output; null: standard output again. Returns the text of before, to be
// put back by a command within a command.
std::string* print_data_into(std::string* text);

bool is_terminal(std::FILE* stream);
// Has the last lines of a terminal written over.
void clear_lines(std::FILE* stream, std::size_t lines);

struct ScreenSize {
  std::size_t rows = 24, columns = 80;
};

// Of the terminal that the stream is, or the usual one where it is none.
ScreenSize screen_size(std::FILE* stream);

// The words in lines of no more than `columns`, where they allow it; lines after the first begin
// with `indent`.
std::string wrapped(const std::string& text, std::size_t columns, const std::string& indent);

std::string fixed_text(double value, int decimals);      // "-" for not-a-number
std::string clock_text(double seconds);                  // 0:32, 12:05, 1:02:03; "-" when unknown
std::string padded(const std::string& text, int width);  // on the right; negative: on the left

// `threads` as asked for, or as many as available_cores() where it is 0.
int resolve_threads(int threads);

// SIGINT and SIGTERM raise a flag instead of ending the process; a second one ends it at once.
// SIGHUP, SIGUSR1 and SIGXCPU raise it as often as they come, unless they are ignored or handled.
void catch_interrupts();
bool was_interrupted();
// From here on the first one ends the process.
void release_interrupts();

}  // namespace broadloom::cli
