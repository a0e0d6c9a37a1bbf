#include "broadloom/math/random_rows.h"

#include <cstddef>

#include "broadloom/math/targets.h"

#ifndef HWY_TARGET_INCLUDE  // defined already where one unit includes several kernel files
#define HWY_TARGET_INCLUDE "broadloom/math/random_rows.cc"
#endif
#include <hwy/foreach_target.h>  // compiles this file once per target
#include <hwy/highway.h>

#include "broadloom/math/functions-inl.h"

HWY_BEFORE_NAMESPACE();
namespace broadloom {
namespace HWY_NAMESPACE {
namespace hn = hwy::HWY_NAMESPACE;

using Words = hn::ScalableTag<std::uint32_t>;
using Floats = hn::ScalableTag<float>;

struct WideProduct {
  hn::Vec<Words> low, high;
};

// The 64-bit product of every lane.
HWY_INLINE WideProduct multiply_wide(Words d, hn::Vec<Words> a, hn::Vec<Words> b) {
#if HWY_TARGET == HWY_SCALAR
  const std::uint64_t product = std::uint64_t{hn::GetLane(a)} * hn::GetLane(b);
  return {hn::Set(d, static_cast<std::uint32_t>(product)),
          hn::Set(d, static_cast<std::uint32_t>(product >> 32))};
#else
  const hn::RepartitionToWide<Words> wide;
  const auto even = hn::MulEven(a, b);
  const auto odd = hn::MulEven(hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, a))),
                               hn::BitCast(d, hn::ShiftRight<32>(hn::BitCast(wide, b))));
  return {hn::OddEven(hn::BitCast(d, hn::ShiftLeft<32>(odd)), hn::BitCast(d, even)),
          hn::OddEven(hn::BitCast(d, odd), hn::BitCast(d, hn::ShiftRight<32>(even)))};
#endif
}

struct Block {
  hn::Vec<Words> word[4];
};

// The part of a stream's name that all lanes share.
struct Key {
  std::uint64_t seed;
  Purpose purpose;
  std::uint64_t index;
};

// Philox 4x32-10 (Salmon et al. 2011).
HWY_INLINE Block philox(Words d, const Key& key, hn::Vec<Words> block, hn::Vec<Words> lane) {
  const auto set = [d](std::uint32_t value) HWY_ATTR { return hn::Set(d, value); };
  auto c0 = block;
  auto c1 = set(static_cast<std::uint32_t>(key.index));
  auto c2 = lane;
  auto c3 = set((static_cast<std::uint32_t>(key.purpose) << 24) |
                (static_cast<std::uint32_t>(key.index >> 32) & 0xffffffu));
  std::uint32_t k0 = static_cast<std::uint32_t>(key.seed);
  std::uint32_t k1 = static_cast<std::uint32_t>(key.seed >> 32);
  const auto m0 = set(0xD2511F53u);
  const auto m1 = set(0xCD9E8D57u);
  for (int round = 0; round < 10; ++round) {
    const WideProduct p0 = multiply_wide(d, c0, m0);
    const WideProduct p1 = multiply_wide(d, c2, m1);
    c0 = hn::Xor(hn::Xor(p1.high, c1), set(k0));
    c1 = p1.low;
    c2 = hn::Xor(hn::Xor(p0.high, c3), set(k1));
    c3 = p0.low;
    k0 += 0x9E3779B9u;
    k1 += 0xBB67AE85u;
  }
  return {{c0, c1, c2, c3}};
}

// One block of each stream, starting at row r.
HWY_INLINE Block philox_rows(Words d, const RandomRows& rows, int r, std::uint32_t block) {
  const std::uint32_t lane = rows.first_lane + static_cast<std::uint32_t>(r);
  return philox(d, {rows.seed, rows.purpose, rows.index}, hn::Set(d, block), hn::Iota(d, lane));
}

void WordsU32(const RandomStream& stream, std::uint32_t first_block, int blocks,
              std::uint32_t* words) {
  const Words d;
  const int lanes = static_cast<int>(hn::Lanes(d));
  for (int b = 0; b < blocks; b += lanes) {
    const auto block = hn::Iota(d, first_block + static_cast<std::uint32_t>(b));
    const Block draws =
        philox(d, {stream.seed, stream.purpose, stream.index}, block, hn::Set(d, stream.lane));
    hn::StoreInterleaved4(draws.word[0], draws.word[1], draws.word[2], draws.word[3], d,
                          words + 4 * b);
  }
}

