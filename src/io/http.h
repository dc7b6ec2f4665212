// HTTP GET and HEAD over libcurl, with the rules of a hub: redirects are followed here, so that a token goes to one
// origin only; a lost connection is a result, not an exception, because a transfer can go on.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <string_view>

namespace biowarp {

struct HttpResponse {
  long status = 0;                             // 0: there was no answer
  std::map<std::string, std::string> headers;  // names in lower case
  std::string url;                             // that answered
  std::string body;                            // without a sink, or of an answer other than 2xx (its start)
  std::string failure;                         // not empty: the connection failed or broke off, in curl's words

  bool ok() const { return failure.empty() && status >= 200 && status < 300; }
  // Empty when there is no such header.
  std::string header(const std::string& name) const;
};

class HttpClient {
 public:
  // Takes the bytes of a 2xx answer, whose status and headers are known by then.
  using Sink = std::function<void(const HttpResponse& head, std::string_view bytes)>;

  // `token` (may be empty) is sent to scheme, host and port of `origin` and nowhere else.
  HttpClient(std::string origin, std::string token);

  // Follows redirects within the origin; one that leads away from it is returned as it is.
  HttpResponse head(const std::string& url) const;
  HttpResponse get(const std::string& url) const;
  // first > 0 asks for the bytes from there on; an answer of 206 grants it, 200 starts at the beginning.
  HttpResponse get(const std::string& url, std::int64_t first, const Sink& sink) const;

 private:
  struct Request;
  HttpResponse perform(const Request& request) const;
  HttpResponse perform_once(const Request& request, const std::string& url) const;

  std::string origin_, token_;
};

// True when both have the same scheme, host and port.
bool same_origin(const std::string& url, const std::string& other);

// Every byte but letters, digits and "-._~" as %XX.
std::string url_escape(std::string_view text);

}  // namespace biowarp
