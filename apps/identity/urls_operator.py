from django.urls import path

from apps.identity.views import operator_organizations as organizations
from apps.identity.views import operator_posts as posts
from apps.identity.views import operator_roles as roles
from apps.identity.views import operators as views

app_name = "operators"
urlpatterns = [
    path("operators/roles/", roles.roles, name="role_list"),
    path("operators/roles/new/", roles.new, name="role_new"),
    path("operators/roles/<slug:code>/", roles.role, name="role"),
    path("operators/roles/<slug:code>/delete/", roles.delete, name="role_delete"),
    path("operators/posts/", posts.posts, name="post_list"),
    path("operators/posts/add/", posts.add, name="post_add"),
    path("operators/posts/<uuid:uid>/rename/", posts.rename, name="post_rename"),
    path("operators/posts/<uuid:uid>/end/", posts.end, name="post_end"),
    path("operators/<uuid:uid>/post/", posts.held, name="post_held"),
    path("operators/organizations/", organizations.organizations, name="organizations"),
    path("operators/organizations/add/", organizations.organization_add, name="organization_add"),
    path("operators/organizations/delete/", organizations.organization_remove, name="organization_remove"),
    path("operators/organizations/<uuid:uid>/", organizations.organization, name="organization"),
    path(
        "operators/organizations/<uuid:uid>/enable/",
        organizations.organization_switch,
        {"state": "enable"},
        name="organization_enable",
    ),
    path(
        "operators/organizations/<uuid:uid>/disable/",
        organizations.organization_switch,
        {"state": "disable"},
        name="organization_disable",
    ),
    path("operators/organizations/<uuid:uid>/take-out/", organizations.take_out, name="take_out"),
    path("operators/<uuid:uid>/move/", views.move, name="move"),
    path("operators/", views.operators, name="operators"),
    path("operators/export/", views.export, name="export"),
    path("operators/import/", views.import_file, name="import"),
    path("operators/import/template/", views.import_template, name="import_template"),
    path("operators/new/", views.new, name="new"),
    path("operators/<uuid:uid>/", views.operator, name="operator"),
    path("operators/<uuid:uid>/roles/", views.roles_set, name="roles"),
    path("operators/<uuid:uid>/edit/", views.edit, name="edit"),
    path("operators/<uuid:uid>/disable/", views.disable, name="disable"),
    path("operators/<uuid:uid>/enable/", views.enable, name="enable"),
    path("operators/<uuid:uid>/reset-password/", views.password_reset, name="password"),
    path("operators/<uuid:uid>/remove/", views.remove, name="remove"),
]
