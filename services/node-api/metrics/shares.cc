#include "services/node-api/metrics/shares.h"

#include <iterator>
#include <utility>

namespace splitlet::node_api {

bool Shares::IsSummed(const std::string& family) const {
  const auto found = showing_.find(family);
  return found != showing_.end() && found->second.size() > 1;
}

void Shares::Take(const std::map<std::string, Answer>& answers) {
  for (auto& [name, process] : processes_) process.answered = false;
  for (const auto& [name, answer] : answers)
    for (const Sample& sample : answer.samples) showing_[sample.family].insert(name);
  for (const auto& [name, answer] : answers) TakeAnswer(processes_[name], answer);
}

void Shares::TakeAnswer(Process& process, const Answer& answer) {
  process.answered = true;
  const bool restarted =
      answer.started_at && process.started_at && *answer.started_at != *process.started_at;
  if (answer.started_at) process.started_at = answer.started_at;
  for (Share& share : process.shares) {
    share.shown = false;
    if (restarted && IsSummed(share.family)) share.before += std::exchange(share.last, 0);
  }
  for (const Sample& sample : answer.samples) TakeSample(process, sample);
  ForgetAbsent(process);
}

void Shares::TakeSample(Process& process, const Sample& sample) {
  const auto found = process.by_series.find(sample.series);
  if (found == process.by_series.end()) {
    process.shares.push_back(
        {.series = sample.series, .family = sample.family, .last = sample.value});
    const auto place = std::prev(process.shares.end());
    process.by_series.emplace(place->series, place);
    return;
  }
  Share& share = *found->second;
  if (sample.value < share.last && IsSummed(share.family)) share.before += share.last;
  share.last = sample.value;
  share.shown = true;
}

void Shares::ForgetAbsent(Process& process) {
  size_t absent = 0;
  for (auto share = process.shares.begin(); share != process.shares.end();) {
    if (share->shown || (IsSummed(share->family) && ++absent <= kMaxAbsent)) {
      // A returning series counts from 0 again.
      if (!share->shown) share->before += std::exchange(share->last, 0);
      ++share;
      continue;
    }
    process.by_series.erase(share->series);
    share = process.shares.erase(share);
  }
}

void Shares::ForEach(const Visit& visit) const {
  for (const auto& [name, process] : processes_)
    for (const Share& share : process.shares)
      if (process.answered || IsSummed(share.family))
        visit(share.family, share.series, share.value());
}

}  // namespace splitlet::node_api
