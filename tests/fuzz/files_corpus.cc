#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "tests/fuzz/fuzz.h"

/// The YAML and JSON files of FUZZ_FOLDERS, folders of the tree, as a corpus.
FuzzCorpus MakeFuzzCorpus() {
  FuzzCorpus corpus;
  for (const char* folder : {FUZZ_FOLDERS}) {
    for (const auto& entry : std::filesystem::directory_iterator(folder)) {
      if (entry.path().extension() != ".yaml" && entry.path().extension() != ".json") continue;
      std::ifstream file(entry.path());
      corpus.inputs.emplace_back(std::istreambuf_iterator<char>(file),
                                 std::istreambuf_iterator<char>());
    }
  }
  std::sort(corpus.inputs.begin(), corpus.inputs.end());  // sorted, because a folder has no fixed
                                                          // order
  corpus.tokens = {"&a ", "*a",   "<<: ",  "[", "]",       "{",    "}",        ": ", "- ",
                   "\n",  "\"",   "'",     "|", "!!str ",  "null", "1e400",    "~",  "\\u0000",
                   "\t",  "\xFF", "---\n", "#", "\\udc00", "0x10", "\xE2\x82", "?",  ".nan"};
  return corpus;
}
