#include "tests/harness/leak_check.h"

#include <sys/inotify.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <filesystem>
#include <iterator>
#include <optional>

#include "libs/base/status.h"
#include "libs/operate/runtime_leaks.h"

namespace splitlet::harness {

CreatedNames::CreatedNames(const std::string& folder)
    : folder_(folder), inotify_(inotify_init1(IN_NONBLOCK | IN_CLOEXEC)) {
  std::filesystem::create_directories(folder_);
  CHECK(inotify_add_watch(inotify_.get(), folder_.c_str(), IN_CREATE | IN_MOVED_TO) >= 0,
        "watch {}: {}", folder_, strerror(errno));
}

const std::set<std::string>& CreatedNames::All() {
  alignas(inotify_event) std::array<char, 65536> events{};
  ssize_t size = 0;
  while ((size = read(inotify_.get(), events.data(), events.size())) > 0)
    for (ssize_t at = 0; at < size;) {
      const auto* event = reinterpret_cast<const inotify_event*>(events.data() + at);
      CHECK((event->mask & IN_Q_OVERFLOW) == 0, "too many changes in {}", folder_);
      if (event->len > 0) names_.insert(event->name);
      at += static_cast<ssize_t>(sizeof(inotify_event) + event->len);
    }
  return names_;
}

LeakCheck::LeakCheck(RuntimeView& view, operate::PodPlaces places)
    : view_(view),
      places_(std::move(places)),
      tasks_(places_.containerd + "/state/io.containerd.runtime.v2.task/k8s.io"),
      pods_(places_.root + "/pods"),
      before_(Now()) {}

std::set<std::string> LeakCheck::Now() {
  std::set<std::string> now =
      operate::HostResourcesOf(places_, {.ids = tasks_.All(), .uids = pods_.All()});
  for (const auto& s : view_.Sandboxes()) now.insert("sandbox " + s.id.str());
  for (const auto& c : view_.Containers()) now.insert("container " + c.id.str());
  return now;
}

std::set<std::string> LeakCheck::Left() {
  std::set<std::string> left;
  std::ranges::set_difference(Now(), before_, std::inserter(left, left.end()));
  return left;
}

std::set<std::string> LeakCheck::RemoveRuntimeLeaks(const std::set<std::string>& left) {
  std::set<std::string> listed;
  for (const auto& s : view_.Sandboxes()) listed.insert(s.id.str());
  for (const auto& c : view_.Containers()) listed.insert(c.id.str());
  const auto leaks = operate::RuntimeLeaksOf(left, listed);
  for (const auto& resource : leaks) operate::RemoveHostResource(places_, resource);
  return leaks;
}

}  // namespace splitlet::harness
