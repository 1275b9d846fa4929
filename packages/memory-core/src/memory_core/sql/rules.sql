-- insert_rule --
-- Insert a rule as a candidate that has yet to prove itself.
INSERT INTO rules (
    id, tenant_id, content, embedding, search_vector, scope, maturity, confidence, decay_rate, permanence,
    effectiveness_score, source_butler, source_episode_id, tags, metadata, created_at, last_confirmed_at
)
VALUES (
    $1, $2, $3, $4::real[]::vector, memory_search_vector($5), $6, 'candidate', 0.5, $7, $8,
    0.0, $9, $10, $11::text::jsonb, $12::text::jsonb, $13, $13
);
