#include "research/lab/exact_variance.h"

#include <algorithm>
#include <utility>

namespace broadloom {
namespace {

// A pair (s, s') with a transition within an episode.
struct Edge {
  int next;
  double probability;        // from s to s'
  double probability_delta;  // times the TD error of the transition
  double probability_trace;  // times gamma lambda
};

std::vector<std::vector<Edge>> make_edges(const ExactChain& chain, const ExactCase& exact_case) {
  std::vector<std::vector<Edge>> edges(static_cast<std::size_t>(chain.num_states));
  for (int pair = 0; pair < chain.num_pairs(); ++pair) {
    const int s = pair / chain.num_actions;
    chain.for_outcomes(pair, [&](const ExactChain::Outcome& o) {
      if (o.terminated()) return;
      auto edge = std::find_if(edges[s].begin(), edges[s].end(),
                               [&](const Edge& e) { return e.next == o.next; });
      if (edge == edges[s].end()) edge = edges[s].insert(edge, {o.next, 0.0, 0.0, 0.0});
      const double p = chain.policy[pair] * o.probability;
      edge->probability += p;
      edge->probability_delta +=
          p * (o.reward + exact_case.gamma * chain.values[o.next] - chain.values[s]);
      edge->probability_trace += p * exact_case.gamma * exact_case.lambda;
    });
  }
  return edges;
}

// E[A | s, a] and E[A^2 | s, a] times pi(a | s), for n = 1..count: [count, S * A].
struct Tables {
  int count = 0;
  std::vector<double> first, second;
};

Tables make_tables(const ExactChain& chain, const ExactCase& exact_case, TruncationMode mode,
                   Horizon horizon, int count) {
  Tables tables;
  tables.count = count;
  AdvantageMoments moments(chain, exact_case, mode, horizon);
  for (int n = 0; n < count; ++n) {
    moments.advance();
    for (int pair = 0; pair < chain.num_pairs(); ++pair) {
      tables.first.push_back(chain.policy[pair] * moments.first()[pair]);
      tables.second.push_back(chain.policy[pair] * moments.second()[pair]);
    }
  }
  return tables;
}

double same_step_sum(const ExactChain& chain, const std::vector<double>& products,
                     const Tables& tables, const std::vector<double>& weights) {
  const std::size_t pairs = chain.num_pairs();
  double sum = 0.0;
  for (std::size_t i = 0; i < tables.second.size(); ++i) {
    const std::size_t pair = i % pairs;
    sum += weights[i / chain.num_actions] * tables.second[i] * products[pair * pairs + pair];
  }
  return sum;
}

// The recursions within an episode, for the columns k of some neighbouring states. The states are
// few, so their data stays in cache.
class EpisodeColumns {
 public:
  // All arguments must outlive this object. Its columns are those of states [begin, end).
  EpisodeColumns(const ExactChain& chain, const std::vector<double>& products,
                 const std::vector<std::vector<Edge>>& edges, const ExactCase& exact_case,
                 int begin, int end)
      : chain_(chain),
        products_(products),
        edges_(edges),
        case_(exact_case),
        begin_(begin),
        end_(end),
        columns_(static_cast<std::size_t>(end - begin) * chain.num_actions) {
    for (std::vector<double>* rows : {&sums_, &weighted_, &next_sums_, &next_weighted_}) {
      rows->assign(chain.num_states * columns_, 0.0);
    }
  }

  // Sum over n, s and a of weights[n, s] pi(a | s) E[A_t score_t . Z_{t+1} | s, a]. weights:
  // [count, S].
  double run(const Tables& tables, const std::vector<double>& weights) {
    const std::size_t S = chain_.num_states;
    double sum = 0.0;
    for (int n = 0; n < tables.count; ++n) {
      if (n > 0) {
        for (int s = begin_; s < end_; ++s) sum += weights[n * S + s] * of_state(s);
      }
      for (int s = 0; s < chain_.num_states; ++s) advance(tables, n, s);
      std::swap(sums_, next_sums_);
      std::swap(weighted_, next_weighted_);
    }
    return sum;
  }

 private:
  // Sum over a of pi(a | s) E[A_t score_t . Z_{t+1} | s, a].
  double of_state(int s) const {
    double sum = 0.0;
    for (int a = 0; a < chain_.num_actions; ++a) {
      const int pair = s * chain_.num_actions + a;
      const std::size_t column = pair - begin_ * chain_.num_actions;
      chain_.for_outcomes(pair, [&](const ExactChain::Outcome& o) {
        if (o.terminated()) return;
        const double delta = o.reward + case_.gamma * chain_.values[o.next] - chain_.values[s];
        const std::size_t i = o.next * columns_ + column;
        sum += chain_.policy[pair] * o.probability *
               (delta * sums_[i] + case_.gamma * case_.lambda * weighted_[i]);
      });
    }
    return sum;
  }

