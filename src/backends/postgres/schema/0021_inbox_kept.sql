-- What stays known of a message that is done, beside its key and until it is purged: how often it failed and, where the store
-- keeps history, its content. A table of its own, because those who receive lock {key} before {live} and those who acknowledge the
-- other way: a deployment that locks both would meet one of them halfway. Locks: none on existing tables. Way back: DROP TABLE {kept}.
CREATE TABLE {kept} (
    source       {source_name} NOT NULL,
    message_id   {message_name} NOT NULL,
    retry_count  integer NOT NULL,
    content_type text,
    headers      json,
    payload      bytea,
    CONSTRAINT "{queue}_kept_pk" PRIMARY KEY (source, message_id)
);
