// The matchers of GoogleMock that tests use by their plain names.
#pragma once

#include <gmock/gmock.h>

namespace postroom::test {

using testing::AllOf;
using testing::ElementsAre;
using testing::ElementsAreArray;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;
using testing::SizeIs;
using testing::StartsWith;
using testing::UnorderedElementsAre;
using testing::UnorderedElementsAreArray;

}  // namespace postroom::test
