-- abandon_stale_runs --
-- End the runs whose process stopped renewing its lease; the server's clock decides, because hosts' clocks differ.
UPDATE worker_runs
SET status = 'abandoned',
    finished_at = leased_until,
    error = 'the process ended without finishing the run'
WHERE worker = $1
    AND status = 'running'
    AND leased_until < clock_timestamp();

-- claim_run --
-- Begin a run unless one is running or the moment has had its run; a unique index decides between two processes.
INSERT INTO worker_runs (id, worker, status, scheduled_for, started_at, leased_until)
SELECT $1, $2, 'running', $3, $4, clock_timestamp() + make_interval(secs => $5)
WHERE NOT EXISTS (
    SELECT
    FROM worker_runs
    WHERE worker = $2
        AND status IN ('running', 'succeeded', 'failed')
        AND scheduled_for >= $3
)
ON CONFLICT DO NOTHING
RETURNING id;

-- running_since --
-- When the run that keeps others from starting began.
SELECT started_at
FROM worker_runs
WHERE worker = $1
    AND status = 'running';

-- renew_lease --
-- Say that a run's process is alive.
UPDATE worker_runs
SET leased_until = clock_timestamp() + make_interval(secs => $2)
WHERE id = $1
    AND status = 'running';

-- finish_run --
-- Record how a run ended.
UPDATE worker_runs
SET status = $2,
    finished_at = $3,
    counts = $4::text::jsonb,
    error = $5
WHERE id = $1
    AND status = 'running';

-- delete_old_runs --
-- Forget runs that nobody will ask about any more.
DELETE FROM worker_runs
WHERE worker = $1
    AND status <> 'running'
    AND started_at < $2;

-- latest_runs --
-- The newest runs of each worker, or of one.
SELECT id, worker, status, scheduled_for, started_at, finished_at, counts, error
FROM (
    SELECT
        id, worker, status, scheduled_for, started_at, finished_at, counts, error,
        row_number() OVER (PARTITION BY worker ORDER BY started_at DESC, id) AS age
    FROM worker_runs
    WHERE $1::text IS NULL
        OR worker = $1
) AS run
WHERE age <= $2
ORDER BY worker, started_at DESC, id;
