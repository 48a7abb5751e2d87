// LineFile: appends whole lines to a file or to standard output.
#pragma once

#include <string>
#include <string_view>

namespace postroom::sink_stdout {

// Thread safety: one thread at a time.
class LineFile {
public:
    // An empty path is standard output. Nothing is opened yet.
    explicit LineFile(std::string path);
    ~LineFile();
    LineFile(const LineFile&) = delete;
    LineFile& operator=(const LineFile&) = delete;

    // Appends `lines`; on the disk when it returns, if `to_disk` and it is a file. Throws
    // std::system_error. What a failed call has left of a line is ended before the next one.
    void append(std::string_view lines, bool to_disk);
    void close();

private:
    void open();
    void write_all(std::string_view bytes);

    const std::string path_;
    int descriptor_ = -1;
    bool in_line_ = false;  // the last byte written was no line end
};

}  // namespace postroom::sink_stdout
