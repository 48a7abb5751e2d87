// The dialect of SQLite: its SQL texts, in the files *_texts.cpp, put together.
#pragma once

#include "postroom/message.hpp"
#include "sql/dialect.hpp"

namespace postroom::sqlite {

sql::Dialect make_dialect();

// The parts of it, each in a file of its own.
sql::UnitText claim_text(Queue queue);
sql::UnitText reap_text();
sql::AckTexts ack_texts(Queue queue);
sql::QueueTexts queue_texts(Queue queue);
sql::OutboxTexts outbox_texts();
sql::InboxTexts inbox_texts();

const SqlWords& words();
std::vector<sql::HealthCheckText> health_checks();

}  // namespace postroom::sqlite
