#include "libs/apiclient/list_page.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/apiclient/wire.h"

namespace splitlet::apiclient {

using google::protobuf::Message;
using k8s::io::apimachinery::pkg::apis::meta::v1::ListMeta;

StatusOr<ListPage> ReadListPage(const Response& response, const Message& list) {
  const Status status = StatusOf(response);
  if (!status.ok()) return status;
  const std::unique_ptr<Message> page(list.New());
  const Status read = ReadObject(response, *page);
  if (!read.ok()) return read;

  const auto* descriptor = page->GetDescriptor();
  const auto* reflection = page->GetReflection();
  const auto* metadata = descriptor->FindFieldByName("metadata");
  const auto* items = descriptor->FindFieldByName("items");
  CHECK(metadata != nullptr && metadata->message_type() == ListMeta::descriptor() &&
            items != nullptr && items->is_repeated(),
        "{} is not a list", descriptor->full_name());
  const auto& meta = static_cast<const ListMeta&>(reflection->GetMessage(*page, metadata));
  ListPage taken{.resource_version = meta.resource_version(), .next = meta.continue_()};
  if (taken.resource_version.empty()) return DataLoss("a list without a resource version");
  taken.objects.resize(static_cast<size_t>(reflection->FieldSize(*page, items)));
  for (size_t i = taken.objects.size(); i > 0; --i)
    taken.objects[i - 1].reset(reflection->ReleaseLast(page.get(), items));
  return taken;
}

}  // namespace splitlet::apiclient
