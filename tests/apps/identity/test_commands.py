import pytest
from django.core.management import CommandError, call_command

from apps.identity.models import User
from tests.conftest import PASSWORD

pytestmark = pytest.mark.django_db


def test_a_first_operator_is_made_without_the_demo(monkeypatch):
    monkeypatch.setenv("WEIR_PASSWORD", PASSWORD)
    call_command("operator_add", "root1", "--role", "system_administrator", "--role", "front_line")
    user = User.objects.get(username="root1")
    assert user.is_operator
    assert {row.role.code for row in user.operator_bindings.all()} == {"system_administrator", "front_line"}


@pytest.mark.parametrize("password", ["12345", "password"])
def test_a_weak_password_makes_nobody(monkeypatch, password):
    monkeypatch.setenv("WEIR_PASSWORD", password)
    with pytest.raises(CommandError, match="weak"):
        call_command("operator_add", "root1")
    assert not User.objects.filter(username="root1").exists()
