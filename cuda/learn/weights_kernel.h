// From derivatives of layers' outputs to those of their parameters, with the bits of
// ActorCritic::backward: each is one chain over the rows of a partial gradient, and all of them go
// side by side.
#pragma once

#include <vector>

#include "cuda/learn/gradient_work.h"
#include "cuda/tile/backward.h"

namespace broadloom::cuda {

// What a block does for a partial gradient.
struct WeightsJob {
  // Parameters of a dense layer from input `i` and output `o` on; of a convolution, of what
  // normalises it and of the heads from number `i` on; and what was said of samples.
  enum Kind { kConvolution, kNorm, kHead, kValueHead, kDense, kSums };
  Kind kind;
  int side, layer, i, o;
};

template <class Sums>
struct WeightsKernel {
  static constexpr int kThreads = 256;
  static constexpr int kDown = 32, kAcross = 64;  // inputs and outputs of a dense job
  static constexpr int kChunk = 32;               // rows that lie in shared memory at a time
  // Threads of a block that have chains over the pixels of images, two warps, so that their reads
  // of shared memory do not keep one another waiting; the others bring the rows.
  static constexpr int kChains = 64;

  GradientWork<Sums> of;
  const WeightsJob* jobs;

  static KernelShape shape(const DeviceNetwork& network, int jobs, int partials) {
    return {jobs * partials, kThreads, sizeof(float) * 2 * row_floats(network)};
  }

  template <class Block>
  BROADLOOM_HD void operator()(Block& block) const {
    const int p = block.index() % of.rows.partials;
    const WeightsJob job = jobs[block.index() / of.rows.partials];
    const Rows rows(*this, job, p);
    if (job.kind == WeightsJob::kDense) return dense(block, job, rows);
    if (job.kind == WeightsJob::kConvolution) return convolution(block, job, rows);
    if (job.kind == WeightsJob::kNorm) return norm(block, job, rows);
    if (job.kind == WeightsJob::kSums) return add_sums(rows, p, block.thread());
    head(job, rows, job.i + block.thread());
  }

 private:
  // Of a partial gradient.
  struct Rows {
    const DeviceBody& body;
    const TilePlaces& at;
    const float* arrays;
    int first, count;
    float* grads;

    BROADLOOM_HD Rows(const WeightsKernel& kernel, const WeightsJob& job, int p)
        : body(kernel.of.network.body(job.side)),
          at(kernel.of.at[job.side]),
          arrays(kernel.of.of_side(job.side)),
          first(p * kernel.of.rows.most),
          count(kernel.of.rows.of(p)),
          grads(kernel.of.grads + static_cast<std::size_t>(p) * kernel.of.network.parameters) {}

    // Of an array, `row` numbers a row.
    BROADLOOM_HD const float* of(int place, int row) const {
      return arrays + place + static_cast<std::size_t>(first) * row;
    }
    BROADLOOM_HD const float* inputs(int l) const {
      const int row = TilePlaces::row(body.hidden[l].row_in);
      return of(l > 0 ? at.hidden[l - 1] : at.x, row);
    }
    BROADLOOM_HD const float* derivatives(int l) const {
      const int row = TilePlaces::row(body.hidden[l].row_out());
      return of(body.norms[l].is_there() ? at.before[l] : at.delta[l], row);
    }
  };

  // What a chain goes on from.
  BROADLOOM_HD float begun(const float* of_parameter) const {
    return of.rows.is_first() ? 0.0f : *of_parameter;
  }

