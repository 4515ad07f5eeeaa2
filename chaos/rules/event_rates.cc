#include "chaos/rules/event_rates.h"

namespace splitlet::chaos {

int64_t EventRates::InLastMinute(const std::string& uid, Clock::Time now, int64_t count) {
  History& history = histories_[uid];
  // The count fell: the server has lost its events.
  if (!history.empty() && count < history.back().second) history.clear();
  if (history.empty()) history.emplace_back(now - kSpan, 0);
  if (history.back().second != count) history.emplace_back(now, count);
  while (history.size() > 1 && history[1].first <= now - kSpan) history.pop_front();
  return count - history.front().second;
}

}  // namespace splitlet::chaos