  void advance(const Tables& tables, int n, int s) {
    const std::size_t pairs = chain_.num_pairs();
    const std::size_t K = columns_;
    double* const sums = next_sums_.data() + s * K;
    double* const weighted = next_weighted_.data() + s * K;
    std::fill_n(sums, K, 0.0);
    std::fill_n(weighted, K, 0.0);
    for (int a = 0; a < chain_.num_actions; ++a) {
      const std::size_t pair = static_cast<std::size_t>(s) * chain_.num_actions + a;
      const double first = tables.first[n * pairs + pair];
      const double second = tables.second[n * pairs + pair];
      const double* const row = products_.data() + pair * pairs + begin_ * chain_.num_actions;
      for (std::size_t k = 0; k < K; ++k) {
        sums[k] += first * row[k];
        weighted[k] += second * row[k];
      }
    }
    for (const Edge& e : edges_[s]) {
      const double* const after = sums_.data() + e.next * K;
      const double* const weighted_after = weighted_.data() + e.next * K;
      for (std::size_t k = 0; k < K; ++k) {
        sums[k] += e.probability * after[k];
        weighted[k] += e.probability_delta * after[k] + e.probability_trace * weighted_after[k];
      }
    }
  }

  const ExactChain& chain_;
  const std::vector<double>& products_;
  const std::vector<std::vector<Edge>>& edges_;
  const ExactCase& case_;
  int begin_, end_;
  std::size_t columns_;
  // [S, columns]: E[Z . score_k | s] and E[A Z . score_k | s]. Z is the sum of A score from now to
  // the end of the episode or block.
  std::vector<double> sums_, weighted_, next_sums_, next_weighted_;
};

double same_episode_sum(const ExactChain& chain, const std::vector<double>& products,
                        const std::vector<std::vector<Edge>>& edges, const ExactCase& exact_case,
                        const Tables& tables, const std::vector<double>& weights) {
  constexpr int kColumns = 32;
  const int states = std::max(1, kColumns / chain.num_actions);
  double sum = 0.0;
  for (int begin = 0; begin < chain.num_states; begin += states) {
    const int end = std::min(chain.num_states, begin + states);
    sum += EpisodeColumns(chain, products, edges, exact_case, begin, end).run(tables, weights);
  }
  return sum;
}

// For h = 1..count, sums over an episode's steps tau < min(h, L): [count, S * A]. A term is
// rho_tau(s) pi(a | s) times before[h - tau] if h < L, and times at_limit[L - tau] if h = L. Zero
// if h > L.
std::vector<double> episode_sums(const ExactChain& chain, const std::vector<double>& occupancy,
                                 const std::vector<double>& before,
                                 const std::vector<double>& at_limit, int count) {
  const std::size_t S = chain.num_states;
  const std::size_t pairs = chain.num_pairs();
  std::vector<double> sums(count * pairs, 0.0);
  for (int h = 1; h <= chain.episode_steps(count); ++h) {
    const std::vector<double>& table = h == chain.max_episode_steps ? at_limit : before;
    for (int tau = 0; tau < h; ++tau) {
      for (std::size_t pair = 0; pair < pairs; ++pair) {
        sums[(h - 1) * pairs + pair] += occupancy[tau * S + pair / chain.num_actions] *
                                        chain.policy[pair] * table[(h - tau - 1) * pairs + pair];
      }
    }
  }
  return sums;
}

// For h = 1..count: sum over n < h of starts[n] x[h - n]. x: [count, pairs].
std::vector<double> over_starts(const std::vector<double>& starts, const std::vector<double>& x,
                                int count, std::size_t pairs) {
  std::vector<double> sums(x.size(), 0.0);
  for (int h = 1; h <= count; ++h) {
    for (int n = 0; n < h; ++n) {
      for (std::size_t k = 0; k < pairs; ++k) {
        sums[(h - 1) * pairs + k] += starts[n] * x[(h - n - 1) * pairs + k];
      }
    }
  }
  return sums;
}

// Contents of a block before and after an episode's end within it, as coefficients of the scores.
class EpisodeEnds {
 public:
  EpisodeEnds(const ExactChain& chain, const ExactCase& exact_case, TruncationMode mode)
      : chain_(chain),
        count_(exact_case.num_steps - 1),
        occupancy_(episode_occupancy(chain, chain.episode_steps(count_))),
        starts_(start_probabilities(chain, occupancy_, count_)),
        case_(exact_case),
        mode_(mode) {}

  // E[sum of A score in h steps from an episode's start], h = 1..T-1.
  std::vector<double> after() const {
    const std::size_t pairs = chain_.num_pairs();
    const int limit = chain_.max_episode_steps;
    std::vector<double> sums =
        episode_sums(chain_, occupancy_, table(Horizon::kBlock), table(Horizon::kLimit), count_);
    // An episode that ends before the h steps do has contributed all of its sum.
    for (std::size_t i = limit * pairs; limit > 0 && i < sums.size(); ++i) {
      sums[i] = sums[i - pairs];
    }
    return over_starts(starts_, sums, count_, pairs);
  }