  // Chunk after chunk of the rows comes to shared memory while the one before is worked on, eight
  // parameters a thread: with more there would be too few threads for the waits.
  template <class Block>
  BROADLOOM_HD void dense(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Panel panel{rows.inputs(job.layer) + job.i,
                      rows.derivatives(job.layer) + job.o,
                      TilePlaces::row(layer.in),
                      TilePlaces::row(layer.out),
                      TilePlaces::row(layer.in) - job.i,
                      TilePlaces::row(layer.out) - job.o,
                      rows.count};
    const int lane = block.thread() % kWarp, warp = block.thread() / kWarp;
    const int i = (warp / 2 * 4 + lane / 8) * kSquare, o = (warp % 2 * 8 + lane % 8) * 4;
    const bool has_bias = job.i == 0 && block.thread() < kAcross;
    float* const weights = rows.grads + layer.weight + (job.i + i) * layer.out + job.o + o;
    float* const bias = rows.grads + layer.bias + job.o + block.thread();
    const int inputs = layer.in - job.i - i, outputs = layer.out - job.o - o;  // that are left
    float sums[kSquare][4], bias_sum = 0.0f;
    for (int k = 0; k < kSquare; ++k) {
      for (int c = 0; c < 4; ++c) {
        sums[k][c] = k < inputs && c < outputs ? begun(weights + k * layer.out + c) : 0.0f;
      }
    }
    const bool keeps_bias = has_bias && job.o + block.thread() < layer.out;
    if (keeps_bias) bias_sum = begun(bias);
    float* const shared = block.template shared<float>();
    Fetched next = panel.fetch(0, block.thread());
    for (int first = 0, turn = 0; first < rows.count; first += kChunk, turn ^= 1) {
      float* const x = shared + turn * kChunk * (kDown + kAcross);
      float* const d = x + kChunk * kDown;
      next.put(x, d, block.thread());
      block.sync();  // and who works on the other chunk is done with the one before it
      next = panel.fetch(first + kChunk, block.thread());
      const int left = rows.count - first, count = left < kChunk ? left : kChunk;
      add_outer(x + i, d + o, count, sums);
      for (int r = 0; has_bias && r < count; ++r) bias_sum += d[r * kAcross + block.thread()];
    }
    for (int k = 0; k < kSquare; ++k) {
      for (int c = 0; c < 4; ++c) {
        if (k < inputs && c < outputs) weights[k * layer.out + c] = sums[k][c];
      }
    }
    if (keeps_bias) *bias = bias_sum;
  }

  static constexpr int kInputs = kChunk * kDown / 4 / kThreads;  // fours a thread
  static constexpr int kOutputs = kChunk * kAcross / 4 / kThreads;

  struct Fetched {
    Four x[kInputs], d[kOutputs];
    BROADLOOM_HD void put(float* to_x, float* to_d, int thread) const {
      for (int k = 0; k < kInputs; ++k) store_four(x[k], to_x + 4 * (thread + k * kThreads));
      for (int k = 0; k < kOutputs; ++k) store_four(d[k], to_d + 4 * (thread + k * kThreads));
    }
  };
  struct Panel {
    const float *x, *d;
    int x_row, d_row, x_left, d_left;  // numbers of a row from there on, in fours
    int count;

    BROADLOOM_HD Fetched fetch(int first, int thread) const {
      Fetched made;
      for (int k = 0; k < kInputs; ++k) {
        made.x[k] = four<kDown>(x, x_row, x_left, first, thread + k * kThreads);
      }
      for (int k = 0; k < kOutputs; ++k) {
        made.d[k] = four<kAcross>(d, d_row, d_left, first, thread + k * kThreads);
      }
      return made;
    }

   private:
    template <int kWidth>
    BROADLOOM_HD Four four(const float* of, int row, int left, int first, int e) const {
      const int r = first + e / (kWidth / 4), column = e % (kWidth / 4) * 4;
      if (r >= count || column >= left) return {};
      return load_four(of + static_cast<std::size_t>(r) * row + column);
    }
  };

  static constexpr int kSquare = 2;  // inputs of a thread

  // sums at (i, o) += x[r][i] d[r][o] over rows.
  BROADLOOM_HD static void add_outer(const float* x, const float* d, int rows,
                                     float (&sums)[kSquare][4]) {
#ifdef __CUDA_ARCH__
#pragma unroll 8
#endif
    for (int r = 0; r < rows; ++r) {
      const Four of_d = load_four(d + r * kAcross);
      for (int k = 0; k < kSquare; ++k) {
        const float of_x = x[r * kDown + k];
        for (int c = 0; c < 4; ++c) sums[k][c] = element::mul_add(of_x, of_d.of[c], sums[k][c]);
      }
    }
  }

