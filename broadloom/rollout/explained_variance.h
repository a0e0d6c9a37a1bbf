// The share of the value targets' variance that the critic explains.
#pragma once

#include <cstdint>
#include <span>

namespace broadloom {

// 1 - Var(target - value) / Var(target) with target = advantage + value, over a block's [T, N]
// arrays; 1: perfect, 0: no better than a constant, below 0: worse. NaN if targets do not vary.
// fillers: [T, N] rows to leave out; empty: none.
double explained_variance(std::span<const float> advantages, std::span<const float> values,
                          std::span<const std::uint8_t> fillers = {});

}  // namespace broadloom