  // E[sum of A score in the episode that ends after step n of the block], n = 1..T-1.
  std::vector<double> before(bool synchronised) const {
    const std::size_t pairs = chain_.num_pairs();
    const std::vector<double> terminated = table(Horizon::kTermination);
    const std::vector<double> at_limit = table(Horizon::kAtLimit);
    if (synchronised) {
      return over_starts(starts_, episode_sums(chain_, occupancy_, terminated, at_limit, count_),
                         count_, pairs);
    }
    // The step that is i steps before n contributes if its episode has i steps left. In a
    // stationary block that does not depend on n, so n has one more i than n - 1.
    std::vector<double> sums(count_ * pairs, 0.0);
    const PositionWeights weights = position_weights(chain_, case_.num_steps, false);
    for (int n = 1; n <= count_; ++n) {
      const bool reachable = n <= chain_.episode_steps(count_);
      for (std::size_t pair = 0; pair < pairs; ++pair) {
        const std::size_t i = (n - 1) * pairs + pair;
        const std::size_t position = i / chain_.num_actions;
        if (n > 1) sums[i] = sums[i - pairs];
        if (!reachable) continue;
        double more = weights.beyond[position] * terminated[i];
        if (chain_.max_episode_steps > 0) {
          more += weights.limited[position] / (case_.num_steps - n + 1) * at_limit[i];
        }
        sums[i] += chain_.policy[pair] * more;
      }
    }
    return sums;
  }

 private:
  std::vector<double> table(Horizon horizon) const {
    return first_moments(chain_, case_, mode_, horizon, chain_.episode_steps(count_));
  }

  const ExactChain& chain_;
  int count_;
  std::vector<double> occupancy_, starts_;
  const ExactCase& case_;
  TruncationMode mode_;
};

// Sum over n = 1..T-1 of before[n] . after[T - n].
double other_episode_sum(const ExactChain& chain, const std::vector<double>& products,
                         const ExactCase& exact_case, TruncationMode mode, bool synchronised) {
  const int count = exact_case.num_steps - 1;
  if (count == 0) return 0.0;
  const std::size_t pairs = chain.num_pairs();
  const EpisodeEnds ends(chain, exact_case, mode);
  const std::vector<double> before = ends.before(synchronised);
  const std::vector<double> after = ends.after();
  std::vector<double> product(pairs);
  double sum = 0.0;
  for (int n = 1; n <= count; ++n) {
    const double* const coefficients = after.data() + (exact_case.num_steps - n - 1) * pairs;
    std::fill(product.begin(), product.end(), 0.0);
    for (std::size_t k = 0; k < pairs; ++k) {
      const double coefficient = coefficients[k];
      if (coefficient == 0.0) continue;
      const double* const row = products.data() + k * pairs;
      for (std::size_t j = 0; j < pairs; ++j) product[j] += coefficient * row[j];
    }
    for (std::size_t j = 0; j < pairs; ++j) sum += before[(n - 1) * pairs + j] * product[j];
  }
  return sum;
}

}  // namespace

ExactWork second_moment_work(const ExactChain& chain, int num_steps) {
  const double pairs = chain.num_pairs();
  const double steps = num_steps;
  double edges = 0.0;
  for (const std::vector<Edge>& of_state : make_edges(chain, {})) edges += of_state.size();
  const double limited = chain.max_episode_steps > 0 ? chain.episode_steps(num_steps) : 0.0;
  ExactWork work;
  work.operations = pairs * ((steps + limited) * (3.0 * edges + 2.0 * pairs) + steps * pairs +
                             2.0 * steps * steps);
  work.bytes = 8.0 * pairs * pairs + 80.0 * steps * pairs;
  return work;
}

SecondMoment second_moment(const ExactChain& chain, const std::vector<double>& score_products,
                           const ExactCase& exact_case, TruncationMode mode, bool synchronised) {
  const PositionWeights weights = position_weights(chain, exact_case.num_steps, synchronised);
  const std::vector<std::vector<Edge>> edges = make_edges(chain, exact_case);
  SecondMoment moment;
  const auto add = [&](Horizon horizon, const std::vector<double>& of_positions) {
    const int count = static_cast<int>(of_positions.size() / chain.num_states);
    const Tables tables = make_tables(chain, exact_case, mode, horizon, count);
    moment.same_step += same_step_sum(chain, score_products, tables, of_positions);
    moment.same_episode +=
        2.0 * same_episode_sum(chain, score_products, edges, exact_case, tables, of_positions);
  };
  add(Horizon::kBlock, weights.beyond);
  add(Horizon::kLimit, weights.limited);
  moment.other_episode =
      2.0 * other_episode_sum(chain, score_products, exact_case, mode, synchronised);
  return moment;
}

}  // namespace broadloom
