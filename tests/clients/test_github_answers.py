"""Answers kept in Redis for conditional requests."""

import redis

from hud.clients.github import KeptAnswer, RedisAnswers
from hud.clients.github.answers import answer_key

ANSWER = KeptAnswer('W/"x"', "", '<https://x/?page=2>; rel="next"', b'{"a": "\n"}' * 1000)


def test_an_answer_comes_back_as_it_was_kept_and_is_forgotten_in_time(broker: redis.Redis) -> None:
    answers = RedisAnswers(broker, keep_s=60)
    answers.put("k", ANSWER)
    assert answers.get("k") == ANSWER
    assert answers.get("other") is None
    assert all(0 < broker.ttl(key) <= 60 for key in broker.keys("hud:answer:*"))


def test_an_answer_too_large_is_not_kept(broker: redis.Redis) -> None:
    answers = RedisAnswers(broker, max_bytes=20)
    answers.put("k", ANSWER)
    assert answers.get("k") is None


def test_what_one_token_may_see_is_not_shown_to_another() -> None:
    assert answer_key("one", "https://x/") != answer_key("two", "https://x/")
