from django.urls import path

from apps.orgs.api import business_systems as systems
from apps.orgs.api import people_views as people
from apps.orgs.api import posts, views

urlpatterns = [
    path("organizations", views.OrganizationsView.as_view(), name="organizations"),
    path("organizations/tree", views.OrganizationTreeView.as_view(), name="organization_tree"),
    path("organizations/<uuid:uid>", views.OrganizationView.as_view(), name="organization"),
    path("organizations/delete", views.OrganizationsDeleteView.as_view(), name="organizations_delete"),
    path(
        "organizations/<uuid:uid>/enable", views.OrganizationEnableView.as_view(), name="organization_enable"
    ),
    path(
        "organizations/<uuid:uid>/disable",
        views.OrganizationDisableView.as_view(),
        name="organization_disable",
    ),
    path("organizations/<uuid:uid>/quota", views.OrganizationQuotaView.as_view(), name="organization_quota"),
    path("members", views.MembersView.as_view(), name="members"),
    path("members/<uuid:uid>", views.MemberView.as_view(), name="member"),
    path("people", people.PeopleView.as_view(), name="people"),
    path("people/add", people.PeopleAddView.as_view(), name="people_add"),
    path("people/export", people.PeopleExportView.as_view(), name="people_export"),
    path("people/import", people.PeopleImportView.as_view(), name="people_import"),
    path("people/import/template", people.PeopleTemplateView.as_view(), name="people_template"),
    path("people/<uuid:uid>", people.PersonView.as_view(), name="person"),
    path("people/<uuid:uid>/roles", people.PersonRolesView.as_view(), name="person_roles"),
    path(
        "people/<uuid:uid>/organization", people.PersonOrganizationView.as_view(), name="person_organization"
    ),
    path("people/<uuid:uid>/post", posts.PersonPostView.as_view(), name="person_post"),
    path("posts", posts.PostsView.as_view(), name="posts"),
    path("posts/<uuid:uid>", posts.PostView.as_view(), name="post"),
    path("people/<uuid:uid>/disable", people.PersonDisableView.as_view(), name="person_disable"),
    path("people/<uuid:uid>/enable", people.PersonEnableView.as_view(), name="person_enable"),
    path("people/<uuid:uid>/reset-password", people.PersonPasswordView.as_view(), name="person_password"),
    path("invitations", people.InvitationsView.as_view(), name="invitations"),
    path("invitations/accept", people.InvitationAcceptView.as_view(), name="invitation_accept"),
    path("invitations/<uuid:uid>/send", people.InvitationSendView.as_view(), name="invitation_send"),
    path(
        "invitations/<uuid:uid>/withdraw", people.InvitationWithdrawView.as_view(), name="invitation_withdraw"
    ),
    path("roles", views.RolesView.as_view(), name="roles"),
    path("roles/functions", views.RoleFunctionsView.as_view(), name="role_functions"),
    path("roles/<slug:code>", views.RoleView.as_view(), name="role"),
    path("business-systems", systems.BusinessSystemsView.as_view(), name="business_systems"),
    path("business-systems/default", systems.DefaultSystemView.as_view(), name="default_system"),
    path(
        "business-systems/delete", systems.BusinessSystemsDeleteView.as_view(), name="business_systems_delete"
    ),
    path("business-systems/<uuid:uid>", systems.BusinessSystemView.as_view(), name="business_system"),
    path(
        "business-systems/<uuid:uid>/enable",
        systems.BusinessSystemEnableView.as_view(),
        name="business_system_enable",
    ),
    path(
        "business-systems/<uuid:uid>/disable",
        systems.BusinessSystemDisableView.as_view(),
        name="business_system_disable",
    ),
    path("business-systems/<uuid:uid>/progress", systems.ProgressView.as_view(), name="progress"),
    path("progress/<uuid:uid>/withdraw", systems.ProgressWithdrawView.as_view(), name="progress_withdraw"),
    path(
        "business-systems/<uuid:uid>/members",
        systems.BusinessSystemMembersView.as_view(),
        name="business_system_members",
    ),
    path(
        "business-systems/<uuid:uid>/members/<str:username>",
        systems.BusinessSystemMemberView.as_view(),
        name="business_system_member",
    ),
]
