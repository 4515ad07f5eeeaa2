#pragma once

/// Scrapes the metrics of all processes at the same time, each for at most a second.
/// In:    requests for metrics.
/// Owns:  the gathering under way; requests that come during it share its result.
/// Out:   scrapes of the processes.
/// Killed at any line: the scraper scrapes again.
/// Threads: loop thread; for the source see MetricsSource.
/// Errors: none: a process that does not answer is left out, and has splitlet_scrape_up 0.
/// Source: docs/behaviour/node-api.md, "Metrics".

#include <functional>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "libs/base/status.h"
#include "libs/exec/exec.h"
#include "services/node-api/metrics/merge.h"

namespace splitlet::node_api {

class MetricsSource {
 public:
  using Done = std::function<void(StatusOr<std::string> text)>;
  virtual ~MetricsSource() = default;
  /// Calls `done` once, from any thread, possibly before this returns.
  virtual void Ask(const std::string& process, const Deadline& deadline, Done done) = 0;
};

class Gather {
 public:
  struct Deps {
    const Clock& clock;
    exec::EventLoop& loop;
    exec::Strands& strands;
    std::shared_ptr<MetricsSource> source;
    std::vector<std::string> processes;  // without node-api
    std::function<std::string()> own;    // called on the loop
    std::string own_name;
  };
  static constexpr Duration kLimit = std::chrono::seconds{1};

  explicit Gather(Deps deps) : deps_(std::move(deps)) {}
  Gather(const Gather&) = delete;
  Gather& operator=(const Gather&) = delete;

  using Done = std::function<void(const std::vector<Scraped>& scraped)>;
  void Get(Done done);

 private:
  void OnAnswer(uint64_t round, const std::string& process, StatusOr<std::string> text);
  void Finish();

  Deps deps_;
  uint64_t round_ = 0;
  std::vector<Done> waiting_;
  std::map<std::string, std::string> texts_;  // metrics of the processes that have answered
  size_t missing_ = 0;
};

/// The family splitlet_scrape_up{process} as text: 1 or 0.
std::string UpText(const std::vector<std::string>& processes,
                   const std::map<std::string, std::string>& answered);

}  // namespace splitlet::node_api
