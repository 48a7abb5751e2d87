# Writes OUTPUT, a source file that holds the file DOCUMENT, to the byte.

file(READ ${DOCUMENT} text)
string(FIND "${text}" ")postroom\"" clash)
if(NOT clash EQUAL -1)
    message(FATAL_ERROR "${DOCUMENT}: contains the delimiter of the raw string")
endif()

file(WRITE ${OUTPUT}
"// Generated from docs/reference/openapi.yaml; edit that instead.
#include \"admin/http/handlers.hpp\"

namespace postroom::admin {

std::string_view openapi_document() { return R\"postroom(${text})postroom\"; }

}  // namespace postroom::admin
")
