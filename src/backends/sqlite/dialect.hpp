// The dialect of SQLite: its SQL texts, in the files *_texts.cpp, put together.
#pragma once

#include "postroom/message.hpp"
#include "sql/dialect.hpp"

namespace postroom::sqlite {

sql::Dialect make_dialect();

// The parts of it, each in a file of its own.
sql::UnitText claim_text(Queue queue);
sql::UnitText reap_text();
sql::QueueTexts queue_texts(Queue queue);
sql::OutboxTexts outbox_texts();
sql::InboxTexts inbox_texts();

sql::ForeignTexts foreign_texts();
std::vector<sql::ExamText> exam_texts();

}  // namespace postroom::sqlite
