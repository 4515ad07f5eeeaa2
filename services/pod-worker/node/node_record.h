#pragma once

/// pod-worker's record of the node, key `node` of the table `workers`: several parts write their
/// fields of it.
/// In:      Change by each part; Publish when the runtime is listed.
/// Owns:    the record.
/// Out:     puts to `workers`, only when the record differs from the last one. An empty record is
///          removed.
/// Threads: the loop's.
/// Errors:  a put that fails is logged.
/// Source:  proto/splitlet/v1/records.proto.

#include <functional>
#include <memory>
#include <string>

#include "libs/base/log.h"
#include "libs/bus/typed.h"

namespace splitlet::v1 {
class WorkerNode;
class WorkerRecord;
}  // namespace splitlet::v1

namespace splitlet::pod_worker {

class NodeRecord {
 public:
  NodeRecord(bus::Table<v1::WorkerRecord>& table, const Log& log);
  ~NodeRecord();
  NodeRecord(const NodeRecord&) = delete;
  NodeRecord& operator=(const NodeRecord&) = delete;

  void Change(const std::function<void(v1::WorkerNode& node)>& change);
  /// Puts the record from now on, before the table is complete: a reader of a complete table takes
  /// a missing device for one that the node never had.
  void Publish();

 private:
  void Put();

  bus::Table<v1::WorkerRecord>& table_;
  const Log& log_;
  const std::unique_ptr<v1::WorkerRecord> record_;
  std::string put_;  // bytes of the record in the table; empty: none
  bool published_ = false;
};

}  // namespace splitlet::pod_worker
