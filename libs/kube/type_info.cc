#include "libs/kube/type_info.h"

#include <google/protobuf/descriptor.h>
#include <google/protobuf/message.h>

#include <algorithm>
#include <memory>
#include <mutex>
#include <numeric>

#include "libs/base/status.h"
#include "splitlet/v1/options.pb.h"

namespace splitlet::kube {
namespace {

using google::protobuf::Descriptor;
using google::protobuf::FieldDescriptor;
using google::protobuf::Message;

Form FormOf(const Descriptor& descriptor) {
  static const std::unordered_map<std::string_view, Form> kForms = {
      {"k8s.io.apimachinery.pkg.api.resource.Quantity", Form::kQuantity},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.Time", Form::kTime},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.MicroTime", Form::kMicroTime},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.Duration", Form::kDuration},
      {"k8s.io.apimachinery.pkg.util.intstr.IntOrString", Form::kIntOrString},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.FieldsV1", Form::kRaw},
      {"k8s.io.apimachinery.pkg.runtime.RawExtension", Form::kRaw},
      {"k8s.io.apimachinery.pkg.apis.meta.v1.Verbs", Form::kStringList},
      {"k8s.io.api.authentication.v1.ExtraValue", Form::kStringList},
      {"k8s.io.api.authorization.v1.ExtraValue", Form::kStringList},
      {"k8s.io.api.certificates.v1.ExtraValue", Form::kStringList},
  };
  const auto it = kForms.find(descriptor.full_name());
  return it == kForms.end() ? Form::kObject : it->second;
}

const google::protobuf::Reflection* ReflectionOf(const Descriptor& descriptor) {
  const auto* prototype =
      google::protobuf::MessageFactory::generated_factory()->GetPrototype(&descriptor);
  CHECK(prototype != nullptr, "{} is not compiled in", descriptor.full_name());
  return prototype->GetReflection();
}

class Types {
 public:
  const TypeInfo& Get(const Descriptor& descriptor) {
    const std::lock_guard lock(mutex_);
    return Make(descriptor);
  }

 private:
  /// Entered before its fields are read, because a type may contain itself.
  const TypeInfo& Make(const Descriptor& descriptor) {
    auto& slot = types_[&descriptor];
    if (slot != nullptr) return *slot;
    slot = std::make_unique<TypeInfo>();
    TypeInfo& type = *slot;
    type.descriptor = &descriptor;
    type.form = FormOf(descriptor);
    type.reflection = ReflectionOf(descriptor);
    for (int number = 1; number <= 3; ++number)
      type.parts[static_cast<size_t>(number - 1)] = descriptor.FindFieldByNumber(number);
    if (type.form != Form::kObject) return type;
    std::vector<const FieldDescriptor*> inlined;
    AddFields(descriptor, inlined, type);
    for (size_t i = 0; i < type.fields.size(); ++i) {
      type.fields[i].index = i;
      type.lookup.emplace(type.fields[i].json_name, &type.fields[i]);
    }
    CHECK(type.fields.size() <= kMaxFields, "{}", descriptor.full_name());
    type.by_name.resize(type.fields.size());
    std::iota(type.by_name.begin(), type.by_name.end(), size_t{0});
    std::sort(type.by_name.begin(), type.by_name.end(), [&type](size_t a, size_t b) {
      return type.fields[a].json_name < type.fields[b].json_name;
    });
    return type;
  }

  void AddFields(const Descriptor& descriptor, std::vector<const FieldDescriptor*>& inlined,
                 TypeInfo& type) {
    for (int i = 0; i < descriptor.field_count(); ++i) {
      const FieldDescriptor* field = descriptor.field(i);
      if (field->options().GetExtension(splitlet::v1::json_inline)) {
        inlined.push_back(field);
        AddFields(*field->message_type(), inlined, type);
        inlined.pop_back();
        continue;
      }
      FieldInfo& info = type.fields.emplace_back();
      info.field = field;
      info.reflection = ReflectionOf(descriptor);
      info.json_name = field->json_name();
      info.inlined = inlined;
      info.is_map = field->is_map();
      info.is_list = field->is_repeated() && !info.is_map;
      const FieldDescriptor* value = info.is_map ? field->message_type()->map_value() : field;
      if (value->cpp_type() == FieldDescriptor::CPPTYPE_MESSAGE)
        info.type = &Make(*value->message_type());
    }
  }

  std::mutex mutex_;
  std::unordered_map<const Descriptor*, std::unique_ptr<TypeInfo>> types_;
};

}  // namespace

const TypeInfo& TypeInfoOf(const Descriptor& descriptor) {
  static Types types;
  return types.Get(descriptor);
}

Message& HolderOf(Message& message, const FieldInfo& field) {
  Message* holder = &message;
  for (const auto* part : field.inlined)
    holder = holder->GetReflection()->MutableMessage(holder, part);
  return *holder;
}

const Message* FindHolder(const Message& message, const FieldInfo& field) {
  const Message* holder = &message;
  for (const auto* part : field.inlined) {
    const auto* reflection = holder->GetReflection();
    if (!reflection->HasField(*holder, part)) return nullptr;
    holder = &reflection->GetMessage(*holder, part);
  }
  return holder;
}

}  // namespace splitlet::kube
