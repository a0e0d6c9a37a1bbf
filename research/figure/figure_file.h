// A figure from the TOML file that describes it and the CSV files that this names, which lie beside
// it.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "research/figure/figure.h"

namespace broadloom {

struct FigureFile {
  Figure figure;
  std::vector<std::string> notes;  // rows that were left out, in words
};

// kNotFound, kIo, kInvalidConfig: "file:line: ..." of the TOML file or of the data: an unknown key
// or column (with the nearest), a filter that no row passes, a cell that is no number, two rows at
// one place of a line or heat map, more series than can be told apart.
Result<FigureFile> read_figure(const std::string& path);

}  // namespace broadloom
