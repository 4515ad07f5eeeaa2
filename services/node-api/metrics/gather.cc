#include "services/node-api/metrics/gather.h"

#include <utility>

namespace splitlet::node_api {

std::string UpText(const std::vector<std::string>& processes,
                   const std::map<std::string, std::string>& answered) {
  static constexpr const char* kName = "splitlet_scrape_up";
  std::string text = fmt::format(
      "# HELP {} 1 if the last scrape of the process succeeded, else 0\n# TYPE {} gauge\n", kName,
      kName);
  for (const std::string& process : processes)
    text += fmt::format("{}{{process=\"{}\"}} {}\n", kName, process,
                        answered.contains(process) ? 1 : 0);
  return text;
}

void Gather::Get(Done done) {
  waiting_.push_back(std::move(done));
  if (waiting_.size() > 1) return;
  texts_.clear();
  missing_ = deps_.processes.size();
  const uint64_t round = ++round_;
  if (missing_ == 0) return Finish();
  for (const std::string& process : deps_.processes)
    deps_.source->Ask(
        process, After(deps_.clock, kLimit), [this, round, process](StatusOr<std::string> text) {
          deps_.loop.Post(
              [this, round, process, text = std::move(text)] { OnAnswer(round, process, text); });
        });
}

void Gather::OnAnswer(uint64_t round, const std::string& process, StatusOr<std::string> text) {
  if (round != round_ || waiting_.empty()) return;
  if (text.ok()) texts_[process] = *std::move(text);
  if (--missing_ == 0) Finish();
}

void Gather::Finish() {
  std::vector<Scraped> scraped = {{deps_.own_name, deps_.own()}};
  scraped.push_back({deps_.own_name, UpText(deps_.processes, texts_)});
  for (auto& [process, text] : texts_) scraped.push_back({process, std::move(text)});
  for (const auto& done : std::exchange(waiting_, {})) done(scraped);
}

}  // namespace splitlet::node_api
