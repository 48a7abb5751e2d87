// AuditLaw: where the database itself keeps the audit log from being rewritten.
#pragma once

#include "conformance/law.hpp"

namespace postroom::test {

class AuditLaw : public SqlLaw {
protected:
    StoreControls& controls() { return *controls_of(store()); }
};

}  // namespace postroom::test
