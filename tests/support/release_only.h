// What a test says where a sanitizer need not run it: RELEASE_ONLY("why") as the first line of its
// body, or of SetUp() for a whole fixture. The release build runs it; a sanitizer's build skips it
// and shows the reason. A whole file says so in a comment, which tests/CMakeLists.txt reads.
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
