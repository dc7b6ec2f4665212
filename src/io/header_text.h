// Words of header lines.
#pragma once

#include <string>
#include <string_view>

namespace biowarp {

inline constexpr std::string_view kBlanks = " \t\v\f\r\n";

// Without blanks at both ends.
std::string_view trim(std::string_view text);

// First word and the rest, both as UTF-8 (io/utf8.h). The word ends at a blank or at Ctrl-A, which joins the
// headers of identical sequences in NCBI's nr.
void split_header(std::string_view header, std::string& id, std::string& description);

}  // namespace biowarp
