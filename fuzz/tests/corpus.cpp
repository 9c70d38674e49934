#include "corpus.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>

namespace attest::fuzzing {

std::vector<CorpusFile> corpus_cases() {
    std::vector<CorpusFile> files;
    for (const auto& folder : std::filesystem::directory_iterator(ATTEST_CORPUS_DIR)) {
        const std::string name = folder.path().filename().string();
        if (!folder.is_directory() || name.ends_with("_bytes") || name == "against_the_oracle") {
            continue;
        }
        for (const auto& entry : std::filesystem::directory_iterator(folder.path())) {
            std::ifstream in(entry.path(), std::ios::binary);
            files.push_back(
                {entry.path(), name,
                 std::string(std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>())});
        }
    }
    std::ranges::sort(files, {}, &CorpusFile::path);
    return files;
}

std::uintmax_t corpus_bytes() {
    std::uintmax_t bytes = 0;
    for (const auto& entry : std::filesystem::recursive_directory_iterator(ATTEST_CORPUS_DIR)) {
        bytes += entry.is_regular_file() ? entry.file_size() : 0;
    }
    return bytes;
}

}  // namespace attest::fuzzing
