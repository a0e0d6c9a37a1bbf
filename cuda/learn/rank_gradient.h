// The gradients of several ranks, whose devices compute a run of the partial gradients each.
#pragma once

#include <cstddef>
#include <vector>

#include "broadloom/learn/rank_sums.h"

namespace broadloom::cuda {

template <class Side>
class RankGradient {
 public:
  // side and ranks must outlive this object.
  RankGradient(Side& side, Ranks& ranks, std::size_t parameters)
      : side_(side),
        ranks_(ranks),
        node_(ranks.size() > 1 ? parameters : 0),
        sums_(ranks, node_.size()) {}

  bool is_alone() const { return ranks_.size() == 1; }
  RankRuns runs(int partials) const { return {partials, ranks_.size()}; }
  int rank() const { return ranks_.rank(); }

  // grads [P] on the side: in, the sum of this rank's run, if it has one; out, that of all. sums
  // [partials, of_partial]: in, those of this rank's run; out, all. Waits for the side. If ranks
  // cannot reach each other, the results are undefined.
  //
  // The sums go through the host, to the exchange of the CPU's ranks (RankSums). For NCCL, this is
  // the place to change: it would pass the nodes from device to device, in the same tree.
  template <class Sums>
  void add_up(const RankRuns& runs, int of_partial, float* grads, Sums* sums) {
    const std::size_t each = static_cast<std::size_t>(of_partial);
    const std::size_t begin = each * static_cast<std::size_t>(runs.begin(rank()));
    const std::size_t end = each * static_cast<std::size_t>(runs.end(rank()));
    std::vector<Sums> notes(each * static_cast<std::size_t>(runs.partials));
    if (begin < end) {
      side_.copy_out(node_.data(), grads, node_.size());
      side_.copy_out(notes.data() + begin, sums + begin, end - begin);
    }
    side_.wait();
    sums_.add(runs, node_.data(), reinterpret_cast<std::byte*>(notes.data()), each * sizeof(Sums));
    side_.copy_in(grads, node_.data(), node_.size());
    side_.copy_in(sums, notes.data(), notes.size());
  }

 private:
  Side& side_;
  Ranks& ranks_;
  std::vector<float> node_;  // [P] on the host; empty for one rank
  RankSums sums_;
};

}  // namespace broadloom::cuda