void WordRowsU32(const RandomRows& streams, std::uint32_t block, std::uint32_t* words,
                 std::size_t stride) {
  const Words d;
  for (int r = 0; r < streams.rows; r += static_cast<int>(hn::Lanes(d))) {
    const Block draws = philox_rows(d, streams, r, block);
    for (int w = 0; w < 4; ++w) hn::StoreU(draws.word[w], d, words + w * stride + r);
  }
}

// The upper bits of a word as a number below 2^(32 - kShift).
template <int kShift>
HWY_INLINE hn::Vec<Floats> upper_bits(hn::Vec<Words> word) {
  const Floats d;
  const hn::RebindToSigned<Floats> integers;
  return hn::ConvertTo(d, hn::BitCast(integers, hn::ShiftRight<kShift>(word)));
}

void UniformRowsF32(const RandomRows& streams, int count, float* out, std::size_t stride) {
  const Words words;
  const Floats d;
  for (int r = 0; r < streams.rows; r += static_cast<int>(hn::Lanes(d))) {
    for (int i = 0; i < count; i += 4) {
      const Block draws = philox_rows(words, streams, r, static_cast<std::uint32_t>(i / 4));
      for (int w = 0; w < 4 && i + w < count; ++w) {
        hn::StoreU(hn::Mul(upper_bits<8>(draws.word[w]), hn::Set(d, 0x1.0p-24f)), d,
                   out + static_cast<std::size_t>(i + w) * stride + r);
      }
    }
  }
}

// Two normals: the radius sqrt(-2 ln u), u in (0, 1], times cosine and sine of a random angle.
HWY_INLINE void box_muller(hn::Vec<Words> first, hn::Vec<Words> second, hn::Vec<Floats>& cosine,
                           hn::Vec<Floats>& sine) {
  const Floats d;
  const auto u = mul_add(upper_bits<1>(first), hn::Set(d, 0x1.0p-31f), hn::Set(d, 0x1.0p-32f));
  const auto logarithm = log_of(d, hn::Min(u, hn::Set(d, 1.0f)));
  const auto radius = hn::Sqrt(hn::Mul(hn::Set(d, -2.0f), logarithm));
  sin_cos_of_turns(d, hn::Mul(upper_bits<8>(second), hn::Set(d, 0x1.0p-24f)), sine, cosine);
  cosine = hn::Mul(radius, cosine);
  sine = hn::Mul(radius, sine);
}

void NormalRowsF32(const RandomRows& streams, int count, float* out, std::size_t stride) {
  const Words words;
  const Floats d;
  for (int r = 0; r < streams.rows; r += static_cast<int>(hn::Lanes(d))) {
    for (int i = 0; i < count; i += 4) {
      const Block draws = philox_rows(words, streams, r, static_cast<std::uint32_t>(i / 4));
      for (int pair = 0; pair < 2 && i + 2 * pair < count; ++pair) {
        hn::Vec<Floats> cosine, sine;
        box_muller(draws.word[2 * pair], draws.word[2 * pair + 1], cosine, sine);
        float* target = out + static_cast<std::size_t>(i + 2 * pair) * stride + r;
        hn::StoreU(cosine, d, target);
        if (i + 2 * pair + 1 < count) hn::StoreU(sine, d, target + stride);
      }
    }
  }
}

}  // namespace HWY_NAMESPACE
}  // namespace broadloom
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace broadloom {

HWY_EXPORT(WordsU32);
HWY_EXPORT(WordRowsU32);
HWY_EXPORT(UniformRowsF32);
HWY_EXPORT(NormalRowsF32);

void random_words(const RandomStream& stream, std::uint32_t first_block, int blocks,
                  std::uint32_t* words) {
  HWY_DYNAMIC_DISPATCH(WordsU32)(stream, first_block, blocks, words);
}
void random_words(const RandomRows& streams, std::uint32_t block, std::uint32_t* words,
                  std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(WordRowsU32)(streams, block, words, stride);
}
void random_uniforms(const RandomRows& streams, int count, float* out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(UniformRowsF32)(streams, count, out, stride);
}
void random_normals(const RandomRows& streams, int count, float* out, std::size_t stride) {
  HWY_DYNAMIC_DISPATCH(NormalRowsF32)(streams, count, out, stride);
}

}  // namespace broadloom
#endif  // HWY_ONCE
