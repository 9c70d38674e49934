// The corpus as the tests see it.
#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace attest::fuzzing {

struct CorpusFile {
    std::filesystem::path path;
    std::string folder;  // the law it should name
    std::string text;
};

// corpus_cases reads every file of every folder that is not a reader's own (raw bytes), in order of names.
std::vector<CorpusFile> corpus_cases();

}  // namespace attest::fuzzing
