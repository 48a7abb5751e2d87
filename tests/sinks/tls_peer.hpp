// TlsPeer: a TLS server that is not ours (tls_peer.js on node), and certificates for both sides.
#pragma once

#include <optional>
#include <string>

#include "support/process.hpp"
#include "support/temp_dir.hpp"

namespace postroom::test {

// A certificate that vouches for itself, with its key, made by openssl: cert.pem and key.pem.
class Certificate {
public:
    // For the DNS name `name`.
    explicit Certificate(const std::string& name);

    std::string certificate_file() const { return (folder_ / "cert.pem").string(); }
    std::string key_file() const { return (folder_ / "key.pem").string(); }
    std::string folder() const { return folder_.path().string(); }

private:
    TempDir folder_;
};

class TlsPeer {
public:
    // With `clients` it takes only clients with a certificate signed by that.
    explicit TlsPeer(const Certificate& own, const Certificate* clients = nullptr);

    std::string port() const { return port_; }
    // What became of the next connection: "secure", "secure <name>" or "refused".
    std::string next();

private:
    ChildProcess process_;
    std::string port_;
};

}  // namespace postroom::test
