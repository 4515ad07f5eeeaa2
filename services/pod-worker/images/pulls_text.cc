#include "services/pod-worker/images/pulls_text.h"

#include <fmt/format.h>

namespace splitlet::pod_worker {

std::string PullsText(const std::map<std::string, PullMemory>& pulls, const std::string& before,
                      WallTime now) {
  const std::string time = FormatRfc3339(now);
  std::string text;
  for (const auto& [image, memory] : pulls) {
    if (!memory.pulling) continue;
    const std::string pull = fmt::format("image \"{}\" since ", image);
    const size_t known = before.find(pull);
    text += (text.empty() ? "waits for the pull of " : ", ") + pull;
    text += known == std::string::npos ? time : before.substr(known + pull.size(), time.size());
  }
  return text;
}

}  // namespace splitlet::pod_worker
