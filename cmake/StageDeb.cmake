# Run by cpack between installing the components into folders of their own and packing those: adds what a Debian
# package has and an installation to any other prefix has not.

set(packaging ${CPACK_POSTROOM_SOURCE}/packaging)
set(stage ${CPACK_TEMPORARY_DIRECTORY})
if(EXISTS ${stage}/package_staged)
    return()
endif()
file(TOUCH ${stage}/package_staged)

# stage_file(<file> <path in the package>): readable for everybody.
function(stage_file file path)
    configure_file(${file} ${path} COPYONLY FILE_PERMISSIONS OWNER_READ OWNER_WRITE GROUP_READ WORLD_READ)
endfunction()

# Debian's loader finds libraries in /usr/lib by itself, and its policy forbids other ways.
file(GLOB linked ${stage}/library/usr/lib/*.so* ${stage}/program/usr/bin/*)
foreach(file IN LISTS linked)
    if(NOT IS_SYMLINK ${file})
        file(RPATH_REMOVE FILE ${file})
    endif()
endforeach()

set(program ${stage}/program)
stage_file(${packaging}/systemd/postroom.service ${program}/lib/systemd/system/postroom.service)
stage_file(${packaging}/systemd/sysusers.conf ${program}/usr/lib/sysusers.d/postroom.conf)
stage_file(${packaging}/systemd/tmpfiles.conf ${program}/usr/lib/tmpfiles.d/postroom.conf)
stage_file(${packaging}/postroom.toml ${program}/etc/postroom/postroom.toml)
file(GLOB pages ${program}/usr/share/man/man*/*)

string(TIMESTAMP date "%a, %d %b %Y %H:%M:%S +0000" UTC)
foreach(part library=${CPACK_POSTROOM_LIBRARY} dev=libpostroom-dev program=postroom)
    string(REPLACE = ";" part ${part})
    list(GET part 0 component)
    list(GET part 1 package)
    set(docs ${stage}/${component}/usr/share/doc/${package})
    stage_file(${packaging}/debian/copyright ${docs}/copyright)
    stage_file(${CPACK_POSTROOM_SOURCE}/CHANGELOG.md ${docs}/NEWS)
    file(WRITE ${docs}/changelog
        "postroom (${CPACK_PACKAGE_VERSION}) unstable; urgency=medium\n\n"
        "  * See NEWS.gz beside this file.\n\n"
        " -- ${CPACK_PACKAGE_CONTACT}  ${date}\n")
    list(APPEND pages ${docs}/changelog ${docs}/NEWS)
    if(EXISTS ${packaging}/debian/${component}.lintian-overrides)
        stage_file(${packaging}/debian/${component}.lintian-overrides
            ${stage}/${component}/usr/share/lintian/overrides/${package})
    endif()
endforeach()
execute_process(COMMAND gzip -9nf ${pages} COMMAND_ERROR_IS_FATAL ANY)
