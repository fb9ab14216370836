from hypothesis import given
from hypothesis import strategies as st

from apps.scheduling.engine.resources.masks import places


@given(st.sets(st.integers(0, 400), max_size=60))
def test_places_are_the_set_bits_first_place_first(wanted: set[int]) -> None:
    assert places(sum(1 << place for place in wanted)) == sorted(wanted)
