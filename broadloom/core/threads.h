// Threads that end before their owner does, and of which the machine may refuse some.
#pragma once

#include <cstddef>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "broadloom/core/status.h"

namespace broadloom {

class Threads {
 public:
  Threads() = default;
  ~Threads() { join(); }
  Threads(const Threads&) = delete;
  Threads& operator=(const Threads&) = delete;

  // Calls f() on a thread of its own. kIo where the machine gives none; those that run go on.
  template <class F>
  Status start(F&& f) {
    try {
      threads_.emplace_back(std::forward<F>(f));
      return {};
    } catch (const std::exception& error) {  // no thread, or no memory for what it begins with
      return {ErrorKind::kIo,
              std::string("cannot start a thread: ") + error.what() + ", after " +
                  std::to_string(size()) +
                  " had been started; ask for fewer threads or jobs, or raise the limit on "
                  "processes (`ulimit -u`) or memory"};
    }
  }
  // How many were started.
  std::size_t size() const { return threads_.size(); }
  // Waits until all have returned.
  void join() {
    for (std::thread& thread : std::exchange(threads_, {})) thread.join();
  }

 private:
  std::vector<std::thread> threads_;
};

}  // namespace broadloom
