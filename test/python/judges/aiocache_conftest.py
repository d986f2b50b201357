"""Stands where aiocache's own tests have the conftest.py of their folder acceptance: what they know as the cache in
memory is one of caret.contrib.aiocache."""

import pytest
from aiocache import caches

import caret
from caret.contrib.aiocache import CaretCache


@pytest.fixture(autouse=True)
def reset_caches():
    caches._caches = {}
    caches.set_config({"default": {"cache": "aiocache.SimpleMemoryCache"}})


@pytest.fixture
async def memory_cache(tmp_path):
    with caret.open(str(tmp_path / "aio.caret")) as db:
        async with CaretCache(db["^aio"], namespace="test") as cache:
            yield cache


@pytest.fixture
def cache(memory_cache):
    return memory_cache
