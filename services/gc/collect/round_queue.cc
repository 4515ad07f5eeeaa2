#include "services/gc/collect/round_queue.h"

#include <utility>

namespace splitlet::gc {

void RoundQueue::Add(std::function<void()> round) {
  rounds_.push_back(std::move(round));
  if (!std::exchange(busy_, true)) Next();
}

void RoundQueue::Next() {
  busy_ = !rounds_.empty();
  if (!busy_) return;
  const auto round = std::move(rounds_.front());
  rounds_.pop_front();
  round();
}

}  // namespace splitlet::gc
