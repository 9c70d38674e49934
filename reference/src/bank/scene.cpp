#include "bank/scene.hpp"

#include "bank/attend.hpp"
#include "exact.hpp"
#include "judge/core_operands.hpp"
#include "judge/inputs.hpp"
#include "oracle/oracle.hpp"
#include "product_of.hpp"

#include <cmath>

namespace attest::reference {
namespace {

Exact exact_from(long double x) {
    const auto head = static_cast<double>(x);
    return {head, static_cast<double>(x - static_cast<long double>(head))};
}
Exact exact_from(const Real& x) {
    return exact_of(x);
}

template <class N>
std::vector<N> numbers_of(std::span<const double> values) {
    return std::vector<N>(values.begin(), values.end());
}

// Asks for angles as kernels of floats form them.
struct InFloat {};

// Turns as N, from the oracle's.
template <class N>
struct TurnsIn {
    std::size_t pairs = 0;
    std::vector<N> cosines, sines;

    TurnsIn(const Rope& rope, std::span<const std::int64_t> positions) {
        const Turns<Real> turns = turn_by<Real>(rope, positions, Formulation::definition);
        pairs = turns.pairs;
        for (const Real& cosine : turns.cosines)
            cosines.push_back(static_cast<N>(cosine));
        for (const Real& sine : turns.sines)
            sines.push_back(static_cast<N>(sine));
    }

    // By angles that are rounded products of float; their cosines and sines are right.
    TurnsIn(const Rope& rope, std::span<const std::int64_t> positions, InFloat) : pairs(rope.width / 2) {
        for (const std::int64_t position : positions)
            for (std::size_t i = 0; i < pairs; ++i) {
                const double exponent = -2.0 * static_cast<double>(i) / static_cast<double>(rope.width);
                const auto frequency = static_cast<float>(std::pow(rope.base, exponent));
                const Real angle = static_cast<double>(static_cast<float>(position) * frequency);
                cosines.push_back(static_cast<N>(cos(angle)));
                sines.push_back(static_cast<N>(sin(angle)));
            }
    }

    void turn(N* features, const Rope& rope, std::size_t row) const {
        for (std::size_t i = 0; i < pairs; ++i) {
            N& a = features[first_of(rope, i)];
            N& b = features[second_of(rope, i)];
            const N &c = cosines[row * pairs + i], &s = sines[row * pairs + i];
            const N turned = a * c - b * s;
            b = a * s + b * c;
            a = turned;
        }
    }
};

// Attending is what a layer and attention alone share.
template <class N>
class Attending : public Scene {
  protected:
    // The query of a row, wrongly rotated already if that is the fault; null where there is no such fault.
    virtual const N* query(std::optional<Wrong> wrong, std::size_t b, std::size_t h, std::size_t i) const = 0;
    virtual void finish(std::size_t b, std::size_t i, const std::vector<WrongRow<N>>& heads,
                        Sink& sink) const = 0;

    bool attend(std::optional<Wrong> wrong, Part part, Sink& sink) const {
        const Heads<N>& q = operated_.q;
        if (wrong == Wrong::scale_of_width_less_one && q.width < 2) return false;
        const N scale = scale_of(operated_, wrong);
        const std::size_t columns = operated_.k.rows;
        std::vector<WrongRow<N>> heads(q.heads);
        WrongWindows<N> windows(operated_);
        Seen seen;
        for (std::size_t i = q.rows; i-- > 0 && !sink.settled();)
            for (std::size_t b = 0; b < operated_.batch; ++b) {
                for (std::size_t h = 0; h < q.heads; ++h) {
                    const N* const features = query(wrong, b, h, i);
                    if (features == nullptr) return false;
                    operated_.visibility.see(b, h, i, seen);
                    attend_wrong(operated_, windows, wrong, scale, features, b, h, seen, heads[h]);
                    if (part != Part::weights) continue;
                    const std::size_t first = ((b * q.heads + h) * q.rows + i) * columns;
                    for (std::size_t column = 0; column < columns; ++column)
                        sink.see(first + column, exact_from(heads[h].weights[column]));
                }
                if (part == Part::y) finish(b, i, heads, sink);
            }
        return true;
    }

    Operated<N> operated_;
};

template <class N>
class LayerScene : public Attending<N> {
  public:
    LayerScene(const Layer& layer, const LayerOptions& options)
        : layer_(layer),
          rows_(cut_rows(options.rows, layer.length)),
          width_(layer.width),
          wo_(numbers_of<N>(layer.wo)) {
        const Rows cached{0, rows_.first + rows_.count};
        const std::vector<N> x = numbers_of<N>(layer.x);
        Operated<N>& operated = this->operated_;
        operated.batch = layer.batch;
        operated.q = project(x, layer.wq, layer.heads, rows_);
        k_ = project(x, layer.wk, layer.kv_heads, cached);
        v_ = project(x, layer.wv, layer.kv_heads, cached);
        q_too_far_ = operated.q;
        k_too_far_ = k_;
        turn_all(operated.q, rows_.first);
        turn_all(k_, 0);
        turn_all(q_too_far_, rows_.first + 1);
        turn_all(k_too_far_, 1);
        operated.k = Vectors<N>(k_);
        operated.v = Vectors<N>(v_);
        using std::sqrt;
        operated.scale = 1 / N(sqrt(N(static_cast<double>(layer.head_width))));
        operated.visibility = Visibility::prefix(cached.count, rows_.first, layer.length);
    }

