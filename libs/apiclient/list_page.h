#pragma once

/// A page of a list; its items are moved out without a copy.
/// Threads: any; for strands.
/// Errors:  an answer's (client.h); DATA_LOSS: the page is unreadable.

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
  std::string next;  // continue token of the next page; empty: this is the last
};
/// `list` has the type of the list, with fields `metadata` and `items`.
StatusOr<ListPage> ReadListPage(const Response& response, const google::protobuf::Message& list);

}  // namespace splitlet::apiclient
