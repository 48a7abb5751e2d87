// The other side of the HTTP sink: the small server of the demo.
#pragma once

#include "cli/demo/http_server.hpp"

namespace postroom::test {

using cli::demo::HttpAnswer;
using cli::demo::HttpRequest;
using cli::demo::HttpServer;
using cli::demo::Port;

}  // namespace postroom::test
