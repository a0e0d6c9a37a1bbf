// How much of the value targets' variance the critic explains.
#pragma once

#include <cstdint>
#include <span>

namespace broadloom {

// 1 - Var(target - value) / Var(target) with target = advantage + value, over a block's [T, N]
// arrays; 1: perfect, 0: no better than a constant, below 0: worse. Not a number where targets do
// not vary. fillers: [T, N] rows that do not count; empty: all do.
double explained_variance(std::span<const float> advantages, std::span<const float> values,
                          std::span<const std::uint8_t> fillers = {});

}  // namespace broadloom
