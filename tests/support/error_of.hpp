// error_of: the error that some work ends with.
#pragma once

#include <gtest/gtest.h>

#include "postroom/error.hpp"

namespace postroom::test {

// What `work` throws; a failure of the test when it throws nothing.
template <class Work>
Error error_of(const Work& work) {
    try {
        work();
    } catch (const Error& error) {
        return error;
    }
    ADD_FAILURE() << "nothing was thrown";
    return {ErrorKind::misuse, ""};
}

}  // namespace postroom::test
