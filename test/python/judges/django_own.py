"""Django's own tests of a cache and of sessions, on caret.contrib.django.  The folder tests of Django's sdist is the first argument.

    python3 test/python/judges/django_own.py FOLDER
"""

import os
import sys
import tempfile

sys.path.insert(0, sys.argv[1])
import django  # noqa: E402
from django.conf import settings  # noqa: E402

settings.configure(
    SECRET_KEY="tests",
    USE_TZ=False,
    DATABASES={name: {"ENGINE": "django.db.backends.sqlite3"} for name in ("default", "other")},
    DEFAULT_AUTO_FIELD="django.db.models.AutoField",
    INSTALLED_APPS=["django.contrib.sites", "django.contrib.sessions", "cache", "sessions_tests"],
    MIDDLEWARE=["django.contrib.sessions.middleware.SessionMiddleware"],
    ROOT_URLCONF="urls",
    TEMPLATES=[{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}],
)
django.setup()
from cache.tests import BaseCacheTests, caches_setting_for_tests  # noqa: E402
from caret.contrib.django import SessionStore  # noqa: E402
from django.test import SimpleTestCase, TestCase, override_settings  # noqa: E402
from django.test.runner import DiscoverRunner  # noqa: E402
from sessions_tests.tests import SessionTestsMixin  # noqa: E402

folder = tempfile.TemporaryDirectory()
where = {"BACKEND": "caret.contrib.django.Cache", "LOCATION": os.path.join(folder.name, "django.caret")}


@override_settings(CACHES=caches_setting_for_tests(**where))
class CaretCacheTests(BaseCacheTests, TestCase):
    pass


@override_settings(CACHES={"default": where}, SESSION_ENGINE="caret.contrib.django")
class CaretSessionTests(SessionTestsMixin, SimpleTestCase):
    backend = SessionStore


class Runner(DiscoverRunner):
    def build_suite(self, *args, **kwargs):
        suite = self.test_loader.loadTestsFromTestCase(CaretCacheTests)
        suite.addTests(self.test_loader.loadTestsFromTestCase(CaretSessionTests))
        return suite


sys.exit(bool(Runner().run_tests([])))