  // Numbers of rows that lie in shared memory while the next ones come: several rows of images, for
  // which there is more to wait than to work on with fewer.
  static constexpr int kMostRowFloats = 8192;
  static_assert(2 * sizeof(float) * kMostRowFloats <= 64 * 1024, "a block of any device has that");
  BROADLOOM_HD static int row_floats(const DeviceNetwork& network) {
    return network.actor.begins_with_image() ? kMostRowFloats : kChunk * (kDown + kAcross);
  }

  // A convolution's filters, and pixels of a line, that are known beforehand: those that
  // encoder = minatar makes of a picture of MinAtar's.
  static constexpr int kUsualFilters = 16, kUsualPixels = 8;

  // Rows of an array, and whether they are turned in shared memory: the pixels of each of
  // kUsualFilters together, so that four of them are one read, and apart from those of the next by
  // as much as other banks take.
  struct Lying {
    const float* from;
    int row;
    int pixels;  // that are turned; 0: rows lie as they are

    BROADLOOM_HD int apart() const { return pixels + 4; }
    BROADLOOM_HD static int turned_room(int of_pixels) { return kUsualFilters * (of_pixels + 4); }
    BROADLOOM_HD int room() const { return pixels > 0 ? turned_room(pixels) : row; }
    // By thread `own` of so many.
    template <class Block>
    BROADLOOM_HD void bring(Block& block, int first, int count, float* to, int own,
                            int threads) const {
      const float* const rows = from + static_cast<std::size_t>(first) * row;
      if (pixels > 0) return turn(rows, count, to, own, threads);
      for (int e = 4 * own; e < count * row; e += 4 * threads) {
        block.copy_ahead(to + e, rows + e);
      }
    }

   private:
    // The same numbers of some rows are read before the first is written: each would wait for the
    // one before it otherwise.
    BROADLOOM_HD void turn(const float* rows, int count, float* to, int own, int threads) const {
      constexpr int kAhead = 6, kFours = kUsualFilters / 4;
      for (int e = own; e < pixels * kFours; e += threads) {
        const int pixel = e / kFours, filter = e % kFours * 4;
        for (int first = 0; first < count; first += kAhead) {
          Four held[kAhead];
          for (int k = 0; k < kAhead; ++k) {
            if (first + k < count) held[k] = load_four(rows + (first + k) * row + 4 * e);
          }
          for (int k = 0; k < kAhead && first + k < count; ++k) {
            float* const turned = to + (first + k) * room() + filter * apart() + pixel;
            for (int j = 0; j < 4; ++j) turned[j * apart()] = held[k].of[j];
          }
        }
      }
    }
  };

  // Whether a row of both arrays has, without which nothing is turned.
  BROADLOOM_HD bool has_room(int floats) const { return floats <= row_floats(of.network); }

  // Rows of two arrays through shared memory, as many at a time as have room there: f(a, b, rows)
  // works on some of each, by the threads below kChains. Where there is no room for one, all of
  // them where they are, which must be as they are.
  template <class Block, class F>
  BROADLOOM_HD void over_rows(Block& block, int count, const Lying& a, const Lying& b,
                              F&& f) const {
    const int room = row_floats(of.network), at_once = room / (a.room() + b.room());
    if (at_once == 0) return f(a.from, b.from, block.thread() < kChains ? count : 0);
    float* const shared = block.template shared<float>();
    const int bringing = block.thread() - kChains;
    const auto rows_from = [&](int first) {
      return count - first < at_once ? count - first : at_once;
    };
    const auto bring = [&](int first, float* to) {
      const int rows = rows_from(first);
      a.bring(block, first, rows, to, bringing, kThreads - kChains);
      b.bring(block, first, rows, to + rows * a.room(), bringing, kThreads - kChains);
    };
    if (bringing >= 0) bring(0, shared);
    for (int first = 0, turn = 0; first < count; first += at_once, turn ^= 1) {
      float* const own = shared + turn * room;
      block.await_copies();
      block.sync();  // and who works on the other turn is done with the one before it
      if (bringing < 0) {
        f(own, own + rows_from(first) * a.room(), rows_from(first));
      } else if (first + at_once < count) {
        bring(first + at_once, shared + (turn ^ 1) * room);
      }
    }
  }

