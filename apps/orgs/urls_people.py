from django.urls import path

from apps.orgs.views import joining, own_systems, people, people_files, posts, roles

app_name = "people"
urlpatterns = [
    path("people/", people.people, name="people"),
    path("people/export/", people_files.export, name="export"),
    path("people/import/", people_files.import_file, name="import"),
    path("people/import/template/", people_files.import_template, name="import_template"),
    path("people/new/", people.new, name="new"),
    path("people/invitations/<uuid:uid>/withdraw/", people.invitation_withdraw, name="invitation_withdraw"),
    path("people/invitations/<uuid:uid>/send/", people.invitation_send, name="invitation_send"),
    path("people/<uuid:uid>/", people.person, name="person"),
    path("people/<uuid:uid>/roles/", people.roles_set, name="roles"),
    path("people/<uuid:uid>/move/", people.move, name="move"),
    path("people/<uuid:uid>/edit/", people.edit, name="edit"),
    path("people/<uuid:uid>/disable/", people.disable, name="disable"),
    path("people/<uuid:uid>/enable/", people.enable, name="enable"),
    path("people/<uuid:uid>/reset-password/", people.password_reset, name="password_reset"),
    path("people/<uuid:uid>/remove/", people.remove, name="remove"),
    path("people/<uuid:uid>/post/", posts.held, name="post_held"),
    path("people/posts/", posts.posts, name="post_list"),
    path("people/posts/add/", posts.add, name="post_add"),
    path("people/posts/<uuid:uid>/rename/", posts.rename, name="post_rename"),
    path("people/posts/<uuid:uid>/end/", posts.end, name="post_end"),
    path("people/roles/", roles.roles, name="role_list"),
    path("people/roles/new/", roles.new, name="role_new"),
    path("people/roles/<slug:code>/", roles.role, name="role"),
    path("people/roles/<slug:code>/delete/", roles.delete, name="role_delete"),
    path("account/business-systems/", own_systems.own_systems, name="own_systems"),
    path("join/<str:secret>/", joining.join, name="join"),
]
