// The parts of an SVG picture that all figures share: style, text, marks.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace broadloom::svg {

// The head with size, title and description for those who do not see it, the styles of light and
// dark pages and the paper; to be closed with "</svg>\n".
std::string open(double width, double height, const std::string& title, const std::string& note);

std::string escaped(std::string_view text);

// About how wide a sans-serif text of that size is, in pixels: to leave room, not to align.
double text_width(std::string_view text, double size);

// Lines of at most that width, broken at blanks.
std::vector<std::string> wrapped(const std::string& text, double size, double width);

// anchor: start, middle or end; css: a class, or none.
std::string text(double x, double y, std::string_view anchor, std::string_view css,
                 std::string_view words);
std::string line(double x1, double y1, double x2, double y2, std::string_view css);

// The mark of a style (kFigureStyles of them, all different in shape) around a point.
std::string mark(std::size_t style, double x, double y);

// The colour of a share of 0 to 1, dark blue to yellow, whose lightness rises all the way, and
// whether dark letters are the ones to be read on it.
struct Colour {
  std::string fill;
  bool dark_letters = false;
};
Colour heat_colour(double share);

}  // namespace broadloom::svg
