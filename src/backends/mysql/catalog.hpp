// The texts for the schema itself: its notes, its lock, its inspection.
#pragma once

namespace postroom::mysql {

extern const char* const migration_table_text;
extern const char* const migration_lock_text;
extern const char* const catalog_text;

}  // namespace postroom::mysql
