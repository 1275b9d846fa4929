"""What a server runs beside its calls."""

import asyncio

import pytest
from memory_core import MemoryModuleConfig
from memory_mcp.serving import prepare_serving


def worker_tasks() -> set[str]:
    return {task.get_name() for task in asyncio.all_tasks() if task.get_name().startswith("memory worker ")}


@pytest.mark.parametrize(("workers", "expected"), [(None, 4), (False, 0)])
async def test_the_workers_follow_their_schedule_while_the_database_is_open(dsn, tmp_path, workers, expected):
    config = MemoryModuleConfig.model_validate({"spool": {"directory": str(tmp_path)}})
    serving = prepare_serving(config, dsn=dsn, workers=workers)
    async with serving.runtime:
        await serving.runtime.memory()
        assert len(worker_tasks()) == expected
    assert worker_tasks() == set()


async def test_a_configuration_can_leave_the_workers_to_others(dsn, tmp_path):
    settings = {"spool": {"directory": str(tmp_path)}, "serve": {"workers": False}}
    serving = prepare_serving(MemoryModuleConfig.model_validate(settings), dsn=dsn)
    async with serving.runtime:
        await serving.runtime.memory()
        assert worker_tasks() == set()
