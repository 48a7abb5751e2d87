# The compiler settings of every target of ours, and of no target of a project that includes us.

option(POSTROOM_WARNINGS_AS_ERRORS "Treat warnings as errors" ${PROJECT_IS_TOP_LEVEL})
option(POSTROOM_HARDEN "Compile and link with the hardening flags of a release" OFF)
option(POSTROOM_COVERAGE "Instrument for gcovr" OFF)
set(POSTROOM_SANITIZE "" CACHE STRING "Value of -fsanitize=, for example address,undefined")

include(CheckCXXCompilerFlag)
include(CheckPIESupported)

add_library(postroom_build_flags INTERFACE)
target_compile_features(postroom_build_flags INTERFACE cxx_std_20)

target_compile_options(postroom_build_flags INTERFACE
    -Wall -Wextra -Wpedantic -Wconversion -Wshadow -Wnon-virtual-dtor -Wold-style-cast
    $<$<BOOL:${POSTROOM_WARNINGS_AS_ERRORS}>:-Werror>
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wthread-safety>
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Werror=thread-safety>
    # It finds a function that is deprecated inside libstdc++'s own std::stable_sort.
    $<$<AND:$<CXX_COMPILER_ID:Clang>,$<VERSION_GREATER_EQUAL:$<CXX_COMPILER_VERSION>,17>>:-Wno-deprecated-declarations>
    # POSTROOM_ASSERT(!"why") turns a string into a condition on purpose.
    $<$<CXX_COMPILER_ID:Clang,AppleClang>:-Wno-string-conversion>)

if(CMAKE_UNITY_BUILD)
    # It asks whether the main file is a header, and takes the files that were put together for some.
    target_compile_options(postroom_build_flags INTERFACE
        $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endif()

if(POSTROOM_HARDEN)
    check_pie_supported()
    check_cxx_compiler_flag(-fcf-protection=full POSTROOM_HAS_CF_PROTECTION)
    target_compile_options(postroom_build_flags INTERFACE
        -U_FORTIFY_SOURCE -D_FORTIFY_SOURCE=3 -D_GLIBCXX_ASSERTIONS
        -fstack-protector-strong -fstack-clash-protection
        $<$<BOOL:${POSTROOM_HAS_CF_PROTECTION}>:-fcf-protection=full>)
    target_link_options(postroom_build_flags INTERFACE -Wl,-z,relro,-z,now)
endif()

if(POSTROOM_SANITIZE)
    target_compile_options(postroom_build_flags INTERFACE
        -fsanitize=${POSTROOM_SANITIZE} -fno-sanitize-recover=all -fno-omit-frame-pointer
        -D_GLIBCXX_ASSERTIONS)
    target_link_options(postroom_build_flags INTERFACE -fsanitize=${POSTROOM_SANITIZE})
    if(POSTROOM_SANITIZE MATCHES "thread")
        # g++ 12 warns about std::atomic_thread_fence inside its own headers.
        target_compile_options(postroom_build_flags INTERFACE
            $<$<CXX_COMPILER_ID:GNU>:-Wno-tsan>)
    endif()
endif()

if(POSTROOM_COVERAGE)
    target_compile_options(postroom_build_flags INTERFACE --coverage -fprofile-update=atomic)
    target_link_options(postroom_build_flags INTERFACE --coverage)
endif()

# postroom_use_build_flags(<target>): our warnings, our language level, position independent code.
function(postroom_use_build_flags target)
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:postroom_build_flags>)
    set_target_properties(${target} PROPERTIES
        CXX_EXTENSIONS OFF
        POSITION_INDEPENDENT_CODE ON)
endfunction()

# postroom_compile_by_folder(<target>): where files are compiled together, those of a folder are. For a target of several
# folders that use the same names.
function(postroom_compile_by_folder target)
    get_target_property(sources ${target} SOURCES)
    foreach(source IN LISTS sources)
        cmake_path(GET source PARENT_PATH folder)
        cmake_path(GET folder FILENAME group)
        set_source_files_properties(${source} PROPERTIES UNITY_GROUP ${group})
    endforeach()
    set_target_properties(${target} PROPERTIES UNITY_BUILD_MODE GROUP)
endfunction()

# Code that only tests is compiled without optimisation, debug information and UndefinedBehaviorSanitizer: that is what
# keeps a cold test run short, and it is the library that is to be examined.
add_library(postroom_test_flags INTERFACE)
target_compile_options(postroom_test_flags INTERFACE -O0 -g0 -U_FORTIFY_SOURCE)
if(POSTROOM_SANITIZE MATCHES "undefined")
    target_compile_options(postroom_test_flags INTERFACE -fno-sanitize=undefined)
endif()

# postroom_use_test_flags(<target>): the flags of every target, and then those of a test.
function(postroom_use_test_flags target)
    postroom_use_build_flags(${target})
    target_link_libraries(${target} PRIVATE $<BUILD_INTERFACE:postroom_test_flags>)
endfunction()