  // Where a chain's numbers are: of so many rows, of lines of pixels.
  struct Way {
    const float* from;
    int next, line, row;  // from one pixel, line and row to the next
  };
  // add(x, d) at all pixels of so many rows of lines, in order.
  template <class Add>
  BROADLOOM_HD static void over_pixels(int rows, int lines, int pixels, const Way& x, const Way& d,
                                       Add&& add) {
    if (pixels == kUsualPixels && d.next == 1) {
      return over_usual_lines(rows * lines, lines, x, d, add);
    }
    for (int r = 0; r < rows; ++r) {
      for (int line = 0; line < lines; ++line) {
        const float* of_x = x.from + r * x.row + line * x.line;
        const float* of_d = d.from + r * d.row + line * d.line;
        for (int p = 0; p < pixels; ++p, of_x += x.next, of_d += d.next) add(*of_x, *of_d);
      }
    }
  }
  // The games' planes, and what is turned itself, are known to who reads them: a warp that is alone
  // waits for each of its instructions, so that there are to be few.
  template <class Add>
  BROADLOOM_HD static void over_usual_lines(int all, int lines, const Way& x, const Way& d,
                                            Add&& add) {
    switch (x.next) {
      case 1:  // turned, or of a picture of one plane, whose numbers lie anywhere
        return x.line == kUsualPixels ? over_lines<1>(all, lines, x, d, add)
                                      : over_lines<0>(all, lines, x, d, add);
      case 4:
        return over_lines<4>(all, lines, x, d, add);
      case 6:
        return over_lines<6>(all, lines, x, d, add);
      case 7:
        return over_lines<7>(all, lines, x, d, add);
      case 10:
        return over_lines<10>(all, lines, x, d, add);
      default:
        return over_lines<0>(all, lines, x, d, add);
    }
  }

  template <int kNext>
  struct Line {
    float x[kUsualPixels], d[kUsualPixels];

    BROADLOOM_HD void read(const float* from_x, int next, const float* from_d) {
      for (int k = 0; k < kUsualPixels; k += 4) {
        const Four of_d = load_four(from_d + k);
        Four of_x;
        if constexpr (kNext == 1) {
          of_x = load_four(from_x + k);
        } else {
          for (int j = 0; j < 4; ++j) of_x.of[j] = from_x[(k + j) * (kNext > 0 ? kNext : next)];
        }
        for (int j = 0; j < 4; ++j) {
          x[k + j] = of_x.of[j];
          d[k + j] = of_d.of[j];
        }
      }
    }
    template <class Add>
    BROADLOOM_HD void add_to(Add&& add) const {
      for (int k = 0; k < kUsualPixels; ++k) add(x[k], d[k]);
    }
  };
  // A line is read before that in front of it is worked on: a chain waits for each of its reads
  // otherwise.
  template <int kNext, class Add>
  BROADLOOM_HD static void over_lines(int all, int lines, const Way& of_x, const Way& of_d,
                                      Add&& add) {
    if (all == 0) return;
    const float *x = of_x.from, *d = of_d.from;
    const int x_to_row = of_x.row - (lines - 1) * of_x.line;
    const int d_to_row = of_d.row - (lines - 1) * of_d.line;
    int left = lines;
    Line<kNext> now, next;
    now.read(x, of_x.next, d);
#ifdef __CUDA_ARCH__
#pragma unroll 2
#endif
    for (int line = 1; line < all; ++line) {
      const bool ends = --left == 0;
      if (ends) left = lines;
      x += ends ? x_to_row : of_x.line;
      d += ends ? d_to_row : of_d.line;
      next.read(x, of_x.next, d);
      now.add_to(add);
      now = next;
    }
    now.add_to(add);
  }

