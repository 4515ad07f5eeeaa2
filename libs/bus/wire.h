#pragma once

/// The messages of message.h as protobuf, and back, checked. Any thread.
/// Errors: INVALID_ARGUMENT for bytes that are no message.
/// Source: proto/splitlet/v1/records.proto; proto/splitlet/v1/services.proto.

#include <string>
#include <string_view>

#include "libs/bus/message.h"

namespace splitlet::v1 {
class ListItem;
class ListRequest;
}  // namespace splitlet::v1

namespace splitlet::bus {

std::string EncodeEnvelope(const Envelope& envelope);
StatusOr<Envelope> DecodeEnvelope(std::string_view bytes);

void EncodeRequest(const std::string& table, const Since& since, v1::ListRequest& request);
Since DecodeSince(const v1::ListRequest& request);

/// A list is a head, then one item for each change.
void EncodeHead(const ListAnswer& answer, v1::ListItem& item);
void EncodeItem(const Change& change, v1::ListItem& item);
/// A reader accepts no longer list from an owner.
inline constexpr size_t kMaxListed = 100'000, kMaxListBytes = 512u << 20;
/// Takes the next item of a list; the first must be the head. RESOURCE_EXHAUSTED after kMaxListed.
Status DecodeItem(v1::ListItem& item, bool first, ListAnswer& answer);

}  // namespace splitlet::bus
