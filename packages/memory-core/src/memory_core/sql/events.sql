-- insert_events --
-- Append one event per array element to the audit stream.
INSERT INTO memory_events (
    tenant_id, actor, request_id, occurred_at, created_at, event_type, entity_type, entity_id, payload
)
SELECT $1, $2, $3, $4, $4, event.event_type, event.entity_type, event.entity_id, event.payload::jsonb
FROM unnest($5::text[], $6::text[], $7::uuid[], $8::text[]) AS event (event_type, entity_type, entity_id, payload);
