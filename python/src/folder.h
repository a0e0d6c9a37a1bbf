// The folder of the process while Python's environments run. They may change it, and keep the one
// that they chose. The library's relative paths keep theirs.
#pragma once

#include <nanobind/nanobind.h>
#include <unistd.h>

#include <climits>
#include <string>

namespace broadloom::python {

// A call of environments: it holds the GIL, and ends in the folder in which it began. chosen: the
// environments' own folder, "" until they change it.
class EnvironmentCall {
 public:
  explicit EnvironmentCall(std::string& chosen) : chosen_(chosen) {
    if (calls_++ == 0) before_ = now();  // Python may let other threads call meanwhile
    if (calls_ > 1 || !chosen_.empty()) enter(chosen_.empty() ? before_ : chosen_);
  }
  ~EnvironmentCall() {
    chosen_ = folder();
    if (--calls_ == 0 && !chosen_.empty()) enter(before_);
  }
  EnvironmentCall(const EnvironmentCall&) = delete;
  EnvironmentCall& operator=(const EnvironmentCall&) = delete;

  // The folder that the environments have chosen by now; "": none.
  std::string folder() const {
    const std::string here = now();
    return here == before_ ? "" : here;
  }

 private:
  // "" if the folder is gone.
  static std::string now() {
    char path[PATH_MAX];
    return ::getcwd(path, sizeof(path)) == nullptr ? "" : path;
  }
  // A folder that is gone stays left.
  static void enter(const std::string& folder) { static_cast<void>(::chdir(folder.c_str()) == 0); }

  // The GIL guards both.
  static inline int calls_ = 0;
  static inline std::string before_;  // where the first call began

  const nanobind::gil_scoped_acquire gil_;
  std::string& chosen_;
};

}  // namespace broadloom::python
