#include "libs/cri/trace_scope.h"

#include <utility>

namespace splitlet::cri {
namespace {

std::string& CurrentTrace() {
  thread_local std::string traceparent;
  return traceparent;
}

}  // namespace

TraceScope::TraceScope(std::string traceparent)
    : before_(std::exchange(CurrentTrace(), std::move(traceparent))) {}

TraceScope::~TraceScope() { CurrentTrace() = before_; }

const std::string& TraceScope::Current() { return CurrentTrace(); }

}  // namespace splitlet::cri
