// Lets builds with sanitizers skip a test: RELEASE_ONLY("why") as the first line of its body, or of
// a fixture's SetUp(). The release build runs the test; a sanitizer's build shows the reason. For a
// whole file use the comment that tests/CMakeLists.txt reads.
#pragma once

#include <gtest/gtest.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define BROADLOOM_SANITIZED_BUILD 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define BROADLOOM_SANITIZED_BUILD 1
#endif
#endif

#ifdef BROADLOOM_SANITIZED_BUILD
#define RELEASE_ONLY(why) GTEST_SKIP() << "release only: " why
#else
#define RELEASE_ONLY(why) static_assert(sizeof(why) > 1, "say why a sanitizer need not run this")
#endif
