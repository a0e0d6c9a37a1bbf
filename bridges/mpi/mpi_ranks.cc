#include "bridges/mpi/mpi_ranks.h"

#include <fmt/format.h>
// Excludes MPI's deprecated C++ interface.
#define OMPI_SKIP_MPICXX 1
#define MPICH_SKIP_MPICXX 1
#include <mpi.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <exception>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace broadloom {
namespace {

using Clock = std::chrono::steady_clock;

// Largest message in bytes, since MPI counts in int.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
// A waiting rank polls kLooks times, then yields the core for kAwakeSeconds, then sleeps between
// polls. Other ranks may be evaluating or writing a checkpoint.
constexpr int kPolls = 200;
constexpr double kAwakeSeconds = 0.5;
constexpr auto kNap = std::chrono::milliseconds(1);
// One poll adds at most this many seconds to the waiting time, so that a suspended job does not
// time out.
constexpr double kMostSecondsPerPoll = 1.0;
// Exit code for lost ranks, the same as for kIo.
constexpr int kLostExit = 4;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

Status error_of(int code, const char* doing) {
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  return {ErrorKind::kIo, fmt::format("MPI failed while {}: {}", doing, text.data())};
}

class MpiRanks final : public Ranks {
 public:
  MpiRanks(int rank, int size, const RankOptions& options)
      : Ranks(rank, size), options_(options), machines_(static_cast<std::size_t>(size)) {
    std::array<char, kNameBytes> mine{};
    std::array<char, MPI_MAX_PROCESSOR_NAME> name{};
    int length = 0;
    MPI_Get_processor_name(name.data(), &length);
    std::copy_n(name.data(), std::min<std::size_t>(length, kNameBytes - 1), mine.data());
    const std::vector<std::array<char, kNameBytes>> all = all_of(mine);
    for (std::size_t r = 0; r < all.size(); ++r) machines_[r] = all[r].data();
    const auto count_here = [&](auto end) {
      return static_cast<int>(std::count(machines_.begin(), end, machines_[rank]));
    };
    set_here(count_here(machines_.end()), count_here(machines_.begin() + rank));
  }

  // Otherwise, running ranks would wait for this one forever.
  ~MpiRanks() override {
    if (!status().ok() || std::uncaught_exceptions() > 0) {
      MPI_Abort(MPI_COMM_WORLD, kLostExit);
    } else {
      MPI_Finalize();
    }
  }

 private:
  static constexpr std::size_t kNameBytes = 64;

  Status do_share(std::byte* buffer, std::span<const std::size_t> offsets) override {
    const auto own = static_cast<std::size_t>(rank());
    requests_.clear();
    peers_.clear();
    for (int r = 0; r < size(); ++r) {
      if (r != rank()) BROADLOOM_TRY(receive(buffer, offsets[r], offsets[r + 1], r));
    }
    for (int i = 1; i < size(); ++i) {
      const int r = (rank() + i) % size();  // spread the targets
      BROADLOOM_TRY(send(buffer, offsets[own], offsets[own + 1], r));
    }
    return wait();
  }

  Status do_deal(const std::byte* out, std::span<const std::size_t> out_offsets, std::byte* in,
                 std::span<const std::size_t> in_offsets) override {
    const auto own = static_cast<std::size_t>(rank());
    requests_.clear();
    peers_.clear();
    for (int r = 0; r < size(); ++r) {
      if (r != rank()) BROADLOOM_TRY(receive(in, in_offsets[r], in_offsets[r + 1], r));
    }
    for (int i = 1; i < size(); ++i) {
      const int r = (rank() + i) % size();
      BROADLOOM_TRY(send(out, out_offsets[r], out_offsets[r + 1], r));
    }
    std::copy(out + out_offsets[own], out + out_offsets[own + 1], in + in_offsets[own]);
    return wait();
  }

