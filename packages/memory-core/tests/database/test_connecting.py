"""Reaching PostgreSQL, and saying why it could not be reached."""

import pytest
from memory_core import ServerError
from memory_core.database import masked_dsn, open_pool


@pytest.mark.parametrize(
    ("dsn", "shown"),
    [
        ("postgresql://ann:secret@db:5432/memory", "postgresql://ann:***@db:5432/memory"),
        ("postgresql://ann:p%40ss@db/memory?sslmode=require", "postgresql://ann:***@db/memory?sslmode=require"),
        ("postgresql://ann@/memory?host=/run&password=secret", "postgresql://ann@/memory?host=/run&password=***"),
        ("postgresql://db/memory", "postgresql://db/memory"),
        ("host=db user=ann password=secret dbname=m", "host=db user=ann password=*** dbname=m"),
        ("host=db password='two words' dbname=m", "host=db password=*** dbname=m"),
    ],
)
def test_a_password_is_never_shown(dsn, shown):
    assert masked_dsn(dsn) == shown


@pytest.mark.parametrize(
    "dsn",
    [
        "postgresql://ann:secret@127.0.0.1:9/memory",
        "postgresql://ann:secret@/memory?host=/nonexistent",
        "mysql://ann:secret@db/memory",
    ],
)
async def test_a_server_that_does_not_answer_is_named_without_its_password(dsn):
    with pytest.raises(ServerError, match=r"no usable PostgreSQL at .*Check that the server runs") as caught:
        await open_pool(dsn)
    assert "secret" not in str(caught.value)


async def test_a_database_that_does_not_exist_is_named(server):
    with pytest.raises(ServerError, match='database "nowhere" does not exist'):
        await open_pool(server.dsn.replace("/memory?", "/nowhere?"))
