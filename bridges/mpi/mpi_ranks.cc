#include "bridges/mpi/mpi_ranks.h"

#include <fmt/format.h>
// Its C++ interface, which is deprecated, is not used.
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

// Of one message: MPI counts in int.
constexpr std::size_t kMostBytes = std::size_t{1} << 30;
// Who waits looks so often before it lets others have the core, and so long before it sleeps
// between looks: others may be evaluating, or writing a checkpoint.
constexpr int kLooks = 200;
constexpr double kAwakeSeconds = 0.5;
constexpr auto kNap = std::chrono::milliseconds(1);
// What one look adds to the time waited at most: a job that was suspended meanwhile, others and
// all, has not waited.
constexpr double kMostOfALook = 1.0;
// Exit code of ranks that cannot reach each other: that of kIo.
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
    set_here(static_cast<int>(std::count(machines_.begin(), machines_.end(), machines_[rank])));
  }

  // Those that still run would wait for this one in vain.
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
    of_.clear();
    for (int r = 0; r < size(); ++r) {
      if (r != rank()) BROADLOOM_TRY(receive(buffer, offsets[r], offsets[r + 1], r));
    }
    for (int i = 1; i < size(); ++i) {
      const int r = (rank() + i) % size();  // not all to the same one at once
      BROADLOOM_TRY(send(buffer, offsets[own], offsets[own + 1], r));
    }
    return wait();
  }

  Status do_deal(const std::byte* out, std::span<const std::size_t> out_offsets, std::byte* in,
                 std::span<const std::size_t> in_offsets) override {
    const auto own = static_cast<std::size_t>(rank());
    requests_.clear();
    of_.clear();
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

  Status receive(std::byte* bytes, std::size_t begin, std::size_t end, int from) {
    for (; begin < end; begin += kMostBytes) {
      const int count = static_cast<int>(std::min(kMostBytes, end - begin));
      const int code =
          MPI_Irecv(bytes + begin, count, MPI_BYTE, from, 0, MPI_COMM_WORLD, next_request(from));
      if (code != MPI_SUCCESS) return error_of(code, "receiving");
    }
    return {};
  }

  Status send(const std::byte* bytes, std::size_t begin, std::size_t end, int to) {
    for (; begin < end; begin += kMostBytes) {
      const int count = static_cast<int>(std::min(kMostBytes, end - begin));
      const int code =
          MPI_Isend(bytes + begin, count, MPI_BYTE, to, 0, MPI_COMM_WORLD, next_request(to));
      if (code != MPI_SUCCESS) return error_of(code, "sending");
    }
    return {};
  }

  MPI_Request* next_request(int with) {
    of_.push_back(with);
    return &requests_.emplace_back(MPI_REQUEST_NULL);
  }

  // Looks instead of waiting inside MPI, which would neither end nor let others have the core.
  Status wait() {
    int done = 0;
    double waited = 0.0;
    Clock::time_point before;
    for (int looks = 0;; ++looks) {
      const int code = MPI_Testall(static_cast<int>(requests_.size()), requests_.data(), &done,
                                   MPI_STATUSES_IGNORE);
      if (code != MPI_SUCCESS) return error_of(code, "waiting for other ranks");
      if (done != 0) return {};
      if (looks < kLooks) continue;
      if (options_.timeout > 0.0 && waited > options_.timeout) {
        const std::string names = awaited();
        if (!names.empty()) return timed_out(names);
        continue;
      }
      if (looks == kLooks) before = Clock::now();
      waited += std::min(seconds_since(before), kMostOfALook);
      before = Clock::now();
      if (waited < kAwakeSeconds) {
        std::this_thread::yield();
      } else {
        tell_if_interrupted();
        std::this_thread::sleep_for(kNap);
      }
    }
  }

  // The launcher ends all ranks where one has died; this is the last that can be said then.
  void tell_if_interrupted() {
    if (told_ || !options_.interrupted || !options_.interrupted() || !options_.tell) return;
    const std::string names = awaited();
    if (names.empty()) return;
    told_ = true;
    options_.tell(fmt::format(
        "told to stop while waiting for {}. Where that one is gone the run ends here: what was "
        "saved stays saved, and a resume goes on from there; else it stops after this iteration",
        names));
  }

  Status timed_out(const std::string& names) const {
    return {ErrorKind::kIo,
            fmt::format("rank {} of {} has waited {:g} seconds for {}: a rank that hangs, or that "
                        "nothing reaches any more; or it has more to do than --rank_timeout allows",
                        rank(), size(), options_.timeout, names)};
  }

  // Ranks that something is still to come from or to go to; "": it has come by now.
  std::string awaited() const {
    std::vector<bool> is_open(machines_.size());
    for (std::size_t i = 0; i < requests_.size(); ++i) {
      int done = 0;
      MPI_Request_get_status(requests_[i], &done, MPI_STATUS_IGNORE);
      if (done == 0) is_open[static_cast<std::size_t>(of_[i])] = true;
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
  std::vector<int> of_;  // the rank of each
  bool told_ = false;
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
