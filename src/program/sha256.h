#pragma once
// SHA-256 (FIPS 180-4), for content keys of blobs.
#include <string>
#include <string_view>

namespace assay::program {

std::string sha256_hex(std::string_view bytes);  // 64 lower-case hexadecimal digits

}  // namespace assay::program