    bool play(std::optional<Wrong> wrong, Part part, Sink& sink) const override {
        if (part == Part::y || part == Part::weights) return this->attend(wrong, part, sink);
        play_cache(wrong, part == Part::keys, sink);
        return true;
    }

  protected:
    const N* query(std::optional<Wrong> wrong, std::size_t b, std::size_t h, std::size_t i) const override {
        if (wrong == Wrong::position_off_by_one) return q_too_far_.at(b, h, i);
        if (wrong == Wrong::angle_in_float) return in_float(false).at(b, h, i);
        return this->operated_.q.at(b, h, i);
    }
    void finish(std::size_t b, std::size_t i, const std::vector<WrongRow<N>>& heads,
                Sink& sink) const override {
        std::vector<N> merged;
        for (const WrongRow<N>& head : heads)
            merged.insert(merged.end(), head.mixed.begin(), head.mixed.end());
        for (std::size_t f = 0; f < width_ && !sink.settled(); ++f)
            sink.see((b * rows_.count + i) * width_ + f,
                     exact_from(product_of(wo_.data() + f * merged.size(), merged.data(), merged.size())));
    }

  private:
    Heads<N> project(const std::vector<N>& x, std::span<const double> weight, std::size_t heads,
                     Rows which) const {
        const std::vector<N> w = numbers_of<N>(weight);
        Heads<N> grid(layer_.batch, heads, which.count, layer_.head_width);
        for (std::size_t b = 0; b < layer_.batch; ++b)
            for (std::size_t h = 0; h < heads; ++h)
                for (std::size_t t = 0; t < which.count; ++t)
                    for (std::size_t f = 0; f < layer_.head_width; ++f)
                        grid.at(b, h, t)[f] = product_of(
                            w.data() + (h * layer_.head_width + f) * layer_.width,
                            x.data() + (b * layer_.length + which.first + t) * layer_.width, layer_.width);
        return grid;
    }

    template <class... How>
    void turn_all(Heads<N>& grid, std::size_t first, How... how) const {
        std::vector<std::int64_t> positions;
        for (std::size_t t = 0; t < grid.rows; ++t)
            positions.push_back(static_cast<std::int64_t>(layer_.first_position + first + t));
        const TurnsIn<N> turns(layer_.rope, positions, how...);
        for (std::size_t row = 0; row * grid.width < grid.data.size(); ++row)
            turns.turn(grid.data.data() + row * grid.width, layer_.rope, row % grid.rows);
    }

    // The rows' queries or keys, rotated by angles in float: made when first asked for, as no verdict asks.
    const Heads<N>& in_float(bool keys) const {
        Heads<N>& grid = keys ? k_in_float_ : q_in_float_;
        if (grid.data.empty()) {
            grid = project(numbers_of<N>(layer_.x), keys ? layer_.wk : layer_.wq,
                           keys ? layer_.kv_heads : layer_.heads, rows_);
            turn_all(grid, rows_.first, InFloat{});
        }
        return grid;
    }

    // The newest row as a wrong cache holds it is the row before; every row is rotated too far, or is the
    // next head's.
    void play_cache(std::optional<Wrong> wrong, bool keys, Sink& sink) const {
        const Heads<N>& grid = keys ? k_ : v_;
        const bool stale = wrong == Wrong::one_stale_key || (wrong == Wrong::last_value_stale && !keys);
        std::vector<N> room;
        for (std::size_t t = rows_.count; t-- > 0 && !sink.settled();)
            for (std::size_t b = 0; b < this->operated_.batch; ++b)
                for (std::size_t h = 0; h < grid.heads; ++h) {
                    const std::size_t row = rows_.first + t;
                    const bool newest = t + 1 == rows_.count && row > 0;
                    const N* wronged = grid.at(b, h, stale && newest ? row - 1 : row);
                    if (wrong == Wrong::wrong_head_group) wronged = grid.at(b, (h + 1) % grid.heads, row);
                    if (wrong == Wrong::position_off_by_one && keys) wronged = k_too_far_.at(b, h, row);
                    if (wrong == Wrong::angle_in_float && keys) wronged = in_float(true).at(b, h, t);
                    wronged = kept(wrong, wronged, grid.width, room);
                    for (std::size_t f = 0; f < grid.width; ++f)
                        sink.see(((b * grid.heads + h) * rows_.count + t) * grid.width + f,
                                 exact_from(wronged[f]));
                }
    }

