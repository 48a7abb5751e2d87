// expect_given: that a stored message has the fields it was given, all that the two have in common.
#pragma once

#include <gtest/gtest.h>

#include "queue/message_fields.hpp"

namespace postroom::test {

template <class Given>
void expect_given(const Given& given, const Message& message) {
    visit_shared_fields(given, message,
                        [](FieldIndex index, const auto& wanted, const auto& found) {
                            if constexpr (requires { wanted == found; }) {
                                EXPECT_EQ(wanted, found) << field_of(index).name;
                            } else {
                                EXPECT_EQ(wanted.str(), found) << field_of(index).name;
                            }
                        });
}

}  // namespace postroom::test
