// The definition of a study, as its store keeps it: one thing a line that results depend on, those
// of a cell below "cell NAME". See docs/formats/study.md.
#pragma once

#include <string>
#include <string_view>

namespace broadloom {

// Whether the second definition is the first one with more seeds after those it has. Runs of a plan
// are in the order of its seeds, so all that a store has keeps its place.
bool only_adds_seeds(std::string_view theirs, std::string_view ours);

// A definition with the ranges of its strata as this program writes them: before, "0.4,0.6" from a
// file stayed beside "0.4..0.6" from a flag.
std::string plain_definition(const std::string& definition);

// A definition, and what a message calls whoever has it: "the store", "'a.sqlite'".
struct NamedDefinition {
  std::string name, text;
};

// What differs between two studies, as a message: the environment first, the seeds last; what
// differs in all cells alike is said once, and of cells that only one has a few are named.
std::string definition_differences(const NamedDefinition& theirs, const NamedDefinition& ours);

}  // namespace broadloom
