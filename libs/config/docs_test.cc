#include <gtest/gtest.h>

#include <cstdlib>
#include <fstream>
#include <iterator>
#include <string>

#include "libs/base/status.h"
#include "libs/config/feature_gates.h"
#include "libs/config/fields.h"

namespace splitlet::config {
namespace {

std::string_view StateOf(const Field& field) {
  switch (field.effect) {
    case Effect::kWorks: return "works";
    case Effect::kNotYet: return "not yet";
    case Effect::kNever: return "never";
  }
  UNREACHABLE();
}

std::string Words(std::string_view words) {
  std::string text;
  for (; !words.empty();) {
    const size_t end = words.find('|');
    const std::string word(words.substr(0, end));
    text += (text.empty() ? "`" : ", `") + (word == "<1" ? "0` or `-1" : word) + "`";
    words.remove_prefix(end == std::string_view::npos ? words.size() : end + 1);
  }
  return text;
}

std::string Row(const Field& field) {
  std::string note(field.note);
  if (!field.allowed.empty()) note += "; **refused** unless it is " + Words(field.allowed);
  return fmt::format("| `{}` | {} | {} |\n", field.path, StateOf(field), note);
}

/// Rows of the page; fields of the objects in a list share the row of the list.
std::string TableOfFields() {
  std::string table =
      "| field | state | what to know of it, or why it does nothing |\n|---|---|---|\n";
  for (const Field& field : Fields())
    if (field.path.find("[]") == std::string_view::npos) table += Row(field);
  return table;
}

/// The text between the marks `part` of docs/configuration.md equals `want`.
void ExpectPart(const std::string& part, const std::string& want) {
  const std::string path = TREE "/docs/configuration.md";
  std::ifstream in(path);
  std::string page((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
  const std::string opening = "<!-- " + part + ": begin -->\n";
  const size_t begin = page.find(opening), end = page.find("<!-- " + part + ": end -->\n");
  ASSERT_TRUE(begin != std::string::npos && end != std::string::npos) << path;
  const size_t from = begin + opening.size();
  if (std::getenv("SPLITLET_UPDATE_DOCS") != nullptr) {
    page.replace(from, end - from, want);
    std::ofstream(path) << page;
    return;
  }
  EXPECT_EQ(page.substr(from, end - from), want)
      << "SPLITLET_UPDATE_DOCS=1 writes this part of docs/configuration.md again";
}

TEST(ConfigDocs, ThePageSaysOfEveryFieldWhatTheTableSays) { ExpectPart("fields", TableOfFields()); }

/// Gates that are not locked, or all gates.
std::string GatesThatAre(GateHere here, bool locked_too) {
  std::string names;
  for (const FeatureGate& gate : KnownGates())
    if (gate.here == here && (locked_too || !gate.Locked()))
      names += fmt::format("{}`{}`", names.empty() ? "" : ", ", gate.name);
  return names + "\n";
}

TEST(ConfigDocs, ThePageNamesGatesByWhatTheyDo) {
  ExpectPart("gates that switch", GatesThatAre(GateHere::kSwitch, true));
  ExpectPart("gates that stay on", GatesThatAre(GateHere::kBuiltIn, false));
  ExpectPart("gates not built", GatesThatAre(GateHere::kAbsent, true));
}

TEST(ConfigDocs, WhatDoesNothingHasAReason) {
  for (const Field& field : Fields()) {
    SCOPED_TRACE(field.path);
    EXPECT_EQ(FindField(field.path), &field) << "the path is there twice";
    EXPECT_TRUE(field.effect == Effect::kWorks || !field.note.empty());
    EXPECT_TRUE(field.effect != Effect::kWorks || (field.same.empty() && field.allowed.empty()));
  }
}

}  // namespace
}  // namespace splitlet::config
