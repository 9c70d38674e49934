#include "safetensors_header.hpp"

#include "find_twice.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include <nlohmann/json.hpp>

namespace attest::dump {

namespace {

using Json = nlohmann::json;

constexpr std::string_view kMetadata = "__metadata__";

// Names of the format that nothing here computes with.
constexpr std::string_view kUnsupported[] = {"F8_E5M2", "F8_E4M3", "F8_E8M0", "F6_E2M3",
                                             "F6_E3M2", "F4",      "C64"};

// What the JSON reader reports, one event after another. A tree would keep one of two equal keys and lose the
// other; here every key is seen. Each event fits the place reached or ends the reading.
class Reader {
  public:
    // Where the next event stands.
    enum class Place {
        before,    // the whole header
        top,       // between tensors
        entry,     // where a tensor's object is due
        inside,    // between the keys of a tensor
        dtype,     // its type
        shape,     // where an array is due
        sizes,     // inside that array
        offsets,   // where an array is due
        bounds,    // inside that array
        metadata,  // where the metadata object is due
        keys,      // between its keys
        text,      // a value of it
        behind,    // the whole header
    };

    explicit Reader(Place start) : place_(start) {}

    bool null() { return misplaced("null"); }
    bool boolean(bool) { return misplaced("a boolean"); }
    bool number_integer(Json::number_integer_t) { return misplaced("a negative number"); }
    bool number_float(Json::number_float_t, const std::string&) {
        return misplaced("a number that is no whole number of 64 bits");
    }
    bool binary(Json::binary_t&) { return misplaced("binary data"); }
    bool number_unsigned(Json::number_unsigned_t value);
    bool string(std::string& value);
    bool start_object(std::size_t);
    bool key(std::string& value);
    bool end_object();
    bool start_array(std::size_t);
    bool end_array();
    bool parse_error(std::size_t position, const std::string&, const Json::exception& error) {
        return fail(ErrorCode::InvalidHeaderDeserialization,
                    "at byte " + std::to_string(position) + " of the JSON text: " + error.what());
    }

    std::optional<Error> take_error() { return std::move(error_); }
    Header take_header() { return std::move(header_); }

  private:
    bool fail(ErrorCode code, std::string reason) {
        if (!error_) error_ = Error{code, {}, tensor_, std::move(reason)};
        return false;
    }
    bool misplaced(const char* what) {
        return fail(ErrorCode::InvalidHeaderDeserialization,
                    std::string(what) + " where " + due() + " is due");
    }
    const char* due() const;
    bool finish_entry();