  // One parameter a thread, over the rows and their patches.
  template <class Block>
  BROADLOOM_HD void convolution(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceLayer& layer = rows.body.hidden[job.layer];
    const Patches patches = layer.patches;  // a copy: what is looked up costs a wait each time
    const int filters = layer.out, e = job.i + block.thread(), o = e % filters, i = e / filters;
    const bool is_there = block.thread() < kChains && i <= layer.in, is_weight = i < layer.in;
    const Lying x{rows.inputs(job.layer), TilePlaces::row(layer.row_in), 0};
    const bool is_usual = filters == kUsualFilters && patches.across == kUsualPixels &&
                          has_room(x.row + Lying::turned_room(patches.count()));
    const Lying d{rows.derivatives(job.layer), TilePlaces::row(layer.row_out()),
                  is_usual ? patches.count() : 0};
    const int from = is_weight && is_there ? patches.at(i) : 0;
    float* const to = rows.grads + (is_weight ? layer.weight + i * filters : layer.bias) + o;
    float sum = is_there ? begun(to) : 0.0f;
    over_rows(block, rows.count, x, d, [&](const float* of_x, const float* of_d, int count) {
      if (!is_there) return;
      const Way of_input{of_x + from, patches.next_across, patches.next_down, x.row};
      const Way of_output = is_usual ? Way{of_d + o * d.apart(), 1, kUsualPixels, d.room()}
                                     : Way{of_d + o, filters, patches.across * filters, d.row};
      const auto each = [&](auto&& add) {
        over_pixels(count, patches.down, patches.across, of_input, of_output, add);
      };
      if (is_weight) {
        each([&](float of, float delta) { sum = element::mul_add(of, delta, sum); });
      } else {
        each([&](float, float delta) { sum += delta; });
      }
    });
    if (is_there) *to = sum;
  }

  // Gain and bias of one number a thread, over the rows and their parts.
  template <class Block>
  BROADLOOM_HD void norm(Block& block, const WeightsJob& job, const Rows& rows) const {
    const DeviceNorm& norm = rows.body.norms[job.layer];
    const int parts = norm.parts, size = norm.size, row = TilePlaces::row(parts * size);
    const bool is_usual = size == kUsualFilters && parts % kUsualPixels == 0 &&
                          has_room(2 * Lying::turned_room(parts));
    const int turned = is_usual ? parts : 0, pixels = is_usual ? kUsualPixels : 1;
    const Lying deltas{rows.of(rows.at.delta[job.layer], row), row, turned};
    const Lying zs{rows.of(rows.at.linear[job.layer], row), row, turned};
    const int i = job.i + block.thread();
    const bool is_there = block.thread() < kChains && i < size;
    float *const gain = rows.grads + norm.gain + i, *const bias = rows.grads + norm.bias + i;
    float gain_sum = is_there ? begun(gain) : 0.0f, bias_sum = is_there ? begun(bias) : 0.0f;
    over_rows(block, rows.count, deltas, zs, [&](const float* delta, const float* z, int count) {
      if (!is_there) return;
      const auto way = [&](const float* of) {
        return is_usual ? Way{of + i * deltas.apart(), 1, pixels, deltas.room()}
                        : Way{of + i, size, size, row};
      };
      over_pixels(count, parts / pixels, pixels, way(z), way(delta), [&](float of_z, float d) {
        gain_sum = element::mul_add(d, of_z, gain_sum);
        bias_sum += d;
      });
    });
    if (!is_there) return;
    *gain = gain_sum;
    *bias = bias_sum;
  }

