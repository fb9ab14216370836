from django.urls import path

from apps.identity.api import views

urlpatterns = [
    path("auth/login", views.SignInView.as_view(), name="sign_in"),
    path("auth/logout", views.SignOutView.as_view(), name="sign_out"),
    path("auth/me", views.MeView.as_view(), name="me"),
    path("tokens", views.TokensView.as_view(), name="tokens"),
    path("tokens/<uuid:uid>", views.TokenView.as_view(), name="token"),
    path("agent-tokens", views.AgentTokensView.as_view(), name="agent_tokens"),
    path("agent-tokens/<uuid:uid>/revoke", views.AgentTokenRevokeView.as_view(), name="agent_token_revoke"),
]
