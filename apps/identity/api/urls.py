from django.urls import path

from apps.identity.api import operator_organizations as places
from apps.identity.api import operator_posts as posts
from apps.identity.api import operator_views as operators
from apps.identity.api import views

urlpatterns = [
    path("auth/login", views.SignInView.as_view(), name="sign_in"),
    path("auth/logout", views.SignOutView.as_view(), name="sign_out"),
    path("auth/password", views.PasswordView.as_view(), name="password_change"),
    path("auth/password/forgotten", views.PasswordForgottenView.as_view(), name="password_forgotten"),
    path("auth/password/reset", views.PasswordResetView.as_view(), name="password_reset"),
    path("auth/me", views.MeView.as_view(), name="me"),
    path("tokens", views.TokensView.as_view(), name="tokens"),
    path("tokens/<uuid:uid>", views.TokenView.as_view(), name="token"),
    path("operators", operators.OperatorsView.as_view(), name="operators"),
    path("operator-organizations", places.OperatorOrganizationsView.as_view(), name="operator_organizations"),
    path(
        "operator-organizations/tree",
        places.OperatorOrganizationTreeView.as_view(),
        name="operator_organization_tree",
    ),
    path(
        "operator-organizations/delete",
        places.OperatorOrganizationsDeleteView.as_view(),
        name="operator_organizations_delete",
    ),
    path(
        "operator-organizations/<uuid:uid>",
        places.OperatorOrganizationView.as_view(),
        name="operator_organization",
    ),
    path(
        "operator-organizations/<uuid:uid>/enable",
        places.OperatorOrganizationEnableView.as_view(),
        name="operator_organization_enable",
    ),
    path(
        "operator-organizations/<uuid:uid>/disable",
        places.OperatorOrganizationDisableView.as_view(),
        name="operator_organization_disable",
    ),
    path("operators/<uuid:uid>/organization", places.OperatorPlaceView.as_view(), name="operator_place"),
    path("operators/<uuid:uid>/post", posts.OperatorPostGivenView.as_view(), name="operator_post_held"),
    path("operator-posts", posts.OperatorPostsView.as_view(), name="operator_posts"),
    path("operator-posts/<uuid:uid>", posts.OperatorPostView.as_view(), name="operator_post"),
    path("operators/export", operators.OperatorsExportView.as_view(), name="operators_export"),
    path("operators/import", operators.OperatorsImportView.as_view(), name="operators_import"),
    path("operators/import/template", operators.OperatorsTemplateView.as_view(), name="operators_template"),
    path("operator-roles", operators.OperatorRolesListView.as_view(), name="operator_roles"),
    path(
        "operator-roles/functions",
        operators.OperatorRoleFunctionsView.as_view(),
        name="operator_role_functions",
    ),
    path("operator-roles/<slug:code>", operators.OperatorRoleView.as_view(), name="operator_role"),
    path("operators/<uuid:uid>", operators.OperatorView.as_view(), name="operator"),
    path("operators/<uuid:uid>/roles", operators.OperatorRolesView.as_view(), name="operator_held_roles"),
    path("operators/<uuid:uid>/disable", operators.OperatorDisableView.as_view(), name="operator_disable"),
    path("operators/<uuid:uid>/enable", operators.OperatorEnableView.as_view(), name="operator_enable"),
    path(
        "operators/<uuid:uid>/reset-password",
        operators.OperatorPasswordView.as_view(),
        name="operator_password",
    ),
    path("agent-tokens", views.AgentTokensView.as_view(), name="agent_tokens"),
    path("agent-tokens/<uuid:uid>/revoke", views.AgentTokenRevokeView.as_view(), name="agent_token_revoke"),
]
