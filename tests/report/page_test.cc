#include "research/report/page.h"

#include <gtest/gtest.h>

#include <string>

#include "research/report/gradients_page.h"
#include "research/report/study_page.h"

namespace broadloom {
namespace {

std::size_t count(const std::string& text, const std::string& what) {
  std::size_t found = 0;
  for (std::size_t i = text.find(what); i != std::string::npos; i = text.find(what, i + 1)) {
    ++found;
  }
  return found;
}

TEST(Page, PutsPartsInOnceAndDoesNotSearchThem) {
  const auto page = fill_page("a {{one}} b {{two}}{{one}}", {{"one", "{{two}}"}, {"two", "2"}});
  ASSERT_TRUE(page.ok());
  EXPECT_EQ(page.value(), "a {{two}} b 2{{two}}");
  EXPECT_EQ(fill_page("", {}).value(), "");
}

TEST(Page, RefusesTemplatesItCannotFill) {
  const auto unknown = fill_page("{{style}}", {{"script", ""}});
  EXPECT_EQ(unknown.status().kind(), ErrorKind::kMismatch);
  EXPECT_NE(unknown.status().message().find("'style'"), std::string::npos);
  EXPECT_EQ(fill_page("x {{open", {}).status().kind(), ErrorKind::kMismatch);
}

TEST(Page, JsonCannotEndItsScript) {
  EXPECT_EQ(json_for_script(R"({"a": "</script><!-- b"})"),
            R"({"a": "\u003c/script>\u003c!-- b"})");
}

TEST(GradientsPage, HoldsTheDataTheScriptsAndTheLicence) {
  const auto page =
      gradients_page(R"({"format": 1, "notes": ["</script><b>{{chart_js}}</b>"], "variance": []})");
  ASSERT_TRUE(page.ok());
  const std::string& html = page.value();
  EXPECT_NE(html.find(R"("\u003c/script>\u003cb>{{chart_js}}\u003c/b>")"), std::string::npos);
  EXPECT_EQ(count(html, "</script>"), count(html, "<script"));
  EXPECT_EQ(count(html, "{{"), 1U);  // the one in the data
  EXPECT_NE(html.find("* Chart.js v3."), std::string::npos);
  EXPECT_NE(html.find("Released under the MIT License"), std::string::npos);
  EXPECT_NE(html.find("The above copyright notice and this permission notice shall be included"),
            std::string::npos);
}

TEST(GradientsPage, AsksForNothingFromElsewhere) {
  const std::string html = gradients_page(R"({"format": 1})").take();
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* loads : {"src=\"", "src='", "<link", "@import", "url(", "fetch(",
                            "XMLHttpRequest", "import(", "href=\"http", "WebSocket"}) {
    EXPECT_EQ(count(html, loads), 0U) << loads;
  }
}

TEST(GradientsPage, RefusesOtherTexts) {
  EXPECT_EQ(gradients_page("{\"format\": ").status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(gradients_page("[1]").status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(gradients_page("{}").status().kind(), ErrorKind::kMismatch);
  const auto newer = gradients_page(R"({"format": 2})");
  EXPECT_EQ(newer.status().kind(), ErrorKind::kMismatch);
  EXPECT_NE(newer.status().message().find("format 2"), std::string::npos);
}

TEST(StudyPage, HoldsTheDataAndAsksForNothing) {
  const auto page =
      study_page(R"({"format": 3, "kind": "study", "title": "</script>{{page_js}}"})");
  ASSERT_TRUE(page.ok());
  const std::string& html = page.value();
  EXPECT_NE(html.find(R"("\u003c/script>{{page_js}}")"), std::string::npos);
  EXPECT_EQ(count(html, "</script>"), count(html, "<script"));
  EXPECT_EQ(count(html, "{{"), 1U);  // the one in the data
  EXPECT_NE(html.find("<title>Study</title>"), std::string::npos);
  EXPECT_NE(html.find("default-src 'none'"), std::string::npos);
  for (const char* loads : {"src=\"", "src='", "<link", "@import", "url(", "fetch(",
                            "XMLHttpRequest", "import(", "href=\"http", "WebSocket"}) {
    EXPECT_EQ(count(html, loads), 0U) << loads;
  }
}

TEST(StudyPage, RefusesOtherTexts) {
  EXPECT_EQ(study_page("").status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(study_page("[]").status().kind(), ErrorKind::kCorrupt);
  EXPECT_EQ(study_page(R"({"kind": "study"})").status().kind(), ErrorKind::kMismatch);
  EXPECT_EQ(study_page(R"({"format": 1, "kind": "study"})").status().kind(), ErrorKind::kMismatch);
  const auto other = study_page(R"({"format": 3, "kind": "ledger"})");
  EXPECT_EQ(other.status().kind(), ErrorKind::kMismatch);
  EXPECT_NE(other.status().message().find("\"ledger\""), std::string::npos);
  EXPECT_NE(study_page(R"({"format": 3})").status().message().find("broadloom report"),
            std::string::npos);
}

}  // namespace
}  // namespace broadloom
