// watch.html: episodes as an animation. docs/watch.md describes it and its JSON.
#pragma once

#include <string>
#include <vector>

#include "broadloom/core/status.h"
#include "broadloom/evaluate/watch.h"
#include "broadloom/record/json.h"

namespace broadloom {

// source: the run or checkpoint as given; command: the arguments of the program.
Json watch_json(const WatchedEpisodes& watched, const std::string& source,
                const std::vector<std::string>& command);

// Why an episode ended: one of spec.end_reasons, or "cut" if it was not played to its end.
std::string end_words(const EvalEpisode& episode, const EnvSpec& spec);

// The page for that JSON text. Errors: those of make_data_page().
Result<std::string> watch_page(const std::string& json);

}  // namespace broadloom
