#include "tests/fuzz/fuzzer.h"

#include <fmt/core.h>
#include <malloc.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cctype>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <map>
#include <new>
#include <optional>
#include <thread>

#if defined(__SANITIZE_ADDRESS__)
// The sanitizer keeps freed memory for a while; it must not count as memory of a case.
extern "C" const char* __asan_default_options();
extern "C" const char* __asan_default_options() {
  return "max_allocation_size_mb=512:quarantine_size_mb=16:detect_stack_use_after_return=1";
}
#endif

namespace broadloom::fuzz {
namespace {

constexpr double kMostWallSeconds = 600.0;     // as for a reader that waits for ever
constexpr std::int64_t kCasesOfProcess = 500;  // what one leaks must not fail another
constexpr int kMostShown = 3;                  // cases of one kind of finding

#if defined(__SANITIZE_ADDRESS__)
constexpr bool kHasSanitizer = true;
constexpr double kSlowdown = 4.0;  // by the sanitizer, at most
#else
constexpr bool kHasSanitizer = false;
constexpr double kSlowdown = 1.0;
#endif

struct Call {
  std::int64_t cases = 250;
  std::optional<std::int64_t> only;
  std::uint64_t seed = 1;
  int jobs = 1;
};

bool read_number(const char* text, std::int64_t& out) {
  char* end = nullptr;
  out = std::strtoll(text, &end, 10);
  return end != text && *end == '\0' && out >= 0;
}

std::optional<Call> read_call(int argc, char** argv) {
  Call call;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    std::int64_t number = 0;
    if (word.rfind("--", 0) == 0) {
      if (++i == argc || !read_number(argv[i], number)) return std::nullopt;
      if (word == "--case") {
        call.only = number;
      } else if (word == "--seed") {
        call.seed = static_cast<std::uint64_t>(number);
      } else if (word == "--jobs" && number > 0) {
        call.jobs = static_cast<int>(number);
      } else {
        return std::nullopt;
      }
    } else if (read_number(argv[i], number)) {
      call.cases = number;
    } else {
      return std::nullopt;
    }
  }
  return call;
}

double seconds_of(clockid_t clock) {
  timespec time{};
  return ::clock_gettime(clock, &time) == 0
             ? static_cast<double>(time.tv_sec) + 1e-9 * static_cast<double>(time.tv_nsec)
             : 0.0;
}

// Told by a process to the one that watches it.
struct Shared {
  std::atomic<std::int64_t> now{-1};        // the case that is played
  std::atomic<std::int64_t> next{0};        // all before it are over
  std::atomic<double> cpu{0.0}, wall{0.0};  // as it began
  std::atomic<std::int64_t> of_kind[8] = {};
};

// Bytes that a process holds.
std::size_t resident(pid_t process) {
  std::ifstream file(fmt::format("/proc/{}/statm", process));
  std::size_t all = 0, held = 0;
  file >> all >> held;
  return held * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

std::size_t reserved() {
  std::ifstream file("/proc/self/statm");
  std::size_t all = 0;
  file >> all;
  return all * static_cast<std::size_t>(::sysconf(_SC_PAGESIZE));
}

struct Finding {
  std::int64_t number = 0;
  std::string kind, words;
};

std::string first_line_with(const std::string& text, std::initializer_list<const char*> marks) {
  for (const char* mark : marks) {
    const std::size_t place = text.find(mark);
    if (place == std::string::npos) continue;
    const std::size_t begin = text.rfind('\n', place) + 1;
    return text.substr(begin, text.find('\n', place) - begin);
  }
  return "";
}

// Numbers, addresses and names in quotes differ from case to case; the kind does not.
std::string kind_of(const std::string& words) {
  std::string kind;
  bool is_quoted = false;
  for (const char c : words) {
    if (c == '\'') is_quoted = !is_quoted;
    if (is_quoted || std::isdigit(static_cast<unsigned char>(c)) != 0) continue;
    kind += c;
  }
  return kind.substr(0, 160);
}

// One process after another, until all cases of a share are over.
class Share {
 public:
  Share(Fuzzer& fuzzer, const Call& call, int part, std::string folder)
      : fuzzer_(fuzzer), call_(call), part_(part), folder_(std::move(folder)) {
    void* room =
        ::mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (room == MAP_FAILED) std::abort();
    shared_ = new (room) Shared;
    shared_->next = part;
    std::filesystem::create_directories(folder_);
  }

  // Whether a process of it is at work.
  bool is_alive() const { return process_ > 0; }
  bool is_over() const { return !is_alive() && shared_->next >= call_.cases; }

  void start() {
    std::fflush(nullptr);
    shared_->now = -1;
    began_with_ = 0;
    process_ = ::fork();
    if (process_ < 0) std::abort();
    if (process_ == 0) play();
  }

  // Looks after the process: its limits, and its end.
  void watch(std::vector<Finding>& findings) {
    int state = 0;
    const pid_t ended = ::waitpid(process_, &state, WNOHANG);
    if (ended == process_) return bury(state, findings);
    const std::int64_t now = shared_->now;
    if (now < 0) return;
    if (began_with_ == 0) began_with_ = resident(process_);
    clockid_t clock{};
    if (::clock_getcpuclockid(process_, &clock) != 0) return;
    if (seconds_of(clock) - shared_->cpu > kSlowdown * fuzzer_.most_seconds())
      return end("takes too long");
    if (seconds_of(CLOCK_MONOTONIC) - shared_->wall > kMostWallSeconds) return end("never ends");
    if (resident(process_) > began_with_ + fuzzer_.most_bytes())
      return end("takes too much memory");
  }

  const Shared& shared() const { return *shared_; }

 private:
  std::string errors_path() const { return folder_ + ".stderr"; }
  std::string wrong_path() const { return folder_ + ".wrong"; }

  void end(const char* why) {
    ended_ = why;
    ::kill(process_, SIGKILL);
  }

  [[noreturn]] void play() {
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (std::freopen(errors_path().c_str(), "w", stderr) == nullptr) std::abort();
    if (!kHasSanitizer) {
      const std::size_t bytes = reserved() + fuzzer_.most_bytes();
      const rlimit most{bytes, bytes};
      ::setrlimit(RLIMIT_AS, &most);
    }
    std::setvbuf(stderr, nullptr, _IONBF, 0);  // or an abort loses what was said
    const rlimit no_core{0, 0};
    ::setrlimit(RLIMIT_CORE, &no_core);
    const std::int64_t last = shared_->next + kCasesOfProcess * call_.jobs;
    for (std::int64_t i = shared_->next; i < std::min(last, call_.cases); i += call_.jobs) {
      shared_->cpu = seconds_of(CLOCK_PROCESS_CPUTIME_ID);
      shared_->wall = seconds_of(CLOCK_MONOTONIC);
      shared_->now = i;
      Dice dice(call_.seed, i);
      std::string what, wrong;
      const Status status = fuzzer_.play(dice, folder_, what, wrong);
      if (wrong.empty()) wrong = wrong_error(status);
      if (!wrong.empty()) {
        std::ofstream(wrong_path(), std::ios::app) << i << ' ' << wrong << " (" << what << ")\n";
      }
      shared_->of_kind[static_cast<int>(status.kind())] += 1;
      shared_->next = i + call_.jobs;
    }
    shared_->now = -1;
    std::exit(0);  // not _exit: leaks are looked for
  }

  void bury(int state, std::vector<Finding>& findings) {
    process_ = 0;
    const std::int64_t number =
        shared_->now >= 0 ? shared_->now.load() : shared_->next.load() - call_.jobs;
    std::ifstream lines(wrong_path());
    for (std::string line; std::getline(lines, line);) {
      const std::size_t blank = line.find(' ');
      if (blank == std::string::npos) continue;
      const std::string words = line.substr(blank + 1);
      findings.push_back({std::atoll(line.c_str()), kind_of(words), words});
    }
    std::filesystem::remove(wrong_path());
    if (WIFEXITED(state) && WEXITSTATUS(state) == 0 && ended_.empty()) return;
    std::string words = ended_;
    ended_.clear();
    const std::string errors = get_file(errors_path());
    if (words.empty()) {
      words =
          first_line_with(errors, {"runtime error:", "SUMMARY:", "Assertion", "terminate called"});
      if (words.empty() && WIFSIGNALED(state)) words = ::strsignal(WTERMSIG(state));
      if (words.empty()) words = fmt::format("ended with {}", WEXITSTATUS(state));
    }
    findings.push_back({number, kind_of(words), words + "\n" + errors.substr(0, 6000)});
    if (shared_->now >= 0) shared_->next = number + call_.jobs;
  }

  Fuzzer& fuzzer_;
  const Call& call_;
  int part_;
  std::string folder_;
  Shared* shared_ = nullptr;
  pid_t process_ = 0;
  std::size_t began_with_ = 0;
  std::string ended_;
};

void print_findings(const Fuzzer& fuzzer, const Call& call, const std::vector<Finding>& findings) {
  std::map<std::string, std::vector<const Finding*>> by_kind;
  for (const Finding& finding : findings) by_kind[finding.kind].push_back(&finding);
  for (const auto& [kind, of_it] : by_kind) {
    fmt::print("\nFINDING, {} cases: {}\n", of_it.size(), of_it.front()->words);
    for (std::size_t i = 0; i < std::min<std::size_t>(of_it.size(), kMostShown); ++i) {
      fmt::print("  again: fuzz_{} --seed {} --case {}\n", fuzzer.name(), call.seed,
                 of_it[i]->number);
    }
  }
}

int play_one(Fuzzer& fuzzer, const Call& call, const std::string& folder) {
  Dice dice(call.seed, *call.only);
  std::string what, wrong;
  std::filesystem::create_directories(folder);
  const Status status = fuzzer.play(dice, folder, what, wrong);
  if (wrong.empty()) wrong = wrong_error(status);
  fmt::print("case {} of seed {}: {}\n  {}: {}\n", *call.only, call.seed, what,
             static_cast<int>(status.kind()), status.ok() ? "read" : status.message());
  if (!wrong.empty()) fmt::print("  WRONG: {}\n", wrong);
  return wrong.empty() ? 0 : 1;
}

int play_all(Fuzzer& fuzzer, const Call& call, const std::string& folder) {
  const double began = seconds_of(CLOCK_MONOTONIC);
  std::vector<Share> shares;
  shares.reserve(static_cast<std::size_t>(call.jobs));
  for (int part = 0; part < call.jobs; ++part) {
    shares.emplace_back(fuzzer, call, part, fmt::format("{}/{}", folder, part));
  }
  std::vector<Finding> findings;
  const auto is_over = [&] {
    return std::all_of(shares.begin(), shares.end(), [](const Share& s) { return s.is_over(); });
  };
  while (!is_over()) {
    for (Share& share : shares) {
      if (share.is_alive()) {
        share.watch(findings);
      } else if (!share.is_over()) {
        share.start();
      }
    }
    std::this_thread::sleep_for(std::chrono::milliseconds(5));
  }
  std::int64_t of_kind[8] = {};
  for (const Share& share : shares) {
    for (int kind = 0; kind < 8; ++kind) of_kind[kind] += share.shared().of_kind[kind];
  }
  print_findings(fuzzer, call, findings);
  std::string refused;
  std::int64_t all_refused = 0;
  for (int kind = 1; kind < 8; ++kind) {
    if (of_kind[kind] == 0) continue;
    all_refused += of_kind[kind];
    refused += fmt::format("{}{} with {}", refused.empty() ? "" : ", ", of_kind[kind], kind);
  }
  fmt::print("{}: {} cases of seed {}: {} read, {} refused ({}), {} findings, {:.1f} s\n",
             fuzzer.name(), call.cases, call.seed, of_kind[0], all_refused, refused,
             findings.size(), seconds_of(CLOCK_MONOTONIC) - began);
  if (!findings.empty()) return 1;
  if (call.cases >= 100 && (of_kind[0] == 0 || all_refused == 0)) {
    fmt::print("expected both cases that are read and cases that are refused\n");
    return 1;
  }
  return 0;
}

}  // namespace

int run_fuzzer(Fuzzer& fuzzer, int argc, char** argv) {
  const std::optional<Call> call = read_call(argc, argv);
  if (!call) {
    fmt::print(stderr, "expected {} [CASES] [--seed S] [--case N] [--jobs J]\n", argv[0]);
    return 2;
  }
  ::mallopt(M_ARENA_MAX, 1);  // a thread's own arena reserves 64 MB
  std::error_code error;
  const bool has_memory = ::access("/dev/shm", W_OK) == 0;
  const std::string folder =
      fmt::format("{}/broadloom_fuzz_{}_{}",
                  has_memory ? "/dev/shm" : std::filesystem::temp_directory_path(error).string(),
                  fuzzer.name(), ::getpid());
  std::filesystem::create_directories(folder + "/begin");
  const Status ready = fuzzer.prepare(folder + "/begin");
  int code = 1;
  if (!ready.ok()) {
    fmt::print("cannot begin: {}\n", ready.message());
  } else {
    code = call->only ? play_one(fuzzer, *call, folder + "/only") : play_all(fuzzer, *call, folder);
  }
  std::filesystem::remove_all(folder, error);
  return code;
}

std::string wrong_error(const Status& status) {
  if (status.ok()) return "";
  if (status.message().empty()) return "an error without a message";
  if (status.kind() == ErrorKind::kIo) return "blames the machine: " + status.message();
  return "";
}

void change_bytes(std::string& bytes, Dice& dice) {
  const std::size_t edits = 1 + dice.below(5);
  for (std::size_t i = 0; i < edits; ++i) {
    const std::size_t place = dice.below(bytes.size());
    switch (dice.below(7)) {
      case 0:
        if (!bytes.empty()) bytes[place] = static_cast<char>(bytes[place] ^ (1 << dice.below(8)));
        break;
      case 1:
        if (!bytes.empty()) bytes[place] = static_cast<char>(dice.below(256));
        break;
      case 2:
        bytes.resize(place);
        break;
      case 3:
        bytes.erase(place, 1 + dice.below(16));
        break;
      case 4:
        bytes.insert(place, bytes.substr(place, 1 + dice.below(64)));
        break;
      case 5:
        bytes.insert(place, odd_text(dice));
        break;
      default:
        bytes.insert(place, 1 + dice.below(64), "\0\n\"{[,\xff"[dice.below(7)]);
    }
  }
}

std::string odd_text(Dice& dice) {
  static const std::vector<std::string> kTexts = {"",
                                                  " ",
                                                  "\n",
                                                  "\t",
                                                  "\r\n",
                                                  std::string(1, '\0'),
                                                  std::string("a\0b", 3),
                                                  "\x1b[31m",
                                                  "\xff\xfe",
                                                  "\xed\xa0\x80",
                                                  "\xe2\x80\xae",
                                                  "../../x",
                                                  "/",
                                                  ".",
                                                  "..",
                                                  "a/b",
                                                  "nan",
                                                  "inf",
                                                  "-inf",
                                                  "null",
                                                  "true",
                                                  "false",
                                                  "{}",
                                                  "[]",
                                                  "\"",
                                                  "\\",
                                                  "'",
                                                  "<script>",
                                                  "]]>",
                                                  "&amp;",
                                                  "'; DROP TABLE runs; --",
                                                  "=1+1",
                                                  "%s%n",
                                                  "{}{}",
                                                  "$(true)",
                                                  "`true`",
                                                  "plugin:./x.so:X",
                                                  "gymnasium/X-v0",
                                                  "64,64",
                                                  "65536,65536,65536",
                                                  "8x8 @ 0",
                                                  "8x8 @ 0, 1x1 @ 0.5",
                                                  "1048576x1048576 @ 0",
                                                  "0.1..0.2",
                                                  "1e999..1",
                                                  "CartPole-v1",
                                                  "ppo",
                                                  "pqn",
                                                  "ppo_rnd",
                                                  "linear",
                                                  "adaptive",
                                                  "\xf0\x9f\x98\x80"};
  if (dice.once_in(40)) return std::string(20000, "a.[-"[dice.below(4)]);
  return dice.once_in(3) ? odd_number(dice) : dice.pick(kTexts);
}

std::string odd_number(Dice& dice) {
  static const std::vector<std::string> kNumbers = {"0",
                                                    "-0",
                                                    "1",
                                                    "-1",
                                                    "2",
                                                    "3",
                                                    "7",
                                                    "64",
                                                    "100",
                                                    "127",
                                                    "128",
                                                    "255",
                                                    "256",
                                                    "65535",
                                                    "65536",
                                                    "1048576",
                                                    "1048577",
                                                    "2147483647",
                                                    "2147483648",
                                                    "-2147483648",
                                                    "-2147483649",
                                                    "4294967295",
                                                    "4294967296",
                                                    "9007199254740992",
                                                    "9007199254740993",
                                                    "9223372036854775807",
                                                    "-9223372036854775808",
                                                    "9223372036854775808",
                                                    "18446744073709551615",
                                                    "18446744073709551616",
                                                    "1e18",
                                                    "1e19",
                                                    "1e308",
                                                    "-1e308",
                                                    "1e999",
                                                    "-1e999",
                                                    "5e-324",
                                                    "1e-9",
                                                    "0.5",
                                                    "-0.5",
                                                    "0.1",
                                                    "1.5",
                                                    "0.9999999999999999",
                                                    "1.0000000000000002",
                                                    "1e6",
                                                    "1000000",
                                                    "999999999",
                                                    "00",
                                                    "0x10",
                                                    "1_000",
                                                    "+1",
                                                    "1.",
                                                    ".5"};
  return dice.pick(kNumbers);
}

void put_file(const std::string& path, const std::string& bytes) {
  std::ofstream file(path, std::ios::binary | std::ios::trunc);
  file.write(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  file.close();
  if (!file) std::abort();
}

std::string get_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace broadloom::fuzz
