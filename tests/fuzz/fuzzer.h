// The driver of all fuzzers: cases from a seed, processes that play them, limits of time and
// memory, and the report.
//
//   fuzz_toml               250 cases
//   fuzz_toml 25000         so many
//   fuzz_toml --seed 2      others
//   fuzz_toml --case 17     that one alone, in this process and without limits, as for a debugger
//   fuzz_toml --jobs 4      at once
//
// A case is a "start": something valid is changed, and the readers of a command are called with it.
// It is right where they take it, or return an error. It is wrong where the process dies, a
// sanitizer reports, time or memory runs out, or the fuzzer says so itself.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "broadloom/core/random.h"
#include "broadloom/core/status.h"

namespace broadloom::fuzz {

// Random choices of one case.
class Dice {
 public:
  Dice(std::uint64_t seed, std::int64_t number)
      : random_(seed, Purpose::kUser, 0, static_cast<std::uint64_t>(number)) {}

  // 0 to n - 1; 0 where n is 0.
  std::size_t below(std::size_t n) {
    return n == 0 ? 0 : random_.below(static_cast<std::uint32_t>(n));
  }
  // One time in n.
  bool once_in(std::size_t n) { return below(n) == 0; }
  double uniform(double low, double high) { return random_.uniform(low, high); }
  template <class T>
  const T& pick(const std::vector<T>& values) {
    return values[below(values.size())];
  }

 private:
  Random random_;
};

class Fuzzer {
 public:
  virtual ~Fuzzer() = default;
  virtual const char* name() const = 0;
  // Seconds of the processor that a case may take; under a sanitizer, four times as many.
  virtual double most_seconds() const { return 5.0; }
  // Bytes that a case may take, beside those that the process has.
  virtual std::size_t most_bytes() const { return std::size_t{256} << 20; }
  // Makes what cases begin from, once, in an empty folder that stays until the end.
  virtual Status prepare(const std::string& folder) = 0;
  // Plays a case in a folder of its own, where earlier cases may have left files, and returns what
  // the readers said: ok, or their first error. `what` becomes what was changed, in words.
  // `wrong` becomes what is wrong with the answer; "": nothing.
  virtual Status play(Dice& dice, const std::string& folder, std::string& what,
                      std::string& wrong) = 0;
};

// Exit code 0: every case was right, and there were both valid and refused ones among them, without
// which they would test nothing. 1: findings, each with its case. 2: the call is wrong.
int run_fuzzer(Fuzzer& fuzzer, int argc, char** argv);

// Says why no reader may return that error: it has no message, or blames the machine. "": it may.
std::string wrong_error(const Status& status);

// Raw changes of bytes: bits, bytes, parts cut, repeated, dropped.
void change_bytes(std::string& bytes, Dice& dice);
// Texts that readers of numbers, names, paths, HTML and SQL trip over.
std::string odd_text(Dice& dice);
// Numbers at the ends of types, and near them, as text that JSON and TOML take or do not.
std::string odd_number(Dice& dice);

// Plain writing, which ends the process where it fails: a fuzzer's own fault.
void put_file(const std::string& path, const std::string& bytes);
std::string get_file(const std::string& path);

}  // namespace broadloom::fuzz
