// The corpus as the tests see it.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace attest::fuzzing {

struct CorpusFile {
    std::filesystem::path path;
    std::string folder;  // the law it should name
    std::string text;
};

// corpus_cases reads every file of every folder of cases (readers have raw bytes), in order of names.
std::vector<CorpusFile> corpus_cases();

// The bytes of all files of the corpus together.
std::uintmax_t corpus_bytes();

}  // namespace attest::fuzzing
