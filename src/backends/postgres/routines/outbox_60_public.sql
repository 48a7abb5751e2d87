-- Enqueue for any language, in the caller's transaction. Returns the work-item id; with an idempotency key
-- that was used before, that of the message which has it. A repeated key changes nothing and fails nothing.
--
-- It writes with the rights of its owner, so that a writer need not have any on the tables behind it; in return not everybody
-- may call it, but those who may insert into {live}, and whom its owner grants it to.

{define:function enqueue}(
    topic text, payload bytea, correlation_id text DEFAULT NULL, due_time timestamptz DEFAULT NULL,
    tenant_id text DEFAULT NULL, idempotency_key text DEFAULT NULL, ordering_key text DEFAULT NULL,
    headers jsonb DEFAULT NULL, content_type text DEFAULT 'application/json', message_id text DEFAULT NULL,
    priority integer DEFAULT 0, max_attempts integer DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    occurred_at timestamptz DEFAULT NULL, aggregate_type text DEFAULT '__GLOBAL__', aggregate_id text DEFAULT NULL)
RETURNS uuid {pinned_path} SECURITY DEFINER
AS $$
DECLARE
    stored record;
BEGIN
    PERFORM {check_text}('topic', topic, 255, true);
    PERFORM {check_payload}(payload);
    PERFORM {check_text}('correlation_id', correlation_id, 255, false);
    PERFORM {check_text}('tenant_id', tenant_id, 255, false);
    PERFORM {check_text}('idempotency_key', idempotency_key, 255, false);
    PERFORM {check_text}('ordering_key', ordering_key, 255, false);
    PERFORM {check_text}('content_type', content_type, 255, false);
    PERFORM {check_text}('message_id', message_id, 36, false);
    PERFORM {check_text}('aggregate_type', aggregate_type, 255, true);
    PERFORM {check_text}('aggregate_id', aggregate_id, 255, false);
    PERFORM {check_headers}(headers);
    PERFORM {check_end}(max_attempts, due_time, expires_at);
    -- A message id given by the caller serves as idempotency key too.
    SELECT * INTO stored FROM {do_enqueue}(
        {random_id}(), coalesce(nullif(message_id, ''), {new_message_id}), topic, payload,
        coalesce(content_type, 'application/json'), headers::text::json, nullif(correlation_id, ''),
        coalesce(tenant_id, ''), coalesce(nullif(idempotency_key, ''), nullif(message_id, '')), aggregate_type,
        nullif(aggregate_id, ''), nullif(ordering_key, ''), occurred_at, expires_at, coalesce(priority, 0),
        max_attempts, coalesce(nullif(idempotency_key, ''), nullif(message_id, '')), due_time);
    IF NOT FOUND THEN
        PERFORM {refuse}('the database dropped the message; is there a trigger on the table that does?');
    END IF;
    RETURN {item_id}(stored.seq, stored.nonce);
END $$;

{define:function enqueue}(
    topic text, payload text, correlation_id text DEFAULT NULL, due_time timestamptz DEFAULT NULL,
    tenant_id text DEFAULT NULL, idempotency_key text DEFAULT NULL, ordering_key text DEFAULT NULL,
    headers jsonb DEFAULT NULL, content_type text DEFAULT 'application/json', message_id text DEFAULT NULL,
    priority integer DEFAULT 0, max_attempts integer DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    occurred_at timestamptz DEFAULT NULL, aggregate_type text DEFAULT '__GLOBAL__', aggregate_id text DEFAULT NULL)
RETURNS uuid {pinned_sql}
AS $$
    SELECT {enqueue}($1, convert_to($2, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
$$;

{define:function enqueue}(
    topic text, payload jsonb, correlation_id text DEFAULT NULL, due_time timestamptz DEFAULT NULL,
    tenant_id text DEFAULT NULL, idempotency_key text DEFAULT NULL, ordering_key text DEFAULT NULL,
    headers jsonb DEFAULT NULL, content_type text DEFAULT 'application/json', message_id text DEFAULT NULL,
    priority integer DEFAULT 0, max_attempts integer DEFAULT NULL, expires_at timestamptz DEFAULT NULL,
    occurred_at timestamptz DEFAULT NULL, aggregate_type text DEFAULT '__GLOBAL__', aggregate_id text DEFAULT NULL)
RETURNS uuid {pinned_sql}
AS $$
    SELECT {enqueue}($1, convert_to($2::text, 'UTF8'), $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15,
                     $16)
$$;

DO $$
DECLARE
    routine regprocedure;
    writer record;
BEGIN
    FOR routine IN SELECT p.oid FROM pg_proc p
                    WHERE p.pronamespace = '{schema}'::regnamespace AND p.proname = '{queue}_enqueue' LOOP
        EXECUTE format('REVOKE ALL ON FUNCTION %s FROM PUBLIC', routine);
        FOR writer IN
            SELECT DISTINCT CASE WHEN a.grantee = 0 THEN 'PUBLIC' ELSE a.grantee::regrole::text END AS name
              FROM (SELECT c.relacl AS acl FROM pg_class c WHERE c.oid = '{live}'::regclass
                    UNION ALL
                    SELECT t.attacl FROM pg_attribute t WHERE t.attrelid = '{live}'::regclass) g,
                   aclexplode(g.acl) a
             WHERE a.privilege_type = 'INSERT'
        LOOP
            EXECUTE format('GRANT EXECUTE ON FUNCTION %s TO %s', routine, writer.name);
        END LOOP;
    END LOOP;
END $$;
