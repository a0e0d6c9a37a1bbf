#include "movie.h"

#include <nanobind/stl/string.h>

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

#include "buffer.h"
#include "errors.h"
#include "research/report/movie.h"

namespace nb = nanobind;

namespace broadloom::python {
namespace {

void check(const std::string& path) {
  const Status status = check_movie(path);
  if (!status.ok()) raise(status);
}

// pictures: contiguous uint8 arrays [height, width, 3] of one size, each even. Each is shown for
// 1 / 25 s, the last of an episode for a second. last: whether each picture is one.
void write(const std::string& path, const nb::list& pictures, const std::vector<bool>& last) {
  MovieFrames frames;
  for (const bool is_last : last) frames.shown.push_back(is_last ? kMovieRate : 1);
  frames.paint = [&pictures](std::size_t i, Raster& out) -> Status {
    const nb::object array = pictures[i];
    const auto shape = nb::cast<nb::tuple>(array.attr("shape"));
    out.height = nb::cast<int>(shape[0]);
    out.width = nb::cast<int>(shape[1]);
    const std::size_t count = std::size_t{3} * out.width * out.height;
    const Buffer buffer(array, "picture", count, 1);
    out.rgb.assign(buffer.as<std::uint8_t>(), buffer.as<std::uint8_t>() + count);
    return {};
  };
  const Status status = write_movie(path, frames);
  if (!status.ok()) raise(status);
}

}  // namespace

void bind_movies(nb::module_& m) {
  m.def("check_movie", &check, nb::arg("path"));
  m.def("write_movie", &write, nb::arg("path"), nb::arg("pictures"), nb::arg("last"));
}

}  // namespace broadloom::python
