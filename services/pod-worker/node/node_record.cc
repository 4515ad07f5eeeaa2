#include "services/pod-worker/node/node_record.h"

#include <utility>

#include "libs/bus/names.h"
#include "splitlet/v1/records.pb.h"

namespace splitlet::pod_worker {

NodeRecord::NodeRecord(bus::Table<v1::WorkerRecord>& table, const Log& log)
    : table_(table), log_(log), record_(std::make_unique<v1::WorkerRecord>()) {}

NodeRecord::~NodeRecord() = default;

void NodeRecord::Change(const std::function<void(v1::WorkerNode& node)>& change) {
  change(*record_->mutable_node());
  if (published_) Put();
}

void NodeRecord::Publish() {
  published_ = true;
  Put();
}

void NodeRecord::Put() {
  const bool empty = record_->node().ByteSizeLong() == 0;
  std::string bytes = empty ? std::string() : bus::SerializeSorted(*record_);
  if (std::exchange(put_, bytes) == bytes) return;
  if (empty)
    table_.Remove(bus::kNodeKey);
  else
    log_.LogIfError(table_.Put(bus::kNodeKey, *record_), "publish the record of the node");
}

}  // namespace splitlet::pod_worker
