#pragma once

/// One page of a list, its items taken out of it without a copy.
/// Threads: any; for strands.
/// Errors:  those of an answer (client.h); DATA_LOSS for one that cannot be read.

#include <memory>
#include <string>
#include <vector>

#include "libs/apiclient/transport.h"

namespace google::protobuf {
class Message;
}

namespace splitlet::apiclient {

struct ListPage {
  std::vector<std::shared_ptr<const google::protobuf::Message>> objects;
  std::string resource_version;
  std::string next;  // what to ask the next page with; empty: there is none
};
/// `list`: of the type of the list, which has fields `metadata` and `items`.
StatusOr<ListPage> ReadListPage(const Response& response, const google::protobuf::Message& list);

}  // namespace splitlet::apiclient
