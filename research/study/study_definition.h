// The definition of a study as its store keeps it: one input of the results a line, with those of a
// cell below "cell NAME". See docs/formats/study.md.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom {

// Whether `ours` is `theirs` with more seeds at the end. Runs are in the order of seeds, so stored
// runs then keep their numbers. False for studies whose settings a sampler chose.
bool only_adds_seeds(std::string_view theirs, std::string_view ours);

// The sampler that chose a study's settings one after another, in words; "": none.
std::string sampler_of(std::string_view definition);

// Whether `ours` is `theirs` with more cells at the end, and a sampler chose both. Runs of such a
// study are in the order of cells, so stored runs then keep their numbers.
bool only_adds_cells(std::string_view theirs, std::string_view ours);

// The line of a cell with the source of its environments, if they are not the library's.
constexpr char kSourceKey[] = "upstream";

// Leaves out the sources that only one of two definitions names: older studies name none.
void drop_lone_sources(std::string& theirs, std::string& ours);

// Whether no cell of both definitions has two sources.
bool same_sources(const std::string& theirs, const std::string& ours);

// A definition with the sources of another one for those cells that name none.
std::string with_sources(const std::string& definition, const std::string& other);

// A definition with ranges of strata in today's form: older versions wrote "0.4,0.6" from a file
// and "0.4..0.6" from a flag.
std::string plain_definition(const std::string& definition);

// The plan of runs in a definition: all cells with the first seed, then all with the second; with a
// sampler all seeds of the first cell, then all of the second.
struct DefinedRuns {
  std::vector<std::int64_t> seeds;
  std::vector<std::string> cells;  // names
  bool by_cell = false;

  // Whether run `id` (from 1) is planned for this cell (from 1) and seed.
  bool has(std::int64_t id, std::int64_t cell, std::int64_t seed) const;
};
DefinedRuns defined_runs(const std::string& definition);

// The values of a key by names of cells; without cells that do not have it.
std::map<std::string, std::string> defined_values(const std::string& definition,
                                                  const std::string& key);

// A definition and the name of its owner in messages: "the store", "'a.sqlite'".
struct NamedDefinition {
  std::string name, text;
};

// A message about the differences of two studies, the environment first and the seeds last. It
// names a difference of all cells once, and only a few of the cells that one side lacks.
std::string definition_differences(const NamedDefinition& theirs, const NamedDefinition& ours);

}  // namespace broadloom
