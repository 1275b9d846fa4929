-- vectors_in_array --
-- A few vectors, cut from one flat array; goes before a statement that reads incoming_vectors.
WITH incoming_vectors (position, embedding) AS (
    SELECT
        place,
        ($2::real[])[(place - 1) * $1::int + 1 : place * $1::int]::vector
    FROM generate_series(1, array_length($2::real[], 1) / $1::int) AS place
)

-- vectors_in_staging --
-- Many vectors, copied into a table of this transaction; takes the same two arguments, which it does not need.
WITH unused AS (
    SELECT $1::int, $2::real[]
)

-- create_staging --
-- A table that only this transaction sees.
CREATE TEMPORARY TABLE incoming_vectors (position INT, embedding vector) ON COMMIT DROP;

-- drop_staging --
-- Make room for the next batch of the same transaction.
DROP TABLE pg_temp.incoming_vectors;
