from apps.kernel.errors import Conflict, NotFound, QuotaExceeded, WeirError


def test_an_error_says_cause_and_cure_with_a_stable_code():
    body = QuotaExceeded("Acme has 3 of 4 cards left, 8 asked.", cure="Ask for less.").as_json()
    assert body == {
        "error": {
            "code": "quota_exceeded",
            "message": "Acme has 3 of 4 cards left, 8 asked.",
            "cure": "Ask for less.",
        }
    }


def test_fields_are_named_when_there_are_any():
    assert WeirError("x", fields={"count": "at least 1"}).as_json()["error"]["fields"] == {
        "count": "at least 1"
    }


def test_every_error_has_its_own_words_and_status():
    assert NotFound().status == 404
    assert Conflict().status == 409
    assert str(NotFound().message)
