// Errors as values: the library never prints, exits or throws.
//
//   Result<double> root(double x) {
//     if (x < 0.0) return invalid("root: got a negative number; give one from 0 on");
//     return std::sqrt(x);
//   }
//
//   Status print_root(double x) {
//     const Result<double> result = root(x);
//     if (!result.ok()) return result.status();
//     std::printf("%g\n", result.value());
//     return {};  // ok
//   }
//
// A message is for the person at the terminal: what the program got, what it expected, what to do.
#pragma once

#include <string>
#include <utility>

namespace broadloom {

// The kind of an error. Its number is the exit code of the program (docs/reference/exit_codes.md).
enum class ErrorKind {
  kOk = 0,
  kInvalidConfig = 2,  // a setting or an argument that is not possible
  kNotFound = 3,       // a file, an environment or a checkpoint that does not exist
  kIo = 4,             // the machine or another process failed
  kCorrupt = 5,        // a file exists, but its contents cannot be right
  kMismatch = 6,       // two things that should agree differ
  kNumeric = 7         // a number is not finite, or not good enough
};

// Ok, or a kind of error with a message. The compiler warns if you drop one.
class [[nodiscard]] Status {
 public:
  // Ok.
  Status() = default;
  Status(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  // Whether the operation succeeded.
  bool ok() const { return kind_ == ErrorKind::kOk; }
  // kOk where ok().
  ErrorKind kind() const { return kind_; }
  // For the person at the terminal; empty where ok().
  const std::string& message() const { return message_; }

 private:
  ErrorKind kind_ = ErrorKind::kOk;
  std::string message_;
};

// A Status of kInvalidConfig.
inline Status invalid(std::string message) {
  return {ErrorKind::kInvalidConfig, std::move(message)};
}

// A value, or the Status that says why there is none. value() is then T's default, so T needs an
// empty state.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  // Whether there is a value.
  bool ok() const { return status_.ok(); }
  // Ok, or the reason why there is no value.
  const Status& status() const { return status_; }
  // The value; only if ok().
  T& value() { return value_; }
  const T& value() const { return value_; }
  // Moves the value out; only if ok().
  T take() { return std::move(value_); }

 private:
  T value_{};
  Status status_;
};

}  // namespace broadloom

// Evaluates an expression of type Status, and returns it from the function if it failed:
// BROADLOOM_TRY(trainer.iterate()); For functions that return a Status or a Result.
#define BROADLOOM_TRY(expression)                        \
  do {                                                   \
    ::broadloom::Status broadloom_status = (expression); \
    if (!broadloom_status.ok()) return broadloom_status; \
  } while (false)
