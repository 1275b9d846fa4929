-- lock_rule_standing --
-- What feedback has made of a rule so far, kept until the transaction ends so that no mark is lost.
SELECT
    maturity, applied_count, success_count, harmful_count, effectiveness_score, created_at,
    metadata -> 'needs_inversion' = 'true'::jsonb AS inversion_due,
    metadata -> 'forgotten' = 'true'::jsonb AS forgotten
FROM rules
WHERE tenant_id = $1
    AND id = $2
FOR NO KEY UPDATE;

-- update_rule_standing --
-- Write a rule's standing; a reason joins the newest ones, older ones stay in rule_applications.
UPDATE rules
SET maturity = $3,
    applied_count = $4,
    success_count = $5,
    harmful_count = $6,
    effectiveness_score = $7,
    last_applied_at = GREATEST(last_applied_at, $10::timestamptz),
    last_evaluated_at = GREATEST(last_evaluated_at, $10::timestamptz),
    metadata = (metadata - 'needs_inversion')
        || CASE WHEN $8::boolean THEN '{"needs_inversion": true}'::jsonb ELSE '{}'::jsonb END
        || CASE
            WHEN $9::text IS NULL THEN '{}'::jsonb
            ELSE jsonb_build_object('harmful_reasons', (
                SELECT jsonb_agg(kept.reason ORDER BY kept.position)
                FROM (
                    SELECT told.reason, told.position
                    FROM jsonb_array_elements(
                        CASE jsonb_typeof(metadata -> 'harmful_reasons')
                            WHEN 'array' THEN metadata -> 'harmful_reasons'
                            ELSE '[]'::jsonb
                        END || to_jsonb($9::text)
                    ) WITH ORDINALITY AS told (reason, position)
                    ORDER BY told.position DESC
                    LIMIT $11::int
                ) AS kept
            ))
        END
WHERE tenant_id = $1
    AND id = $2;

-- insert_rule_application --
-- Record one application of a rule and what came of it.
INSERT INTO rule_applications (tenant_id, rule_id, outcome, reason, request_id, context, applied_at)
VALUES ($1, $2, $3, $4, $5, $6::text::jsonb, $7);
