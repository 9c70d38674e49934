#include "report.hpp"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <optional>
#include <utility>

#include "shapes.hpp"

namespace attest::bench {
namespace {

double median(std::vector<double> times) {
    const auto middle = times.begin() + static_cast<std::ptrdiff_t>(times.size() / 2);
    std::nth_element(times.begin(), middle, times.end());
    return *middle;
}

const Row* find(const std::vector<Row>& rows, const std::string& group, const std::string& who) {
    const auto found =
        std::ranges::find_if(rows, [&](const Row& row) { return row.group == group && row.who == who; });
    return found == rows.end() ? nullptr : &*found;
}

std::optional<double> fastest(const std::vector<Row>& rows, const std::string& group,
                              const std::string& start) {
    std::optional<double> least;
    for (const Row& row : rows) {
        if (row.group == group && row.who.starts_with(start) && (!least || row.microseconds < *least)) {
            least = row.microseconds;
        }
    }
    return least;
}

constexpr std::size_t kCacheBytes = std::size_t{16} << 20;

const AttentionShape* shape_of(const std::string& group) {
    const auto* const found = std::ranges::find_if(
        kAttentionShapes, [&](const AttentionShape& shape) { return group.ends_with("/" + shape.name()); });
    return found == std::end(kAttentionShapes) ? nullptr : found;
}

bool beyond_caches(const std::string& group) {
    const AttentionShape* const shape = shape_of(group);
    return shape != nullptr && 2 * shape->elements() * sizeof(float) > kCacheBytes;
}

// The most a float row may take, in limits; 0 where nothing is asked.
double asked(const Row& row) {
    if (row.who != "attest") return 0;
    if (row.group.starts_with("layer/")) return 1.15;
    if (row.group.starts_with("projections/")) return 1 / 0.75;
    if (row.group.starts_with("prefill/")) return 1 / 0.6;
    const AttentionShape* const shape = shape_of(row.group);
    if (!row.group.starts_with("attention/") || shape == nullptr) return 0;
    const bool grouped = shape->kv_heads != shape->heads;
    return beyond_caches(row.group) ? (grouped ? 2.5 : 1.25) : grouped ? 1.7 : 1.2;
}

// Groups in which the library was measured, in order.
std::vector<std::string> groups_of(const std::vector<Row>& rows) {
    std::vector<std::string> groups;
    for (const Row& row : rows) {
        if (row.who == "attest") groups.push_back(row.group);
    }
    return groups;
}

}  // namespace

std::vector<Row> rows_of(const Times& times) {
    struct Measured {
        double median;
        double least;
    };
    std::map<std::string, std::map<std::string, Measured>> groups;
    for (const auto& [name, all] : times) {
        const std::size_t cut = name.rfind('/');
        groups[name.substr(0, cut)][name.substr(cut + 1)] = {median(all), *std::ranges::min_element(all)};
    }
    std::vector<Row> rows;
    for (const auto& [group, members] : groups) {
        Measured limit = {0, 0};
        for (const auto& [who, time] : members) {
            if (!who.starts_with("limit:")) continue;
            if (limit.median == 0 || time.median < limit.median) limit.median = time.median;
            if (limit.least == 0 || time.least < limit.least) limit.least = time.least;
        }
        if (const auto compute = members.find("compute"); compute != members.end()) {
            limit.median = std::max(limit.median, compute->second.median);
            limit.least = std::max(limit.least, compute->second.least);
        }
        for (const auto& [who, time] : members)
            rows.push_back({group, who, time.median, limit.median, time.least, limit.least});
    }
    return rows;
}

void print_table(const std::vector<Row>& rows) {
    std::printf("%-36s %-26s %12s %8s %12s %8s\n", "shape", "who", "median us", "limits", "least us",
                "limits");
    for (const Row& row : rows) {
        const double ratio = row.limit == 0 ? 0 : row.microseconds / row.limit;
        const double least = row.least_limit == 0 ? 0 : row.least / row.least_limit;
        std::printf("%-36s %-26s %12.1f %8.3f %12.1f %8.3f", row.group.c_str(), row.who.c_str(),
                    row.microseconds, ratio, row.least, least);
        if (const double most = asked(row); most != 0)
            std::printf("  asked %.2f: %s", most, ratio <= most ? "within" : "OVER");
        std::printf("\n");
    }
}

void print_peers(const std::vector<Row>& rows) {
    double logarithms = 0;
    std::size_t count = 0;
    for (const std::string& group : groups_of(rows)) {
        const std::optional<double> peer = fastest(rows, group, "peer:");
        if (!peer) continue;
        if (count == 0) std::printf("\n%-36s %12s %12s %8s\n", "shape", "fastest peer", "attest", "times");
        const double ratio = *peer / find(rows, group, "attest")->microseconds;
        // Products of many rows are compared, but they are not decoding.
        const bool counts = !group.starts_with("projections/");
        std::printf("%-36s %12.1f %12.1f %8.2f%s%s\n", group.c_str(), *peer,
                    find(rows, group, "attest")->microseconds, ratio,
                    ratio < (beyond_caches(group) ? 0.97 : 1) && counts ? "  SLOWER" : "",
                    counts ? "" : "  (not in the mean)");
        if (counts) logarithms += std::log(ratio);
        count += counts ? 1 : 0;
    }
    if (count != 0) {
        std::printf("against the fastest peer of each shape: %.2f times as fast, geometric mean of %zu\n",
                    std::exp(logarithms / static_cast<double>(count)), count);
    } else {
        std::printf(
            "\nno peer was measured: OpenBLAS and PyTorch are, where libopenblas-dev and libtorch-dev are "
            "installed\n");
    }
}

void print_threads(const std::vector<Row>& rows) {
    std::printf("\n%-36s %14s %14s\n", "two threads against one", "attest", "reading");
    for (const std::string& group : groups_of(rows)) {
        const Row* const two = find(rows, group, "attest_2_threads");
        if (two == nullptr) continue;
        const double gain = find(rows, group, "attest")->microseconds / two->microseconds;
        const auto one = fastest(rows, group, "limit:");
        const auto both = fastest(rows, group, "both:");
        std::printf("%-36s %14.2f", group.c_str(), gain);
        if (one && both) std::printf(" %14.2f", *one / *both);
        const bool doubles = !both || (one && *one / *both >= 1.9);
        std::printf("%s\n", gain < 1 ? "  SLOWER" : doubles && gain < 1.7 ? "  OVER: 1.7 asked" : "");
    }
}

void print_storage(const std::vector<Row>& rows) {
    std::printf("\n%-36s %14s\n", "narrow storage against float", "times as fast");
    for (const std::string& group : groups_of(rows)) {
        const std::size_t cut = group.find('/');
        if (group.substr(0, cut) != "attention_bf16" && group.substr(0, cut) != "attention_f16") continue;
        const Row* const wide = find(rows, "attention" + group.substr(cut), "attest");
        if (wide == nullptr) continue;
        std::printf("%-36s %14.2f\n", group.c_str(),
                    wide->microseconds / find(rows, group, "attest")->microseconds);
    }
}

bool write_curve(const std::string& path, const std::vector<Row>& rows) {
    std::FILE* const file = path.empty() ? nullptr : std::fopen(path.c_str(), "w");
    std::map<std::size_t, std::pair<double, double>> curve;
    const std::string start = "attention/h32_kv32_d128_t";
    for (const Row& row : rows) {
        if (row.group.starts_with(start) && row.who == "attest") {
            curve[std::stoul(row.group.substr(start.size()))] = {row.microseconds, row.limit};
        }
    }
    double w = 0, x = 0, y = 0, xx = 0, xy = 0;
    for (const auto& [length, times] : curve) {
        const double t = static_cast<double>(length);
        const double weight = 1 / (times.first * times.first);
        w += weight;
        x += weight * t;
        y += weight * times.first;
        xx += weight * t * t;
        xy += weight * t * times.first;
        if (file != nullptr) std::fprintf(file, "%zu %.3f %.3f\n", length, times.first, times.second);
    }
    if (curve.size() > 2) {
        const double slope = (w * xy - x * y) / (w * xx - x * x);
        const double fixed = (y - slope * x) / w;
        double worst = 0;
        for (const auto& [length, times] : curve) {
            worst =
                std::max(worst, std::fabs((fixed + slope * static_cast<double>(length)) / times.first - 1));
        }
        std::printf(
            "\ncost of a step, 32 heads of 128: %.1f us + %.4f us a position; worst deviation %.1f %%\n",
            fixed, slope, 100 * worst);
    }
    return path.empty() || (file != nullptr && std::fclose(file) == 0);
}

bool write_json(const std::string& path, const std::vector<Row>& rows) {
    std::FILE* const file = std::fopen(path.c_str(), "w");
    if (file == nullptr) return false;
    std::fputs("[\n", file);
    for (const Row& row : rows) {
        std::fprintf(file,
                     "  {\"shape\": \"%s\", \"who\": \"%s\", \"microseconds\": %.3f, \"limit\": %.3f, "
                     "\"least\": %.3f, "
                     "\"least_limit\": %.3f}%s\n",
                     row.group.c_str(), row.who.c_str(), row.microseconds, row.limit, row.least,
                     row.least_limit, &row == &rows.back() ? "" : ",");
    }
    std::fputs("]\n", file);
    return std::fclose(file) == 0;
}

}  // namespace attest::bench
