// What the machine is, for the record.
#pragma once

#include <map>
#include <string>

namespace bench {

std::map<std::string, std::string> describe_machine();

}  // namespace bench
