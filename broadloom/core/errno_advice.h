// Advice to users about failed calls of the system.
#pragma once

#include <cerrno>

namespace broadloom {

// Advice that continues a message, "; free some space"; "" if there is none.
inline const char* advice_on_errno(int error) {
  switch (error) {
    case ENOSPC:
    case EDQUOT:
      return "; free some space";
    case EFBIG:
      return "; raise the limit of file sizes (ulimit -f), or free some space";
    case EACCES:
    case EPERM:
    case EROFS:
      return "; choose another place, or ask the owner for permission";
    default:
      return "";
  }
}

}  // namespace broadloom
