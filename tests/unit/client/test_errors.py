"""What a refusal says in a terminal."""

from weir.errors import ApiError


def test_a_wrong_field_is_named_and_figures_of_a_refusal_are_not_listed():
    wrong = ApiError(
        400, "invalid_input", "The input is not valid.", "Correct it.", {"shares": "At least 1."}
    )
    assert str(wrong) == "The input is not valid. (shares: At least 1.) Correct it."
    full = ApiError(409, "quota_exceeded", "3 of 4 are used.", "Ask for less.", {"limit": "4", "used": "3"})
    assert str(full) == "3 of 4 are used. Ask for less."
