// A picture of a state, for `broadloom watch`. It consists of shapes in the environment's own
// units; x points right and y up. Later shapes cover earlier ones. The viewer chooses pixels and
// colours.
//
//   static void draw(const Params&, const State& state, const float* action, Drawing& out) {
//     out.view(-1.0, 0.0, 1.0, 2.0);                                // the same for all states
//     out.line(Ink::kMuted, 0.02, {{-1.0, 0.0}, {1.0, 0.0}});       // the ground
//     out.circle(Ink::kInk, {state.x, state.height}, 0.1);
//     if (action != nullptr) out.action = action[0] > 0.0f ? "push up" : "let go";
//   }
#pragma once

#include <cmath>
#include <string>
#include <utility>
#include <vector>

namespace broadloom {

// Colours, named by their use. The page has a light and a dark variant of each.
enum class Ink : int {
  kInk,     // the subject
  kMuted,   // ground and supports
  kFaint,   // auxiliary lines
  kPanel,   // surfaces
  kPaper,   // the page
  kAccent,  // the policy's action
  kGood,    // goals
  kBad,     // failures and hazards
  kFirstColour
};
inline constexpr int kColours = 12;  // then they repeat
// Colour number n >= 0, modulo kColours. All of them are easy to tell apart.
constexpr Ink colour(int n) {
  return static_cast<Ink>(static_cast<int>(Ink::kFirstColour) + n % kColours);
}

// How states are shown.
enum class ViewKind {
  kDrawn,  // lines and areas
  k3d      // a 3D image from the simulator's renderer
};

// A point in the environment's units.
struct Point {
  double x, y;
};

// One shape. Use the functions of Drawing to make it.
struct Shape {
  // The kinds of shapes, each with its numbers in order.
  enum class Kind {
    kLine,       // width; x, y of each point
    kPolygon,    // filled: x, y of each corner
    kRectangle,  // filled: left, bottom, width, height
    kCircle,     // filled: x, y, radius
    kText,       // x, y of its middle, height
    kImage       // left, bottom, width, height; text: the picture's file as a data URI
  };
  Kind kind = Kind::kLine;      // fixes the meaning of `numbers`
  Ink ink = Ink::kInk;          // its colour
  double strength = 1.0;        // opacity, from 0 to 1
  std::vector<double> numbers;  // in the order listed at Kind
  std::string text;             // for kText and kImage

  bool operator==(const Shape&) const = default;
};

// Shapes in the order in which they are drawn.
struct Drawing {
  // The visible part of the plane. Keep it fixed during an episode, or the picture shakes.
  double left = 0.0, bottom = 0.0, right = 0.0, top = 0.0;
  std::vector<Shape> shapes;  // the first lies lowest
  std::string action;         // in words, "push left"; empty: show its numbers
  // Show the previous state's picture again; `shapes` is empty. Use it for costly pictures of
  // states that follow each other faster than anyone can see.
  bool as_before = false;

  bool empty() const { return shapes.empty(); }
  // Sets the visible part of the plane.
  void view(double x_low, double y_low, double x_high, double y_high) {
    left = x_low;
    bottom = y_low;
    right = x_high;
    top = y_high;
  }
  // Connects the points by straight lines.
  void line(Ink ink, double width, const std::vector<Point>& points) {
    std::vector<double> numbers{width};
    for (const Point& point : points) numbers.insert(numbers.end(), {point.x, point.y});
    add(Shape::Kind::kLine, ink, std::move(numbers));
  }
  // Filled.
  void polygon(Ink ink, const std::vector<Point>& corners) {
    std::vector<double> numbers;
    for (const Point& corner : corners) numbers.insert(numbers.end(), {corner.x, corner.y});
    add(Shape::Kind::kPolygon, ink, std::move(numbers));
  }
  // A filled rectangle. low: its lower left corner. strength: opacity, from 0 to 1.
  void rectangle(Ink ink, Point low, double width, double height, double strength = 1.0) {
    add(Shape::Kind::kRectangle, ink, {low.x, low.y, width, height}, strength);
  }
  // Filled.
  void circle(Ink ink, Point centre, double radius) {
    add(Shape::Kind::kCircle, ink, {centre.x, centre.y, radius});
  }
  // Text centred at `middle`. height: of its letters.
  void text(Ink ink, Point middle, double height, const std::string& words) {
    add(Shape::Kind::kText, ink, {middle.x, middle.y, height});
    shapes.back().text = words;
  }
  // An image. uri: its file as a data URI, "data:image/webp;base64,...".
  void image(Point low, double width, double height, std::string uri) {
    add(Shape::Kind::kImage, Ink::kInk, {low.x, low.y, width, height});
    shapes.back().text = std::move(uri);
  }
  // A shaft with a head at `tip`. The head is six widths long, or as long as a shorter arrow. Draws
  // nothing if the arrow has no length.
  void arrow(Ink ink, double width, Point tail, Point tip) {
    const double x = tip.x - tail.x, y = tip.y - tail.y;
    const double length = std::sqrt(x * x + y * y);
    if (!(length > 0.0)) return;
    const double head = length < 6.0 * width ? length : 6.0 * width;
    const double along_x = x / length * head, along_y = y / length * head;
    const Point neck{tip.x - along_x, tip.y - along_y};
    line(ink, width, {tail, neck});
    polygon(ink, {tip,
                  {neck.x - 0.5 * along_y, neck.y + 0.5 * along_x},
                  {neck.x + 0.5 * along_y, neck.y - 0.5 * along_x}});
  }

 private:
  void add(Shape::Kind kind, Ink ink, std::vector<double> numbers, double strength = 1.0) {
    shapes.push_back({kind, ink, strength, std::move(numbers), ""});
  }
};

}  // namespace broadloom
