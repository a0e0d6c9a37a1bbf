// Why the advised setting and not another.
#pragma once

#include <string>
#include <vector>

#include "research/advise/advice.h"

namespace broadloom {

// Beside what it was compared with, key by key, beside the defaults and beside a change of shape,
// and what the laboratory found of its gradients. Not for an advice of kNothing.
std::vector<std::string> reason_sentences(const AdviceEvidence& evidence, const Advice& advice);

}  // namespace broadloom