    Place place_;
    Header header_;
    Entry entry_;
    std::string tensor_;  // at fault, if any
    bool seen_metadata_ = false;
    bool seen_dtype_ = false;
    bool seen_shape_ = false;
    bool seen_offsets_ = false;
    std::size_t bounds_ = 0;
    std::optional<Error> error_;
};

const char* Reader::due() const {
    switch (place_) {
        case Place::before:
            return "the header's object";
        case Place::top:
            return "the name of a tensor";
        case Place::entry:
            return "the object of a tensor";
        case Place::inside:
            return "dtype, shape or data_offsets";
        case Place::dtype:
            return "the name of a type";
        case Place::shape:
            return "an array of sizes";
        case Place::sizes:
            return "a size";
        case Place::offsets:
            return "an array of two offsets";
        case Place::bounds:
            return "an offset";
        case Place::metadata:
            return "the metadata object";
        case Place::keys:
            return "a metadata key";
        case Place::text:
            return "a string of metadata";
        case Place::behind:
            return "the end";
    }
    return "something else";
}

bool Reader::number_unsigned(Json::number_unsigned_t value) {
    if (place_ == Place::sizes) {
        if (entry_.shape.size() == kMaxDimensions)
            return fail(ErrorCode::TooManyDimensions,
                        "more than " + std::to_string(kMaxDimensions) + " dimensions");
        entry_.shape.push_back(value);
        return true;
    }
    if (place_ == Place::bounds) {
        if (bounds_ == 2) return fail(ErrorCode::InvalidHeaderDeserialization, "more than two offsets");
        entry_.offsets[bounds_++] = value;
        return true;
    }
    return misplaced("a number");
}

bool Reader::string(std::string& value) {
    if (place_ == Place::text) {
        header_.metadata.back().second = std::move(value);
        place_ = Place::keys;
        return true;
    }
    if (place_ != Place::dtype) return misplaced("a string");
    const auto dtype = dtype_from_text(value);
    if (!dtype) {
        const bool known =
            std::find(std::begin(kUnsupported), std::end(kUnsupported), value) != std::end(kUnsupported);
        return fail(known ? ErrorCode::UnsupportedDtype : ErrorCode::UnknownDtype, "dtype " + value);
    }
    entry_.dtype = *dtype;
    place_ = Place::inside;
    return true;
}

bool Reader::start_object(std::size_t) {
    switch (place_) {
        case Place::before:
            place_ = Place::top;
            return true;
        case Place::entry:
            place_ = Place::inside;
            return true;
        case Place::metadata:
            place_ = Place::keys;
            return true;
        default:
            return misplaced("an object");
    }
}

bool Reader::key(std::string& value) {
    const auto once = [&](bool& seen, Place next) {
        if (seen) return fail(ErrorCode::DuplicateKey, value + " stands twice");
        seen = true;
        place_ = next;
        return true;
    };
    switch (place_) {
        case Place::top:
            if (value == kMetadata) {
                if (seen_metadata_) return fail(ErrorCode::DuplicateName, "__metadata__ stands twice");
                seen_metadata_ = true;
                place_ = Place::metadata;
                return true;
            }
            tensor_ = value;
            entry_ = Entry{std::move(value), Dtype::BOOL, {}, {}};
            seen_dtype_ = seen_shape_ = seen_offsets_ = false;
            bounds_ = 0;
            place_ = Place::entry;
            return true;
        case Place::inside:
            if (value == "dtype") return once(seen_dtype_, Place::dtype);
            if (value == "shape") return once(seen_shape_, Place::shape);
            if (value == "data_offsets") return once(seen_offsets_, Place::offsets);
            return fail(ErrorCode::InvalidHeaderDeserialization, "unknown key " + value);
        case Place::keys:
            header_.metadata.emplace_back(std::move(value), std::string{});
            place_ = Place::text;
            return true;
        default:
            return misplaced("a key");
    }
}

bool Reader::end_object() {
    switch (place_) {
        case Place::top:
            place_ = Place::behind;
            return true;
        case Place::keys:
            place_ = Place::top;  // no event follows where the metadata was read alone
            return true;
        case Place::inside:
            return finish_entry();
        default:
            return misplaced("the end of an object");
    }
}

bool Reader::start_array(std::size_t) {
    switch (place_) {
        case Place::shape:
            place_ = Place::sizes;
            return true;
        case Place::offsets:
            place_ = Place::bounds;
            return true;
        default:
            return misplaced("an array");
    }
}

bool Reader::end_array() {
    if (place_ == Place::bounds && bounds_ != 2)
        return fail(ErrorCode::InvalidHeaderDeserialization, "fewer than two offsets");
    if (place_ != Place::bounds && place_ != Place::sizes) return misplaced("the end of an array");
    place_ = Place::inside;
    return true;
}

bool Reader::finish_entry() {
    if (!seen_dtype_ || !seen_shape_ || !seen_offsets_)
        return fail(ErrorCode::InvalidHeaderDeserialization,
                    "dtype, shape and data_offsets must all be there");
    header_.entries.push_back(std::move(entry_));
    tensor_.clear();
    place_ = Place::top;
    return true;
}

std::expected<Header, Error> read_all(std::string_view text, Reader::Place start) {
    const auto refuse = [](std::string reason) {
        return std::unexpected(Error{ErrorCode::InvalidHeaderDeserialization, {}, {}, std::move(reason)});
    };
    // The JSON reader takes a NUL for the end of its input and skips a byte order mark; other readers do
    // neither, and would read another file than this one.
    if (text.find('\0') != std::string_view::npos) return refuse("a NUL byte in the JSON text");
    if (text.starts_with("\xef\xbb\xbf")) return refuse("a byte order mark before the JSON text");
    Reader reader(start);
    const bool done = Json::sax_parse(text.begin(), text.end(), &reader);
    if (auto error = reader.take_error()) return std::unexpected(std::move(*error));
    if (!done) return refuse("not JSON");
    Header header = reader.take_header();
    if (auto name =
            find_twice(header.entries, [](const Entry& entry) -> const std::string& { return entry.name; }))
        return std::unexpected(Error{ErrorCode::DuplicateName, {}, *name, "two tensors of this name"});
    if (auto key =
            find_twice(header.metadata, [](const auto& pair) -> const std::string& { return pair.first; }))
        return std::unexpected(
            Error{ErrorCode::DuplicateKey, {}, {}, "metadata key " + *key + " stands twice"});
    return header;
}

}  // namespace

std::expected<Header, Error> parse_header(std::string_view text) {
    return read_all(text, Reader::Place::before);
}

std::expected<File::Metadata, Error> parse_metadata(std::string_view text) {
    auto header = read_all(text, Reader::Place::metadata);
    if (!header) return std::unexpected(std::move(header.error()));
    return std::move(header->metadata);
}

}  // namespace attest::dump
