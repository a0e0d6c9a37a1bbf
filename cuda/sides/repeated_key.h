// Whether launches that a caller makes again and again are those of the time before.
#pragma once

#include <cstddef>
#include <cstring>
#include <type_traits>
#include <utility>
#include <vector>

namespace broadloom::cuda {

// The bytes of what they follow from: where those are the same, so is that. (Where they are not,
// which bytes between members may be the reason of, they are launched anew, which is no fault.)
class RepeatedKey {
 public:
  // Whether it is that of the last call.
  template <class Key>
  bool is_again(const Key& key) {
    static_assert(std::is_trivially_copyable_v<Key>);
    std::vector<std::byte> bytes(sizeof(key));
    std::memcpy(bytes.data(), &key, sizeof(key));
    const bool same = bytes == last_;
    last_ = std::move(bytes);
    return same;
  }

 private:
  std::vector<std::byte> last_;
};

}  // namespace broadloom::cuda
