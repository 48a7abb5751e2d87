// A program that knows nothing of the library: for each path on its standard input it writes one
// message into that SQLite database with a plain INSERT, and answers with the path.
#include <sqlite3.h>

#include <cstdio>
#include <iostream>
#include <string>

int main() {
    for (std::string path; std::getline(std::cin, path);) {
        sqlite3* database = nullptr;
        char* error = nullptr;
        const bool written =
            sqlite3_open(path.c_str(), &database) == SQLITE_OK &&
            sqlite3_busy_timeout(database, 10'000) == SQLITE_OK &&
            sqlite3_exec(database,
                         "INSERT INTO outbox_live (topic, payload) VALUES ('t', 'foreign')",
                         nullptr, nullptr, &error) == SQLITE_OK;
        if (!written) std::fprintf(stderr, "%s: %s\n", path.c_str(), error ? error : "open failed");
        sqlite3_free(error);
        sqlite3_close(database);
        if (!written) return 1;
        std::cout << path << std::endl;
    }
}
