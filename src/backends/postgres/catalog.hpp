// The texts that make, lock and inspect the schema.
#pragma once

namespace postroom::postgres {

extern const char* const migration_table_text;
extern const char* const migration_lock_text;
extern const char* const before_routines_text;
extern const char* const after_routines_text;
extern const char* const catalog_text;

}  // namespace postroom::postgres
