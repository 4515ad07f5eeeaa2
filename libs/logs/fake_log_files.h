#pragma once

/// Logs in memory, for tests.
/// Threads: one.

#include <map>
#include <memory>
#include <string>
#include <utility>

#include "libs/logs/log_file.h"

namespace splitlet::logs {

/// Files in memory; a name can move to another file while the old one is open.
class FakeLogFiles final : public LogFiles {
 public:
  StatusOr<std::unique_ptr<LogFile>> Open(const std::string& path) override {
    const auto found = files_.find(path);
    if (found == files_.end()) return NotFound("no such file or directory");
    return std::make_unique<File>(*this, found->second);
  }
  void Make(const std::string& path, const std::string& content) {
    files_[path] = std::make_shared<std::string>(content);
  }
  void Append(const std::string& path, const std::string& content) { *files_[path] += content; }
  void Rename(const std::string& from, const std::string& to) {
    files_[to] = files_[from];
    files_.erase(from);
  }
  void Empty(const std::string& path) { files_[path]->clear(); }

 private:
  class File final : public LogFile {
   public:
    File(FakeLogFiles& logs, std::shared_ptr<std::string> content)
        : logs_(logs), content_(std::move(content)) {}
    StatusOr<uint64_t> Size() override { return uint64_t{content_->size()}; }
    Status ReadAt(uint64_t offset, size_t max, std::string& bytes) override {
      bytes = offset >= content_->size() ? std::string()
                                         : content_->substr(static_cast<size_t>(offset), max);
      return OkStatus();
    }
    bool IsReplacedAt(const std::string& path) override {
      const auto found = logs_.files_.find(path);
      return found != logs_.files_.end() && found->second != content_;
    }

   private:
    FakeLogFiles& logs_;
    const std::shared_ptr<std::string> content_;
  };
  std::map<std::string, std::shared_ptr<std::string>> files_;
};

}  // namespace splitlet::logs
