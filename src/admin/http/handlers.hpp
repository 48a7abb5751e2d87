// The operations of the admin API, each as docs/reference/openapi.yaml describes it. They throw
// Problem for what is wrong with the request, and whatever the stores throw.
#pragma once

#include "admin/http/context.hpp"

namespace postroom::admin {

// messages
Response list_messages(const Context& context, const Request& request);
Response get_message(const Context& context, const Request& request);
Response reveal_payload(const Context& context, const Request& request);
Response change_message(const Context& context, const Request& request);
Response resend_message(const Context& context, const Request& request);
Response list_dead_letters(const Context& context, const Request& request);

// operations
Response list_operations(const Context& context, const Request& request);
Response start_operation(const Context& context, const Request& request);
Response get_operation(const Context& context, const Request& request);
Response cancel_operation(const Context& context, const Request& request);

// topics and destinations
Response list_topics(const Context& context, const Request& request);
Response pause_topic(const Context& context, const Request& request);
Response resume_topic(const Context& context, const Request& request);
Response list_destinations(const Context& context, const Request& request);
Response probe_destination(const Context& context, const Request& request);

// the whole
Response get_openapi(const Context& context, const Request& request);
Response get_session(const Context& context, const Request& request);
Response get_overview(const Context& context, const Request& request);
Response list_sources(const Context& context, const Request& request);
Response list_workers(const Context& context, const Request& request);
Response list_stores(const Context& context, const Request& request);
Response examine_store(const Context& context, const Request& request);
Response list_audit(const Context& context, const Request& request);

// numbered pages
Response list_outbox(const Context& context, const Request& request);
Response list_inbox(const Context& context, const Request& request);

// monitoring
Response get_metrics(const Context& context, const Request& request);
Response get_prometheus(const Context& context, const Request& request);
Response get_liveness(const Context& context, const Request& request);
Response get_readiness(const Context& context, const Request& request);
Response get_health(const Context& context, const Request& request);

// docs/reference/openapi.yaml as it was when this was built.
std::string_view openapi_document();

}  // namespace postroom::admin
