#include "libs/exec/strand_pool.h"

#include <system_error>
#include <utility>

namespace splitlet::exec {

void StrandPool::Run(const std::string& key, Task task) {
  const std::lock_guard lock(mutex_);
  if (stopping_) return;
  for (auto& thread : ended_) thread.join();
  ended_.clear();
  Strand& strand = strands_[key];
  strand.tasks.push_back(std::move(task));
  if (strand.running || strand.tasks.size() > 1) return;
  ready_.push_back(key);
  if (idle_ >= ready_.size()) {
    wake_.notify_one();
  } else if (threads_.size() < MaxThreads()) {
    AddThread();  // else later
  }
}

bool StrandPool::AddThread() {
  const auto self = threads_.emplace(threads_.end());
  const auto work = [this, self] { Work(self); };
  try {
    *self = options_.make_thread ? options_.make_thread(work) : std::thread(work);
  } catch (const std::system_error&) {
    threads_.erase(self);
    return false;
  }
  return true;
}

void StrandPool::Retry() {
  const std::lock_guard lock(mutex_);
  for (auto& [key, strand] : strands_)
    if (strand.running && ++strand.rounds == options_.slow_rounds) ++slow_;
  // Some busy threads may be about to take waiting keys: then one thread too many is made.
  for (size_t missing = ready_.size() - std::min(idle_, ready_.size());
       !stopping_ && missing > 0 && threads_.size() < MaxThreads(); --missing)
    if (!AddThread()) return;
}

void StrandPool::Work(std::list<std::thread>::iterator self) {
  std::unique_lock lock(mutex_);
  while (!stopping_) {
    if (!ready_.empty()) {
      RunFront(lock);
      continue;
    }
    ++idle_;
    const bool woken =
        wake_.wait_for(lock, options_.idle_limit, [this] { return stopping_ || !ready_.empty(); });
    --idle_;
    if (woken) continue;
    // Threads that ended before free their stacks now, not when the next work comes.
    std::list<std::thread> before = std::exchange(ended_, {});
    ended_.splice(ended_.end(), threads_, self);
    lock.unlock();
    for (auto& thread : before) thread.join();
    return;
  }
}

void StrandPool::RunFront(std::unique_lock<std::mutex>& lock) {
  const std::string key = std::move(ready_.front());
  ready_.pop_front();
  Strand& strand = strands_.at(key);
  strand.running = true;
  strand.rounds = 0;
  Task task = std::move(strand.tasks.front());
  strand.tasks.pop_front();
  lock.unlock();
  task();
  task = nullptr;  // its captures are destroyed without the lock
  lock.lock();
  strand.running = false;
  if (IsSlow(strand)) --slow_;
  if (strand.tasks.empty()) {
    strands_.erase(key);
  } else {
    ready_.push_back(key);  // behind the other keys: none can take a thread for itself
  }
}

size_t StrandPool::Pending(const std::string& key) const {
  const std::lock_guard lock(mutex_);
  const auto it = strands_.find(key);
  return it == strands_.end() ? 0 : it->second.tasks.size() + (it->second.running ? 1 : 0);
}

void StrandPool::Stop() {
  std::list<std::thread> all;
  std::deque<Task> dropped;
  {
    const std::lock_guard lock(mutex_);
    stopping_ = true;
    ready_.clear();
    for (auto& [key, strand] : strands_) {
      for (auto& task : strand.tasks) dropped.push_back(std::move(task));
      strand.tasks.clear();
    }
    all.splice(all.end(), threads_);
    all.splice(all.end(), ended_);
  }
  wake_.notify_all();
  for (auto& thread : all) thread.join();
}

StrandPool::Load StrandPool::load() const {
  const std::lock_guard lock(mutex_);
  return {threads_.size(), threads_.size() - idle_, ready_.size()};
}

}  // namespace splitlet::exec
