#pragma once

/// Bodies of answers that are being sent. A body on several connections counts once.
/// Threads: one.
/// Errors:  none.

#include <map>
#include <string>

namespace splitlet::https {

class UnsentBodies {
 public:
  void Add(const std::string& body) {
    if (++senders_[&body] == 1) bytes_ += body.size();
  }
  void Remove(const std::string& body) {
    const auto found = senders_.find(&body);
    if (--found->second > 0) return;
    senders_.erase(found);
    bytes_ -= body.size();
  }
  size_t bytes() const { return bytes_; }

 private:
  std::map<const std::string*, size_t> senders_;
  size_t bytes_ = 0;
};

}  // namespace splitlet::https
