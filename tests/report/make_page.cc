// make_page gradients|study|advice|watch IN.json OUT.html: makes the page of a JSON file.
#include <cstdio>
#include <string>

#include "broadloom/record/files.h"
#include "research/report/advice_json.h"
#include "research/report/gradients_page.h"
#include "research/report/study_page.h"
#include "research/report/watch_page.h"

namespace {

broadloom::Status make_page(const std::string& kind, const std::string& in,
                            const std::string& out) {
  broadloom::Result<std::string> json = broadloom::read_file(in);
  if (!json.ok()) return json.status();
  broadloom::Result<std::string> page = kind == "study"    ? broadloom::study_page(json.value())
                                        : kind == "advice" ? broadloom::advice_page(json.value())
                                        : kind == "watch"  ? broadloom::watch_page(json.value())
                                                          : broadloom::gradients_page(json.value());
  if (!page.ok()) return page.status();
  return broadloom::write_file_atomically(out, page.value());
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 4) {
    std::fprintf(stderr, "usage: make_page gradients|study|advice|watch IN.json OUT.html\n");
    return 2;
  }
  const broadloom::Status status = make_page(argv[1], argv[2], argv[3]);
  if (!status.ok()) std::fprintf(stderr, "%s\n", status.message().c_str());
  return static_cast<int>(status.kind());
}
