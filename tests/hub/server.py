"""A small hub for tests, on 127.0.0.1 with a free port; standard library only.

Prints "port <n>" when it listens. Speaks what src/io/hub.cpp lists. Names of repositories choose what happens:

  test/plain       safetensors in one file, redirected to another host (localhost)
  test/sharded     two safetensors shards with an index
  test/bin         pytorch_model.bin only
  test/cut         the first two answers with weights break off
  test/always-cut  every answer with weights breaks off at the same byte
  test/no-range    as test/cut, but Range is ignored
  test/wrong-hash  weights differ from their hash
  test/too-short   weights are shorter than announced
  test/too-long    weights are longer than announced
  test/busy        the first answer with weights is 503
  test/private     needs the token "secret" (401 without)
  test/gated       403 with X-Error-Code: GatedRepo
  test/no-model    holds a README only
  test/evil-shard  an index that names a file outside of the repository
  test/loop        weights redirect for ever

GET /requests returns one line per request so far: METHOD PATH RANGE AUTHORIZATION.
"""

import hashlib
import http.server
import json
import re
import urllib.parse

COMMIT = "0123456789abcdef0123456789abcdef01234567"
OLD_COMMIT = "89abcdef0123456789abcdef0123456789abcdef"
WEIGHTS = bytes((i * i + i // 251) % 256 for i in range(300_000))
SMALL = {
    "config.json": b'{"model_type": "esm"}\n',
    "vocab.txt": b"<cls>\n<pad>\n",
    "tokenizer_config.json": b"{}",
    "README.md": b"# not a part of the model\n",
}


def index_of(shards):
    return json.dumps({"weight_map": {f"tensor.{i}": shard for i, shard in enumerate(shards)}}).encode()


def repository(name):
    """Files of a repository: {file name: bytes}, large ones are those with weights."""
    if name == "sharded":
        shards = {f"model-0000{i}-of-00002.safetensors": WEIGHTS[i::2] for i in (1, 2)}
        return {**SMALL, **shards, "model.safetensors.index.json": index_of(shards)}
    if name == "bin":
        return {**SMALL, "pytorch_model.bin": WEIGHTS}
    if name == "no-model":
        return {"README.md": SMALL["README.md"]}
    if name == "evil-shard":
        return {**SMALL, "model.safetensors.index.json": index_of(["../../../escaped"])}
    return {**SMALL, "model.safetensors": WEIGHTS, "pytorch_model.bin": WEIGHTS[::-1]}


def git_hash(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


class Hub(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    requests = []
    weights_served = {}

    def log_message(self, *args):
        pass

    def do_HEAD(self):
        self.route()

    def do_GET(self):
        self.route()

    def route(self):
        path = urllib.parse.urlsplit(self.path).path
        if path == "/requests":
            return self.answer(200, "\n".join(Hub.requests).encode())
        Hub.requests.append(" ".join([self.command, path, self.headers.get("Range", "-"),
                                      self.headers.get("Authorization", "-")]))
        if match := re.fullmatch(r"/api/models/(test/[^/]+)/revision/([^/]+)", path):
            return self.model_info(match[1], urllib.parse.unquote(match[2]))
        if match := re.fullmatch(r"/(test/[^/]+)/resolve/([^/]+)/([^/]+)", path):
            return self.resolve(*match.groups())
        if match := re.fullmatch(r"/store/(test/[^/]+)/([^/]+)", path):
            return self.store(*match.groups())
        return self.answer(404, b"", {"X-Error-Code": "RepoNotFound"})

    def answer(self, status, body, headers=None):
        self.send_response(status)
        headers = {"Content-Length": str(len(body)), **(headers or {})}
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command == "GET":
            self.wfile.write(body)

    def refused(self, repo):
        if repo == "test/private" and self.headers.get("Authorization") != "Bearer secret":
            self.answer(401, b"", {"X-Error-Code": "RepoNotFound"})
            return True
        if repo == "test/gated":
            self.answer(403, b"", {"X-Error-Code": "GatedRepo"})
            return True
        return False

    def model_info(self, repo, revision):
        if self.refused(repo):
            return None
        commits = {"main": COMMIT, COMMIT: COMMIT, "refs/pr/1": OLD_COMMIT, OLD_COMMIT: OLD_COMMIT}
        if revision not in commits:
            return self.answer(404, b"", {"X-Error-Code": "RevisionNotFound"})
        siblings = [{"rfilename": name} for name in repository(repo[5:])]
        return self.answer(200, json.dumps({"id": repo, "sha": commits[revision], "siblings": siblings}).encode())

    def resolve(self, repo, commit, name):
        files = repository(repo[5:])
        if self.refused(repo):
            return None
        if name not in files:
            return self.answer(404, b"", {"X-Error-Code": "EntryNotFound"})
        data = files[name]
        headers = {"X-Repo-Commit": commit}
        if len(data) < 1000:
            return self.answer(200, data, {**headers, "ETag": f'"{git_hash(data)}"'})
        port = self.server.server_address[1]
        target = self.path if repo == "test/loop" and self.command == "GET" else f"http://localhost:{port}/store/{repo}/{name}"
        return self.answer(302, b"", {**headers, "ETag": '"of the redirect"', "Location": target,
                                      "X-Linked-Etag": f'"{hashlib.sha256(data).hexdigest()}"',
                                      "X-Linked-Size": str(len(data))})

    def store(self, repo, name):
        """Where large files lie: another host, which must never see a token."""
        if "Authorization" in self.headers:
            return self.answer(400, b"a token was sent to another host")
        data = repository(repo[5:])[name]
        if repo == "test/wrong-hash":
            data = data[:-1] + b"?"
        if repo == "test/too-short":
            data = data[:-1]
        if repo == "test/too-long":
            data = data + b"?"
        served = Hub.weights_served[repo] = Hub.weights_served.get(repo, 0) + 1
        if repo == "test/busy" and served == 1:
            return self.answer(503, b"busy")
        match = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
        first = int(match[1]) if match and repo != "test/no-range" else 0
        if match and first >= len(data):
            return self.answer(416, b"")
        self.send_response(206 if first else 200)
        self.send_header("Content-Length", str(len(data) - first))
        if first:
            self.send_header("Content-Range", f"bytes {first}-{len(data) - 1}/{len(data)}")
        self.end_headers()
        last = len(data)
        if repo in ("test/cut", "test/no-range") and served <= 2:
            last = min(last, 100_000 * served + 7)
        if repo == "test/always-cut":
            last = 100_007
        self.wfile.write(data[first:last])
        if last < len(data):
            self.close_connection = True
        return None


if __name__ == "__main__":
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Hub)
    print("port", server.server_address[1], flush=True)
    server.serve_forever()
