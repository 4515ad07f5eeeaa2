#include "libs/kube/same_pod.h"

#include <google/protobuf/message.h>

#include <map>
#include <string>
#include <vector>

#include "k8s.io/api/core/v1/container.pb.h"
#include "k8s.io/api/core/v1/pod.pb.h"
#include "libs/kube/pod_bytes.h"
#include "libs/kube/quantity.h"

namespace splitlet::kube {

namespace pb = google::protobuf;

namespace {

std::string CanonicalQuantity(const std::string& text) {
  const auto amount = Quantity::Parse(text);
  if (!amount.ok()) return text;
  return amount->IsInteger() ? Quantity::FromInt(amount->Value()).ToString()
                             : Quantity::FromMilli(amount->MilliValue()).ToString();
}

template <class Containers>
void CopyByName(const Containers& from, Containers& to) {
  std::map<std::string, const Container*> by_name;
  for (const auto& container : from) by_name[container.name()] = &container;
  for (auto& container : to) {
    const auto found = by_name.find(container.name());
    if (found != by_name.end()) *container.mutable_resources() = found->second->resources();
  }
}

}  // namespace

void CanonicalizeQuantities(pb::Message& message) {
  const pb::Reflection& reflection = *message.GetReflection();
  const pb::Descriptor& type = *message.GetDescriptor();
  if (type.name() == "Quantity") {
    const pb::FieldDescriptor* text = type.FindFieldByName("string");
    reflection.SetString(&message, text, CanonicalQuantity(reflection.GetString(message, text)));
    return;
  }
  std::vector<const pb::FieldDescriptor*> fields;
  reflection.ListFields(message, &fields);
  for (const pb::FieldDescriptor* field : fields) {
    if (field->cpp_type() != pb::FieldDescriptor::CPPTYPE_MESSAGE) continue;
    if (!field->is_repeated()) {
      CanonicalizeQuantities(*reflection.MutableMessage(&message, field));
      continue;
    }
    for (int i = 0; i < reflection.FieldSize(message, field); ++i)
      CanonicalizeQuantities(*reflection.MutableRepeatedMessage(&message, field, i));
  }
}

bool IsSamePod(const Pod& a, const Pod& b) {
  if (SerializeStable(a) == SerializeStable(b)) return true;
  Pod one = a, other = b;
  CanonicalizeQuantities(one);
  CanonicalizeQuantities(other);
  return SerializeStable(one) == SerializeStable(other);
}

void CopyResources(const Pod& from, Pod& to) {
  auto& spec = *to.mutable_spec();
  CopyByName(from.spec().containers(), *spec.mutable_containers());
  CopyByName(from.spec().init_containers(), *spec.mutable_init_containers());
  if (from.spec().has_resources()) *spec.mutable_resources() = from.spec().resources();
}

}  // namespace splitlet::kube
