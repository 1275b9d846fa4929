-- recent_episodes --
-- The newest episodes of a butler that have not expired.
SELECT id, content, created_at
FROM episodes
WHERE tenant_id = $1
    AND butler = $2
    AND (expires_at IS NULL OR expires_at > $3)
ORDER BY created_at DESC, id
LIMIT $4;
