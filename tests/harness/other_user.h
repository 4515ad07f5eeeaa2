#pragma once

/// Runs as user 65534 without other groups during its lifetime, for tests of denied access.
/// Threads: changes the whole process.
/// Errors: only root can change the user, so the test calls CanBeOthers() first.

#include <grp.h>
#include <unistd.h>

#include <cstdlib>
#include <vector>

namespace splitlet::harness {

inline bool CanBeOthers() { return geteuid() == 0; }

class OtherUser {
 public:
  static constexpr unsigned kId = 65534;

  OtherUser() : groups_(static_cast<size_t>(getgroups(0, nullptr))) {
    if (getgroups(static_cast<int>(groups_.size()), groups_.data()) < 0 ||
        setgroups(0, nullptr) != 0 || setegid(kId) != 0 || seteuid(kId) != 0)
      std::abort();
  }
  ~OtherUser() {
    if (seteuid(0) != 0 || setegid(0) != 0 || setgroups(groups_.size(), groups_.data()) != 0)
      std::abort();
  }
  OtherUser(const OtherUser&) = delete;
  OtherUser& operator=(const OtherUser&) = delete;

 private:
  std::vector<gid_t> groups_;
};

}  // namespace splitlet::harness
