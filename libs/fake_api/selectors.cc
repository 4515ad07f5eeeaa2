#include "libs/fake_api/selectors.h"

#include <google/protobuf/message.h>

#include <algorithm>

#include "k8s.io/apimachinery/pkg/apis/meta/v1/meta.pb.h"
#include "libs/fake_api/objects.h"

namespace splitlet::fake_api {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && text.front() == ' ') text.remove_prefix(1);
  while (!text.empty() && text.back() == ' ') text.remove_suffix(1);
  return text;
}

/// Splits at commas outside of parentheses.
std::vector<std::string_view> SplitOuter(std::string_view text) {
  std::vector<std::string_view> parts;
  int depth = 0;
  size_t start = 0;
  for (size_t i = 0; i <= text.size(); ++i) {
    if (i < text.size() && text[i] == '(') ++depth;
    if (i < text.size() && text[i] == ')') --depth;
    if (i < text.size() && (text[i] != ',' || depth > 0)) continue;
    if (const auto part = Trim(text.substr(start, i - start)); !part.empty()) parts.push_back(part);
    start = i + 1;
  }
  return parts;
}

struct Comparison {
  std::string key, value;
  bool equal = true;
};

/// Parses "a=b", "a==b", "a!=b".
std::optional<Comparison> ParseComparison(std::string_view text) {
  const size_t at = text.find('=');
  if (at == std::string_view::npos) return std::nullopt;
  const bool differs = at > 0 && text[at - 1] == '!';
  const bool doubled = at + 1 < text.size() && text[at + 1] == '=';
  return Comparison{std::string(Trim(text.substr(0, differs ? at - 1 : at))),
                    std::string(Trim(text.substr(at + (doubled ? 2 : 1)))), !differs};
}

bool IsKnownField(const Kind& kind, const std::string& field) {
  if (field == "metadata.name" || (field == "metadata.namespace" && kind.namespaced)) return true;
  return std::find(kind.fields.begin(), kind.fields.end(), field) != kind.fields.end();
}

}  // namespace

StatusOr<Selector::Requirement> Selector::ParseLabel(std::string_view text) {
  using Op = Requirement::Op;
  if (text.front() == '!') return Requirement{Op::kAbsent, std::string(Trim(text.substr(1))), {}};
  if (const size_t open = text.find('('); open != std::string_view::npos) {
    if (text.back() != ')') return InvalidArgument("unable to parse requirement: {}", text);
    const std::string_view head = Trim(text.substr(0, open));
    const size_t space = head.find(' ');
    const std::string_view op = space == std::string_view::npos ? "" : Trim(head.substr(space));
    if (op != "in" && op != "notin")
      return InvalidArgument("unable to parse requirement: {}", text);
    Requirement set{op == "in" ? Op::kIn : Op::kNotIn, std::string(head.substr(0, space)), {}};
    for (const auto value : SplitOuter(text.substr(open + 1, text.size() - open - 2)))
      set.values.emplace_back(value);
    return set;
  }
  const auto compared = ParseComparison(text);
  if (!compared) return Requirement{Op::kExists, std::string(text), {}};
  return Requirement{compared->equal ? Op::kIn : Op::kNotIn, compared->key, {compared->value}};
}

StatusOr<Selector> Selector::Parse(const Kind& kind, std::string_view labels,
                                   std::string_view fields) {
  Selector selector;
  for (const auto part : SplitOuter(labels)) {
    auto requirement = ParseLabel(part);
    if (!requirement.ok()) return requirement.status();
    selector.labels_.push_back(std::move(*requirement));
  }
  for (const auto part : SplitOuter(fields)) {
    const auto compared = ParseComparison(part);
    if (!compared)
      return InvalidArgument(
          "invalid field selector: invalid selector: '{}'; can't understand "
          "'{}'",
          fields, part);
    if (!IsKnownField(kind, compared->key))
      return InvalidArgument("field label not supported: {}", compared->key);
    selector.fields_.push_back({compared->equal ? Requirement::Op::kIn : Requirement::Op::kNotIn,
                                compared->key,
                                {compared->value}});
  }
  return selector;
}

bool Selector::Matches(const google::protobuf::Message& object) const {
  const auto has = [](const Requirement& requirement, const std::string& value) {
    const auto& values = requirement.values;
    return std::find(values.begin(), values.end(), value) != values.end();
  };
  for (const auto& field : fields_) {
    const bool in = has(field, FieldText(object, field.key));
    if (in != (field.op == Requirement::Op::kIn)) return false;
  }
  const auto& labels = MetaOf(object).labels();
  for (const auto& label : labels_) {
    const auto it = labels.find(label.key);
    const bool exists = it != labels.end();
    switch (label.op) {
      case Requirement::Op::kExists:
        if (!exists) return false;
        break;
      case Requirement::Op::kAbsent:
        if (exists) return false;
        break;
      case Requirement::Op::kIn:
        if (!exists || !has(label, it->second)) return false;
        break;
      case Requirement::Op::kNotIn:
        if (exists && has(label, it->second)) return false;
        break;
    }
  }
  return true;
}

}  // namespace splitlet::fake_api
