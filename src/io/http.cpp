#include "io/http.h"

#include <curl/curl.h>

#include <algorithm>
#include <cctype>
#include <exception>
#include <memory>
#include <utility>

#include "base/fail.h"
#include "biowarp/version.h"
#include "io/header_text.h"

namespace biowarp {
namespace {

constexpr int kMostRedirects = 10;
constexpr std::size_t kLargestBody = std::size_t{64} << 20;  // of an answer that is kept in memory

using Handle = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using HeaderList = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

Handle new_handle() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  Handle handle(ready == CURLE_OK ? curl_easy_init() : nullptr, curl_easy_cleanup);
  if (!handle) fail(ErrorKind::internal, "libcurl does not start");
  return handle;
}

// "scheme://host:port", empty for what is no URL.
std::string origin_of(const std::string& url) {
  const std::unique_ptr<CURLU, decltype(&curl_url_cleanup)> parsed(curl_url(), curl_url_cleanup);
  if (!parsed || curl_url_set(parsed.get(), CURLUPART_URL, url.c_str(), 0) != CURLUE_OK) return "";
  std::string origin;
  for (const CURLUPart part : {CURLUPART_SCHEME, CURLUPART_HOST, CURLUPART_PORT}) {
    char* text = nullptr;
    if (curl_url_get(parsed.get(), part, &text, CURLU_DEFAULT_PORT) != CURLUE_OK) return "";
    origin.append(text).append(part == CURLUPART_SCHEME ? "://" : part == CURLUPART_HOST ? ":" : "");
    curl_free(text);
  }
  std::transform(origin.begin(), origin.end(), origin.begin(), [](unsigned char c) { return std::tolower(c); });
  return origin;
}

bool is_redirect(long status) {
  return status == 301 || status == 302 || status == 303 || status == 307 || status == 308;
}

// What curl's callbacks work on.
struct Transfer {
  CURL* handle;
  HttpResponse& response;
  const HttpClient::Sink* sink;
  std::exception_ptr thrown;  // exceptions must not pass through curl

  void take_header(std::string_view line) {
    if (line.substr(0, 5) == "HTTP/") response.headers.clear();  // an interim answer came before
    const std::size_t colon = line.find(':');
    if (colon == std::string_view::npos) return;
    std::string name(line.substr(0, colon));
    std::transform(name.begin(), name.end(), name.begin(), [](unsigned char c) { return std::tolower(c); });
    response.headers[name] = trim(line.substr(colon + 1));
  }

  void take_body(std::string_view bytes) {
    curl_easy_getinfo(handle, CURLINFO_RESPONSE_CODE, &response.status);
    if (sink && response.status >= 200 && response.status < 300) return (*sink)(response, bytes);
    if (response.body.size() + bytes.size() > kLargestBody) fail_input("the answer of {} is too long", response.url);
    response.body += bytes;
  }
};

std::size_t on_header(char* data, std::size_t size, std::size_t count, void* transfer) {
  static_cast<Transfer*>(transfer)->take_header({data, size * count});
  return size * count;
}

std::size_t on_body(char* data, std::size_t size, std::size_t count, void* pointer) {
  auto& transfer = *static_cast<Transfer*>(pointer);
  try {
    transfer.take_body({data, size * count});
    return size * count;
  } catch (...) {
    transfer.thrown = std::current_exception();
    return 0;  // curl ends the transfer
  }
}

void set_common_options(CURL* handle, const std::string& url) {
  curl_easy_setopt(handle, CURLOPT_URL, url.c_str());
  curl_easy_setopt(handle, CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(handle, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(handle, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(handle, CURLOPT_CONNECTTIMEOUT, 20L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_LIMIT, 1L);
  curl_easy_setopt(handle, CURLOPT_LOW_SPEED_TIME, 60L);
  curl_easy_setopt(handle, CURLOPT_USERAGENT, fmt::format("biowarp/{}", kVersion).c_str());
}

}  // namespace

std::string HttpResponse::header(const std::string& name) const {
  const auto found = headers.find(name);
  return found == headers.end() ? "" : found->second;
}

struct HttpClient::Request {
  std::string url;
  bool head = false;
  std::int64_t first = 0;
  const Sink* sink = nullptr;
};

HttpClient::HttpClient(std::string origin, std::string token) : origin_(std::move(origin)), token_(std::move(token)) {}

HttpResponse HttpClient::head(const std::string& url) const { return perform({url, true, 0, nullptr}); }

HttpResponse HttpClient::get(const std::string& url) const { return perform({url, false, 0, nullptr}); }

HttpResponse HttpClient::get(const std::string& url, std::int64_t first, const Sink& sink) const {
  return perform({url, false, first, &sink});
}

HttpResponse HttpClient::perform(const Request& request) const {
  std::string url = request.url;
  for (int hop = 0; hop <= kMostRedirects; ++hop) {
    HttpResponse response = perform_once(request, url);
    if (!response.failure.empty() || !is_redirect(response.status)) return response;
    url = response.header("redirect-url");
    if (url.empty()) return response;
    if (request.head && !same_origin(url, origin_)) return response;
    const bool downgrade = origin_.rfind("https:", 0) == 0 && url.rfind("https:", 0) != 0;
    if (downgrade) fail_input("{} redirects to {}, which is not https", response.url, url);
  }
  fail_input("{} redirects more than {} times", request.url, kMostRedirects);
}

// The absolute target of a redirect is added to the headers as "redirect-url".
HttpResponse HttpClient::perform_once(const Request& request, const std::string& url) const {
  HttpResponse response;
  response.url = url;
  const Handle handle = new_handle();
  CURL* const curl = handle.get();
  Transfer transfer{curl, response, request.sink, nullptr};
  set_common_options(curl, url);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &transfer);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &transfer);
  if (request.head) curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
  if (request.first > 0) curl_easy_setopt(curl, CURLOPT_RANGE, fmt::format("{}-", request.first).c_str());
  HeaderList headers(nullptr, curl_slist_free_all);
  if (!token_.empty() && same_origin(url, origin_)) {
    headers.reset(curl_slist_append(nullptr, ("Authorization: Bearer " + token_).c_str()));
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers.get());
  }
  const CURLcode code = curl_easy_perform(curl);
  if (transfer.thrown) std::rethrow_exception(transfer.thrown);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
  if (code != CURLE_OK) response.failure = curl_easy_strerror(code);
  const char* redirect = nullptr;
  curl_easy_getinfo(curl, CURLINFO_REDIRECT_URL, &redirect);
  if (redirect) response.headers["redirect-url"] = redirect;
  return response;
}

bool same_origin(const std::string& url, const std::string& other) {
  const std::string origin = origin_of(url);
  return !origin.empty() && origin == origin_of(other);
}

std::string url_escape(std::string_view text) {
  std::string escaped;
  for (const char c : text) {
    const bool plain =
        std::isalnum(static_cast<unsigned char>(c)) || std::string_view("-._~").find(c) != std::string_view::npos;
    escaped += plain ? std::string(1, c) : fmt::format("%{:02X}", static_cast<unsigned char>(c));
  }
  return escaped;
}

}  // namespace biowarp
