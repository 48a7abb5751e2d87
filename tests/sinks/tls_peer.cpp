#include "sinks/tls_peer.hpp"

#include <chrono>
#include <stdexcept>
#include <vector>

namespace postroom::test {

namespace {

using namespace std::chrono_literals;

std::vector<std::string> words_of(const Certificate& own, const Certificate* clients) {
    std::vector<std::string> words{POSTROOM_SOURCE_DIR "/tests/sinks/tls_peer.js", own.folder()};
    if (clients != nullptr) words.push_back(clients->certificate_file());
    return words;
}

}  // namespace

Certificate::Certificate(const std::string& name) {
    ChildProcess openssl(
        {.program = "/usr/bin/openssl",
         .arguments = {"req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1",
                       "-nodes", "-days", "2", "-subj", "/CN=" + name, "-addext",
                       "subjectAltName=DNS:" + name, "-keyout", key_file(), "-out",
                       certificate_file()},
         .merge_stderr = true});
    const std::string said = openssl.read_all(60s);
    const std::optional<ExitStatus> status = openssl.wait(60s);
    if (!status || !status->success()) throw std::runtime_error("openssl: " + said);
}

TlsPeer::TlsPeer(const Certificate& own, const Certificate* clients)
    : process_({.program = "/usr/bin/node", .arguments = words_of(own, clients)}), port_(next()) {}

std::string TlsPeer::next() {
    const std::optional<std::string> line = process_.read_line(60s);
    if (!line) throw std::runtime_error("the TLS peer says nothing; is node installed?");
    return *line;
}

}  // namespace postroom::test
