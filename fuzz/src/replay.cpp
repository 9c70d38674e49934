#include "replay.hpp"

#include "attest/case/parse.hpp"
#include "attest/properties/laws.hpp"

#include "bytes.hpp"
#include "oracle_input.hpp"

#include <algorithm>
#include <fstream>
#include <iterator>
#include <optional>

namespace attest::fuzzing {
namespace {

namespace fs = std::filesystem;

std::optional<std::string> read_file(const fs::path& path) {
    std::ifstream in(path, std::ios::binary);
    if (!in) {
        return std::nullopt;
    }
    std::string text((std::istreambuf_iterator<char>(in)), std::istreambuf_iterator<char>());
    return in.bad() ? std::nullopt : std::optional(std::move(text));
}

// Every file below a folder, sorted, so that two runs print the same lines; nothing if it can't be listed.
std::optional<std::vector<fs::path>> files_below(const fs::path& folder) {
    std::vector<fs::path> files;
    std::error_code error;
    for (fs::recursive_directory_iterator at(folder, error), end; !error && at != end; at.increment(error)) {
        const bool hidden = at->path().filename().string().starts_with('.');
        if (at->is_directory(error)) {
            if (hidden) {
                at.disable_recursion_pending();
            }
        } else if (!hidden) {
            files.push_back(at->path());
        }
    }
    if (error) {
        return std::nullopt;
    }
    std::ranges::sort(files);
    return files;
}

BytesProperty property_of_folder(const std::string& name) {
#ifdef ATTEST_WITH_NPZ
    if (name == "npz_bytes") {
        return npz_bytes;
    }
#endif
    return name == "against_the_oracle" ? against_the_oracle : find_bytes_property(name);
}

class Replayer {
  public:
    Replayer(const ReplayOptions& options, std::ostream& out) : options_(options), out_(out) {}

    void path(const fs::path& path) {
        std::error_code error;
        if (!fs::is_directory(path, error)) {
            file(path);
            return;
        }
        const auto files = files_below(path);
        if (!files || files->empty()) {
            unreadable(path, files ? "a folder without files" : "a folder that can't be listed");
            return;
        }
        for (const fs::path& one : *files) {
            file(one);
        }
    }

    const ReplayCounts& counts() const { return counts_; }

  private:
    void file(const fs::path& path) {
        std::error_code error;
        const auto text = fs::is_regular_file(path, error) ? read_file(path) : std::nullopt;
        if (!text) {
            unreadable(path, "can't be read");
            return;
        }
        // The name stands there before the law runs, so that a crash has one.
        out_ << path.string() << ": " << std::flush;
        if (const auto property = property_of_folder(path.parent_path().filename().string())) {
            bytes(property, *text);
        } else {
            one_case(*text);
        }
    }

    void one_case(const std::string& text) {
        const auto parsed = cases::parse(text);
        if (!parsed) {
            ++counts_.unreadable;
            out_ << "unreadable: " << parsed.error().text() << '\n';
            return;
        }
        const properties::Law* law = properties::find_law(parsed->law);
        if (law == nullptr) {
            ++counts_.unreadable;
            out_ << "unreadable: no law is called " << parsed->law << '\n';
            return;
        }
        const auto subject = options_.make_subject();
        const properties::Verdict verdict = law->function(*parsed, *subject);
        const bool vacuous = verdict.kind == properties::VerdictKind::vacuous;
        out_ << parsed->law << ": " << verdict.text() << '\n';
        if (verdict.kind == properties::VerdictKind::fails || (vacuous && options_.refuse_vacuous)) {
            ++counts_.wrong;
        } else {
            ++(vacuous ? counts_.vacuous : counts_.right);
        }
    }

    // Refused bytes are a reader's right answer, so a vacuous verdict is one as well.
    void bytes(BytesProperty property, const std::string& text) {
        const properties::Verdict verdict = property(std::as_bytes(std::span(text)));
        const bool refused = verdict.kind == properties::VerdictKind::vacuous;
        out_ << (refused ? "refused: " + verdict.why : verdict.text()) << '\n';
        ++(verdict.kind == properties::VerdictKind::fails ? counts_.wrong : counts_.right);
    }

    void unreadable(const fs::path& path, std::string_view why) {
        ++counts_.unreadable;
        out_ << path.string() << ": unreadable: " << why << '\n';
    }

    const ReplayOptions& options_;
    std::ostream& out_;
    ReplayCounts counts_;
};

}  // namespace

int ReplayCounts::exit_code() const {
    if (wrong > 0) {
        return 1;
    }
    return unreadable > 0 || right == 0 ? 2 : 0;
}

ReplayCounts replay(std::span<const std::string> paths, const ReplayOptions& options, std::ostream& out) {
    Replayer replayer(options, out);
    for (const std::string& path : paths) {
        replayer.path(path);
    }
    return replayer.counts();
}

}  // namespace attest::fuzzing
