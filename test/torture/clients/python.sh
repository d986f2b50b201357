#!/bin/sh
# What Python programs build on redis-py, with hiredis' parser: rq, Celery and django-redis, from PyPI.  Programs of ours.

# shellcheck source=test/torture/clients/common.sh
. "$CARET_SOURCE/test/torture/clients/common.sh"
client python
python=/usr/bin/python3
[ -x $python ] || python=python3
install() { $python -m venv venv && venv/bin/pip install --retries 1 hiredis rq celery packaging django-redis redis; }
fetch
for name in ${CARET_PROGRAMS:-rq celery django hiredis}; do
    cp "$here/python_$name.py" "$cache/"
    beside "$cache/venv/bin/python" "$cache/python_$name.py"
done
name=python
finish
