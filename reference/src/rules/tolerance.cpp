#include <attest/reference/tolerance.hpp>

#include <algorithm>
#include <cmath>
#include <limits>

namespace attest::reference {
namespace {

struct Point {
    double x = 0, y = 0;
};

// The upper hull of the points from the left, of strictly rising x: no point lies above it.
std::vector<Point> upper_hull(std::vector<Point> points) {
    std::sort(points.begin(), points.end(),
              [](Point a, Point b) { return a.x != b.x ? a.x < b.x : a.y > b.y; });
    std::vector<Point> hull;
    for (const Point& point : points) {
        if (!hull.empty() && hull.back().x == point.x) continue;
        while (hull.size() > 1) {
            const Point a = hull[hull.size() - 2], b = hull.back();
            if ((b.x - a.x) * (point.y - a.y) < (b.y - a.y) * (point.x - a.x)) break;
            hull.pop_back();
        }
        hull.push_back(point);
    }
    return hull;
}

// The next number of three decimal digits that is not below.
double rounded_up(double value) {
    if (!(value > 0)) return 0;
    const double place = std::pow(10.0, std::floor(std::log10(value)) - 2);
    double result = std::ceil(value / place) * place;
    // Printed with three digits and read again it must still not be below.
    char text[32];
    (void)std::snprintf(text, sizeof text, "%.2e", result);
    result = std::strtod(text, nullptr);
    if (result < value) {
        (void)std::snprintf(text, sizeof text, "%.2e", result + place);
        result = std::strtod(text, nullptr);
    }
    return result;
}

}  // namespace

double Tolerance::at(double want) const noexcept {
    return atol + rtol * std::fabs(want);
}

// A linear program in two unknowns: its optimum lies where two constraints meet, which is on an edge of the
// points' upper hull, or at a point of it with atol = 0 or rtol = 0.
std::optional<Tolerance> smallest_tolerance(std::span<const double> want, std::span<const double> allowed) {
    if (want.empty()) return std::nullopt;
    std::vector<Point> points;
    double mean = 0, highest = 0, steepest = 0;
    for (std::size_t n = 0; n < want.size(); ++n) {
        if (!std::isfinite(allowed[n])) return std::nullopt;
        const Point point{std::fabs(want[n]), allowed[n]};
        points.push_back(point);
        mean += point.x / static_cast<double>(want.size());
        highest = std::max(highest, point.y);
        if (point.y > 0)
            steepest =
                std::max(steepest, point.x > 0 ? point.y / point.x : std::numeric_limits<double>::infinity());
    }
    Tolerance best{highest, 0};
    const auto consider = [&](double atol, double rtol) {
        if (atol + rtol * mean < best.at(mean)) best = {atol, rtol};
    };
    if (std::isfinite(steepest)) consider(0, steepest);
    const std::vector<Point> hull = upper_hull(points);
    for (std::size_t n = 1; n < hull.size(); ++n) {
        const double rtol = (hull[n].y - hull[n - 1].y) / (hull[n].x - hull[n - 1].x);
        const double atol = hull[n].y - rtol * hull[n].x;
        if (rtol >= 0 && atol >= 0) consider(atol, rtol);
    }
    // The edge was found in rounded arithmetic: whatever sticks out is added to atol before both are rounded
    // up.
    double lacking = 0;
    for (const Point& point : points)
        lacking = std::max(lacking, point.y - best.at(point.x));
    best.atol = rounded_up((best.atol + lacking) * (1 + 0x1p-40));
    best.rtol = rounded_up(best.rtol);
    return best;
}

Recommendation recommend(const Judged& judged, const WrongKernels& kernels) {
    Recommendation result;
    result.tensor = judged.name;
    result.no_bound = judged.no_bound;
    std::vector<double> want;
    for (const Exact& value : judged.exact)
        want.push_back(static_cast<double>(value));
    result.pair = smallest_tolerance(want, judged.allowed);
    if (!result.pair) return result;

    std::vector<double> looser;
    for (std::size_t n = 0; n < want.size(); ++n)
        if (judged.allowed[n] > 0) looser.push_back(result.pair->at(want[n]) / judged.allowed[n]);
    if (!looser.empty()) {
        const auto middle = looser.begin() + static_cast<std::ptrdiff_t>(looser.size() / 2);
        std::nth_element(looser.begin(), middle, looser.end());
        result.looser_median = *middle;
        result.looser_most = *std::max_element(looser.begin(), looser.end());
    }
    for (const Wrong wrong : kWrong) {
        const auto answer = kernels.answer(wrong, judged);
        if (!answer) continue;
        Recommendation::Kernel kernel{.wrong = wrong};
        for (std::size_t n = 0; n < answer->size(); ++n) {
            const double difference = error_of(judged.exact[n], static_cast<double>((*answer)[n]));
            kernel.pair_refuses = kernel.pair_refuses || difference > result.pair->at(want[n]);
            kernel.bound_refuses = kernel.bound_refuses || difference > judged.allowed[n];
        }
        result.kernels.push_back(kernel);
    }
    return result;
}

}  // namespace attest::reference
