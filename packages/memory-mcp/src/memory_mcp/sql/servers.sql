-- ping --
-- Whether the server answers.
SELECT 1;
