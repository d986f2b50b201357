"""cachelib's own tests on caret.contrib.cachelib: copied beside them, in the folder tests of its sdist."""

import pytest
from clear import ClearTests
from common import CommonTests
from has import HasTests
from serializer import SerializerTests

import caret
from caret.contrib.cachelib import CaretCache


@pytest.fixture(autouse=True)
def cache_factory(request, tmp_path):
    with caret.open(str(tmp_path / "lib.caret")) as db:
        request.cls.cache_factory = lambda self, *args, **options: CaretCache(db["^lib"], *args, **options)
        yield


class TestCaret(CommonTests, HasTests, ClearTests, SerializerTests):
    pass
