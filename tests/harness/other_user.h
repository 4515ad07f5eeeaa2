#pragma once

/// The user 65534 without other groups, for a while; for tests of what strangers may not do.
/// Threads: changes all of the process.
/// Errors: one that is not root cannot become another: the test asks CanBeOthers() first.

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
