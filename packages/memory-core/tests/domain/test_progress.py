"""Who hears the progress of long work."""

import asyncio

from memory_core.progress import listening, report_progress


async def test_only_the_work_in_the_block_is_heard():
    heard: list[tuple[str, int, int]] = []
    report_progress("before", 1, 2)
    with listening(lambda *told: heard.append(told)):
        await asyncio.create_task(_work("inside"))
    report_progress("after", 1, 2)
    assert heard == [("inside", 1, 2)]


async def test_two_calls_at_once_hear_only_their_own():
    async def call(name: str) -> list[str]:
        heard: list[str] = []
        with listening(lambda doing, _done, _total: heard.append(doing)):
            await asyncio.gather(*(_work(name) for _ in range(3)))
        return heard

    assert await asyncio.gather(call("a"), call("b")) == [["a"] * 3, ["b"] * 3]


async def _work(name: str) -> None:
    await asyncio.sleep(0)
    report_progress(name, 1, 2)