    Layer layer_;  // with borrowed numbers
    Rows rows_;
    std::size_t width_ = 0;
    std::vector<N> wo_;
    Heads<N> k_, v_, q_too_far_, k_too_far_;
    mutable Heads<N> q_in_float_, k_in_float_;
};

template <class N>
class CoreScene : public Attending<N> {
  public:
    CoreScene(const Core& core, double bias_lowest, const CoreOptions& options)
        : rows_(cut_rows(options.rows, core.length)) {
        Operated<N>& operated = this->operated_;
        operated.batch = core.batch;
        operated.q = Heads<N>(core.batch, core.heads, rows_.count, core.width);
        operated.q.data = numbers_of<N>(copied(queries_of(core, rows_)));
        operated.k = Vectors<N>(keys_of(core));
        operated.v = Vectors<N>(values_of(core));
        using std::sqrt;
        operated.scale = core.scale ? N(*core.scale) : N(1 / N(sqrt(N(static_cast<double>(core.width)))));
        if (core.softcap) operated.softcap = N(*core.softcap);
        operated.visibility = Visibility::of(core, bias_lowest).from_row(rows_.first);
    }

    bool play(std::optional<Wrong> wrong, Part part, Sink& sink) const override {
        if (part != Part::y && part != Part::weights) return false;
        return this->attend(wrong, part, sink);
    }

  protected:
    const N* query(std::optional<Wrong> wrong, std::size_t b, std::size_t h, std::size_t i) const override {
        const bool rotates = wrong == Wrong::position_off_by_one || wrong == Wrong::angle_in_float;
        return rotates ? nullptr : this->operated_.q.at(b, h, i);
    }
    void finish(std::size_t b, std::size_t i, const std::vector<WrongRow<N>>& heads,
                Sink& sink) const override {
        const std::size_t width = this->operated_.v.width;
        for (std::size_t h = 0; h < heads.size(); ++h)
            for (std::size_t f = 0; f < width; ++f)
                sink.see(((b * heads.size() + h) * rows_.count + i) * width + f,
                         exact_from(heads[h].mixed[f]));
    }

  private:
    Rows rows_;
};

// Given tables say nothing of the next position: then only the right answer can be formed, and that is not
// asked for.
class RotaryScene : public Scene {
  public:
    explicit RotaryScene(const Rotary& rotary) : rotary_(rotary) {}

    bool play(std::optional<Wrong> wrong, Part part, Sink& sink) const override {
        if (part != Part::y || !rotary_.cosines.empty() || !rotary_.sines.empty()) return false;
        if (wrong && wrong != Wrong::position_off_by_one && wrong != Wrong::angle_in_float) return false;
        std::vector<std::int64_t> positions = rotary_.positions;
        for (std::size_t n = positions.size(); n < rotary_.batch * rotary_.length; ++n)
            positions.push_back(static_cast<std::int64_t>(n % rotary_.length));
        if (wrong == Wrong::position_off_by_one)
            for (std::int64_t& position : positions)
                ++position;
        const TurnsIn<Real> turns = wrong == Wrong::angle_in_float
                                        ? TurnsIn<Real>(rotary_.rope, positions, InFloat{})
                                        : TurnsIn<Real>(rotary_.rope, positions);
        for (std::size_t b = 0; b < rotary_.batch; ++b)
            for (std::size_t h = 0; h < rotary_.heads; ++h)
                for (std::size_t t = 0; t < rotary_.length; ++t) {
                    const std::size_t first = ((b * rotary_.heads + h) * rotary_.length + t) * rotary_.width;
                    std::vector<Real> row = numbers_of<Real>(rotary_.x.subspan(first, rotary_.width));
                    turns.turn(row.data(), rotary_.rope, b * rotary_.length + t);
                    for (std::size_t f = 0; f < rotary_.width; ++f)
                        sink.see(first + f, exact_of(row[f]));
                }
        return true;
    }

  private:
    Rotary rotary_;
};

}  // namespace

std::unique_ptr<Scene> scene_of(const Layer& layer, const LayerOptions& options, Digits digits) {
    if (digits == Digits::fifty) return std::make_unique<LayerScene<Real>>(layer, options);
    return std::make_unique<LayerScene<long double>>(layer, options);
}

std::unique_ptr<Scene> scene_of(const Core& core, double bias_lowest, const CoreOptions& options,
                                Digits digits) {
    if (digits == Digits::fifty) return std::make_unique<CoreScene<Real>>(core, bias_lowest, options);
    return std::make_unique<CoreScene<long double>>(core, bias_lowest, options);
}

std::unique_ptr<Scene> scene_of(const Rotary& rotary) {
    return std::make_unique<RotaryScene>(rotary);
}

}  // namespace attest::reference