  // W [out, in].
  BROADLOOM_HD void head(const WeightsJob& job, const Rows& rows, int e) const {
    const bool is_value = job.kind == WeightsJob::kValueHead;
    const DeviceLayer& head = is_value ? rows.body.value_head : rows.body.head;
    if (e >= head.out * (head.in + 1)) return;
    const int i = e % (head.in + 1), o = e / (head.in + 1), row = TilePlaces::row(head.in);
    const bool is_weight = i < head.in;
    const float* const x = rows.of(rows.at.top(rows.body), row) + (is_weight ? i : 0);
    const float* const d = rows.arrays + (is_value ? rows.at.values : rows.at.outputs) +
                           static_cast<std::size_t>(o) * rows.at.rows + rows.first;
    float* const to = rows.grads + (is_weight ? head.weight + o * head.in + i : head.bias + o);
    float sum = begun(to);
    for (int first = 0; first < rows.count; first += kReads) {
      float of_x[kReads], of_d[kReads];  // read before any is worked on
      for (int k = 0; k < kReads; ++k) {
        const bool is_there = first + k < rows.count;
        of_x[k] = is_there ? x[(first + k) * row] : 0.0f;
        of_d[k] = is_there ? d[first + k] : 0.0f;
      }
      for (int k = 0; k < kReads && first + k < rows.count; ++k) {
        sum = is_weight ? element::mul_add(of_d[k], of_x[k], sum) : sum + of_d[k];
      }
    }
    *to = sum;
  }
  static constexpr int kReads = 16;

  // What was said of the partial gradient's tiles, and a Gaussian policy's log_std.
  BROADLOOM_HD void add_sums(const Rows& rows, int p, int thread) const {
    const int first = rows.first / kTileRows;
    const int tiles = (rows.count + kTileRows - 1) / kTileRows, sides = of.network.sides();
    if (thread < sides) {
      Sums& all = of.sums[p * sides + thread];
      Sums sum = of.rows.is_first() ? Sums() : all;
      for (int t = 0; t < tiles; ++t) {
        sum.add(of.tile_sums[static_cast<std::size_t>(first + t) * sides + thread]);
      }
      all = sum;
    }
    if (of.network.is_discrete) return;
    const int outputs = of.network.outputs;
    for (int a = thread; a < outputs; a += kThreads) {
      float* const to = rows.grads + of.network.log_std + a;
      float sum = begun(to);
      for (int t = 0; t < tiles; ++t) {
        sum += of.log_std[static_cast<std::size_t>(first + t) * outputs + a];
      }
      *to = sum;
    }
  }
};

// What is to be done for each partial gradient, of which what takes longest comes first.
inline std::vector<WeightsJob> weights_jobs(const DeviceNetwork& network) {
  std::vector<WeightsJob> jobs;
  using Kernel = WeightsKernel<int>;
  const auto numbers = [&](WeightsJob::Kind kind, int side, int layer, int count) {
    const bool is_chain = kind == WeightsJob::kConvolution || kind == WeightsJob::kNorm;
    const int of_job = is_chain ? Kernel::kChains : Kernel::kThreads;
    for (int i = 0; i < count; i += of_job) jobs.push_back({kind, side, layer, i, 0});
  };
  const auto each = [&](auto&& f) {
    for (int side = 0; side < network.sides(); ++side) {
      const DeviceBody& body = network.body(side);
      for (int l = 0; l < body.layers; ++l) f(side, l, body.hidden[l], body.norms[l]);
    }
  };
  each([&](int side, int l, const DeviceLayer& layer, const DeviceNorm&) {
    if (layer.patches.count() == 1) return;
    numbers(WeightsJob::kConvolution, side, l, (layer.in + 1) * layer.out);
  });
  each([&](int side, int l, const DeviceLayer&, const DeviceNorm& norm) {
    if (norm.is_there()) numbers(WeightsJob::kNorm, side, l, norm.size);
  });
  for (int side = 0; side < network.sides(); ++side) {
    const DeviceBody& body = network.body(side);
    numbers(WeightsJob::kHead, side, 0, body.head.out * (body.head.in + 1));
    numbers(WeightsJob::kValueHead, side, 0, body.value_head.out * (body.value_head.in + 1));
  }
  each([&](int side, int l, const DeviceLayer& layer, const DeviceNorm&) {
    if (layer.patches.count() != 1) return;
    for (int i = 0; i < layer.in; i += Kernel::kDown) {
      for (int o = 0; o < layer.out; o += Kernel::kAcross) {
        jobs.push_back({WeightsJob::kDense, side, l, i, o});
      }
    }
  });
  jobs.push_back({WeightsJob::kSums, 0, 0, 0, 0});
  return jobs;
}

}  // namespace broadloom::cuda
