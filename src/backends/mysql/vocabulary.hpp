// What the {tokens} of this folder's SQL stand for beside names: how MariaDB and MySQL write the
// fields of a message, and the phrases that several routines share.
#pragma once

#include "sql/expander.hpp"

namespace postroom::mysql {

sql::Vocabulary make_vocabulary();

// How the columns of a message row are shown.
enum class RowUse {
    shown,   // by a view, with the lease if there is one; an expired one shows as ready
    leased,  // to whoever has just leased it
    resting  // by a view that knows nothing of leases
};

// The expression of one column.
std::string row_text(const Field& field, sql::RowPlace place, Queue queue, RowUse use);

}  // namespace postroom::mysql
