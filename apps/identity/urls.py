from django.urls import path

from apps.identity.views import lists
from apps.identity.views import own_account as views

app_name = "identity"
urlpatterns = [
    path("login/", views.login_page, name="login"),
    path("logout/", views.logout_page, name="logout"),
    path("password/forgotten/", views.password_forgotten, name="password_forgotten"),
    path("password/reset/<str:secret>/", views.password_reset, name="password_reset"),
    path("role/", views.role_switch, name="role"),
    path("account/tokens/", views.tokens, name="tokens"),
    path("account/tokens/<uuid:uid>/revoke/", views.token_revoke, name="token_revoke"),
    path("account/density/", views.density, name="density"),
    path("account/password/", views.password, name="password"),
    path("lists/columns/", lists.columns, name="list_columns"),
    path("lists/views/", lists.view_keep, name="view_keep"),
    path("lists/views/<uuid:uid>/rename/", lists.view_rename, name="view_rename"),
    path("lists/views/<uuid:uid>/delete/", lists.view_delete, name="view_delete"),
]
