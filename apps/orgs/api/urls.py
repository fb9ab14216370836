from django.urls import path

from apps.orgs.api import views

urlpatterns = [
    path("organizations", views.OrganizationsView.as_view(), name="organizations"),
    path("organizations/tree", views.OrganizationTreeView.as_view(), name="organization_tree"),
    path("organizations/<uuid:uid>", views.OrganizationView.as_view(), name="organization"),
    path("members", views.MembersView.as_view(), name="members"),
    path("members/<uuid:uid>", views.MemberView.as_view(), name="member"),
    path("roles", views.RolesView.as_view(), name="roles"),
    path("business-systems", views.BusinessSystemsView.as_view(), name="business_systems"),
    path("business-systems/<uuid:uid>", views.BusinessSystemView.as_view(), name="business_system"),
    path(
        "business-systems/<uuid:uid>/members",
        views.BusinessSystemMembersView.as_view(),
        name="business_system_members",
    ),
    path(
        "business-systems/<uuid:uid>/members/<str:username>",
        views.BusinessSystemMemberView.as_view(),
        name="business_system_member",
    ),
]
