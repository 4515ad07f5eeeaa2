#pragma once

/// Behaviour of an API server that splitlet relies on, as a table of requests and answers.
/// contract_test.cc runs it.
/// Threads: any; nothing fails.
/// Source:  Kubernetes API, reference and concepts.

#include <string>
#include <vector>

namespace splitlet::fake_api {

/// A path into a JSON document, "spec.containers.0.name", and a text. `*` in the path joins the
/// values of a list with commas. The text "" means absent, "*" means any text but "".
struct Field {
  std::string path, text;
};

/// A request and the answer that every API server gives. "$name" in `request`, `body` and in
/// texts of `fields` is a variable; $ns is the namespace of the case. Beside methods of HTTP:
///   WATCH NAME PATH   opens a watch
///   EVENTS NAME       waits until the watch has sent the events of `want`, then ends the watch
///   FORGET            watches from earlier resourceVersions are too old from now on
struct Step {
  std::string request;
  std::string body = {};
  std::string want = {};           // "201", "409 Conflict"; "ADDED a, DELETED a"
  std::vector<Field> fields = {};  // fields of the answer
  std::vector<Field> keep = {};    // variables to set from fields of the answer: path, and name
  std::string type = "application/json";
};

struct Case {
  std::string name;
  std::vector<Step> steps;
};

std::vector<Case> ContractCases();

}  // namespace splitlet::fake_api