  Status receive(std::byte* bytes, std::size_t begin, std::size_t end, int source) {
    for (; begin < end; begin += kMostBytes) {
      const int count = static_cast<int>(std::min(kMostBytes, end - begin));
      const int code = MPI_Irecv(bytes + begin, count, MPI_BYTE, source, 0, MPI_COMM_WORLD,
                                 next_request(source));
      if (code != MPI_SUCCESS) return error_of(code, "receiving");
    }
    return {};
  }

  Status send(const std::byte* bytes, std::size_t begin, std::size_t end, int target) {
    for (; begin < end; begin += kMostBytes) {
      const int count = static_cast<int>(std::min(kMostBytes, end - begin));
      const int code = MPI_Isend(bytes + begin, count, MPI_BYTE, target, 0, MPI_COMM_WORLD,
                                 next_request(target));
      if (code != MPI_SUCCESS) return error_of(code, "sending");
    }
    return {};
  }

  MPI_Request* next_request(int peer) {
    peers_.push_back(peer);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }

  // Polls, since waiting inside MPI would never time out nor yield the core.
  Status wait() {
    int done = 0;
    double waited = 0.0;
    Clock::time_point before;
    for (int polls = 0;; ++polls) {
      const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                                   MPI_STATUSES_IGNORE);
      if (code != MPI_SUCCESS) return error_of(code, "waiting for other ranks");
      if (done != 0) return {};
      if (polls < kPolls) continue;
      if (options_.timeout > 0.0 && waited > options_.timeout) {
        const std::string names = name_awaited_ranks();
        if (!names.empty()) return timed_out(names);
        continue;
      }
      if (polls == kPolls) before = Clock::now();
      waited += std::min(seconds_since(before), kMostSecondsPerPoll);
      before = Clock::now();
      if (waited < kAwakeSeconds) {
        std::this_thread::yield();
      } else {
        tell_if_interrupted();
        std::this_thread::sleep_for(kNap);
      }
    }
  }

  // If a rank has died, the launcher ends all ranks. This message is then the last one.
  void tell_if_interrupted() {
    if (has_told_ || !options_.interrupted || !options_.interrupted() || !options_.tell) return;
    const std::string names = name_awaited_ranks();
    if (names.empty()) return;
    has_told_ = true;
    options_.tell(fmt::format(
        "got a signal to stop while waiting for {}. If that rank is gone, the run ends here: saved "
        "state stays, and the run can be resumed. Otherwise it stops after this iteration",
        names));
  }

  Status timed_out(const std::string& names) const {
    return {ErrorKind::kIo,
            fmt::format("rank {} of {} has waited {:g} seconds for {}: that rank hangs, is "
                        "unreachable, or needs more time than --rank_timeout allows",
                        rank(), size(), options_.timeout, names)};
  }

  // Names of the ranks with open messages; empty if all have arrived.
  std::string name_awaited_ranks() const {
    std::vector<bool> is_open(machines_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      MPI_Request_get_status(requests_[i], &done, MPI_STATUS_IGNORE);
      if (done == 0) is_open[static_cast<std::size_t>(peers_[i])] = true;
    }
    std::vector<std::string> names;
    for (std::size_t r = 0; r < machines_.size(); ++r) {
      if (is_open[r]) names.push_back(fmt::format("rank {} on {}", r, machines_[r]));
    }
    return fmt::format("{}", fmt::join(names, ", "));
  }

  RankOptions options_;
  std::vector<std::string> machines_;  // [size]
  std::vector<MPI_Request> requests_;
  std::vector<int> peers_;  // the other rank of each request
  bool has_told_ = false;
};

}  // namespace

Result<std::unique_ptr<Ranks>> make_mpi_ranks(const RankOptions& options) {
  int given = 0;
  int code = MPI_Init_thread(nullptr, nullptr, MPI_THREAD_FUNNELED, &given);
  if (code != MPI_SUCCESS) return error_of(code, "starting");
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  int rank = 0, size = 1;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  std::unique_ptr<Ranks> ranks = std::make_unique<MpiRanks>(rank, size, options);
  BROADLOOM_TRY(ranks->status());
  return ranks;
}

}  // namespace broadloom
