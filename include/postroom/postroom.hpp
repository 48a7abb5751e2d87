// Everything but the backends and the adapters.
#pragma once

#include "postroom/clock.hpp"
#include "postroom/error.hpp"
#include "postroom/handler.hpp"
#include "postroom/idempotency.hpp"
#include "postroom/ids.hpp"
#include "postroom/inbox.hpp"
#include "postroom/message.hpp"
#include "postroom/open_store.hpp"
#include "postroom/outbox.hpp"
#include "postroom/retry_policy.hpp"
#include "postroom/schema.hpp"
#include "postroom/store.hpp"
#include "postroom/topic.hpp"
#include "postroom/transaction.hpp"
#include "postroom/webhooks.hpp"
#include "postroom/work_queue.hpp"
