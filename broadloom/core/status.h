// Errors as values: the library never prints, exits or throws.
#pragma once

#include <string>
#include <utility>

namespace broadloom {

// What went wrong, in words for the person at the terminal: what happened, to what, what was got,
// what was expected, what to do. Every kind is a different exit code of the program.
enum class ErrorKind {
  kOk = 0,
  kInvalidConfig = 2,
  kNotFound = 3,
  kIo = 4,
  kCorrupt = 5,
  kMismatch = 6,
  kNumeric = 7
};

class [[nodiscard]] Status {
 public:
  Status() = default;
  Status(ErrorKind kind, std::string message) : kind_(kind), message_(std::move(message)) {}
  bool ok() const { return kind_ == ErrorKind::kOk; }
  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }

 private:
  ErrorKind kind_ = ErrorKind::kOk;
  std::string message_;
};

// What was asked for cannot be had: says what was got, what was expected and what to do.
inline Status invalid(std::string message) {
  return {ErrorKind::kInvalidConfig, std::move(message)};
}

// A value, or the Status that says why there is none. T has an empty state, which stands in then.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : value_(std::move(value)) {}          // NOLINT(google-explicit-constructor)
  Result(Status status) : status_(std::move(status)) {}  // NOLINT(google-explicit-constructor)
  bool ok() const { return status_.ok(); }
  const Status& status() const { return status_; }
  // Only where ok().
  T& value() { return value_; }
  const T& value() const { return value_; }
  T take() { return std::move(value_); }

 private:
  T value_{};
  Status status_;
};

}  // namespace broadloom

// Returns early with the Status of an expression that failed.
#define BROADLOOM_TRY(expression)                        \
  do {                                                   \
    ::broadloom::Status broadloom_status = (expression); \
    if (!broadloom_status.ok()) return broadloom_status; \
  } while (false)
