"""The tests themselves stand on real servers."""

import pytest
import redis
from django.db import connection


@pytest.mark.django_db
def test_the_tests_run_on_a_real_postgresql() -> None:
    with connection.cursor() as cursor:
        cursor.execute("SHOW server_version_num")
        assert int(cursor.fetchone()[0]) >= 140000


def test_the_tests_run_on_a_real_broker(broker: redis.Redis) -> None:
    broker.set("hud-test", "1")
    assert broker.get("hud-test") == b"1"
