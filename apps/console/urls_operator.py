from django.urls import path
from django.views.generic import RedirectView

from apps.console import views as console_views
from apps.console.centre import setup_views, storage_views
from apps.console.centre import views as centre_views
from apps.console.operations import views, watching
from apps.console.selling.views import coupons
from apps.console.settlement import views as settlement
from apps.console.tenants.views import acts as tenant_acts
from apps.console.tenants.views import opening as tenant_opening
from apps.console.tenants.views import pages as tenant_pages
from apps.identity.views.own_account import logout_page

app_name = "operator"
urlpatterns = [
    path("", views.home, name="home"),
    path("setup/", setup_views.setup, name="setup"),
    path("centre/", centre_views.centre, name="centre"),
    path("centre/seller/", centre_views.seller, name="centre_seller"),
    path("centre/components/", console_views.components, name="components"),
    path("centre/quotas/", centre_views.quotas, name="centre_quotas"),
    path("centre/tickets/", centre_views.tickets, name="centre_tickets"),
    path("centre/mail/", centre_views.mail, name="centre_mail"),
    path("centre/mail/try/", centre_views.mail_try, name="centre_mail_try"),
    path("storage/", storage_views.storage, name="storage"),
    path("storage/<slug:code>/check/", storage_views.check, name="storage_check"),
    path("storage/<slug:code>/change/", storage_views.change, name="storage_change"),
    path("storage/<slug:code>/remove/", storage_views.remove, name="storage_remove"),
    path("storage/<slug:code>/do/<slug:act>/", storage_views.switch, name="storage_switch"),
    path("tenants/", tenant_pages.tenants, name="tenants"),
    path("tenants/new/", tenant_opening.tenant_new, name="tenant_new"),
    path("tenants/<slug:schema>/", tenant_pages.tenant, name="tenant"),
    path("tenants/<slug:schema>/archive/", tenant_pages.tenant_archive, name="tenant_archive"),
    path("tenants/<slug:schema>/change/", tenant_acts.change, name="tenant_change"),
    path("tenants/<slug:schema>/buyer/", tenant_acts.buyer, name="tenant_buyer"),
    path("tenants/<slug:schema>/suspend/", tenant_acts.suspend, name="tenant_suspend"),
    path("tenants/<slug:schema>/resume/", tenant_acts.resume, name="tenant_resume"),
    path("tenants/<slug:schema>/close/", tenant_acts.close, name="tenant_close"),
    path("tenants/<slug:schema>/delete/", tenant_acts.delete, name="tenant_delete"),
    path("tenants/<slug:schema>/account/", tenant_acts.account, name="tenant_account"),
    path("tenants/<slug:schema>/deposit/", tenant_acts.deposit, name="tenant_deposit"),
    path("tenants/<slug:schema>/credit/", tenant_acts.credit, name="tenant_credit"),
    path("tenants/<slug:schema>/quota/", tenant_acts.quota, name="tenant_quota"),
    path("tenants/<slug:schema>/refund/", settlement.refund, name="tenant_refund"),
    path("tenants/<slug:schema>/bill/", settlement.make, name="tenant_bill"),
    path("accounts/", settlement.accounts, name="accounts"),
    path("bills/", settlement.bills, name="bills"),
    path("bills/<uuid:uid>/", settlement.bill, name="bill"),
    path("bills/<uuid:uid>/pdf/", settlement.bill_file, {"kind": "pdf"}, name="bill_pdf"),
    path("bills/<uuid:uid>/xlsx/", settlement.bill_file, {"kind": "xlsx"}, name="bill_xlsx"),
    path("bills/<uuid:uid>/correct/", settlement.correct, name="bill_correct"),
    path("bills/<uuid:uid>/write-off/", settlement.write_off, name="bill_write_off"),
    path("coupons/", coupons.activities, name="coupons"),
    path("coupons/new/", coupons.activity_new, name="coupon_activity_new"),
    path("coupons/budgets/", coupons.budgets, name="coupon_budgets"),
    path("coupons/claimed/", coupons.claimed, name="coupons_claimed"),
    path("coupons/claimed/<uuid:uid>/", coupons.coupon, name="coupon"),
    path("coupons/claimed/<uuid:uid>/recall/", coupons.recall, name="coupon_recall"),
    path("coupons/<uuid:uid>/", coupons.activity, name="coupon_activity"),
    path("coupons/<uuid:uid>/edit/", coupons.activity_edit, name="coupon_activity_edit"),
    path("coupons/<uuid:uid>/do/<slug:act>/", coupons.activity_act, name="coupon_activity_act"),
    path("checklist/", views.checklist, name="checklist"),
    path("checklist/next/", views.checklist_next, name="checklist_next"),
    path("revenue/", views.revenue, name="revenue"),
    path("sold/", views.sold, name="sold"),
    path("inbox/", views.inbox, name="inbox"),
    path("inbox/decide/", views.inbox_decide, name="inbox_decide"),
    path("cases/", views.cases, name="cases"),
    path("tickets/", views.tickets, name="tickets"),
    path("pool/", views.pool, name="pool"),
    path("alarms/", views.alarms, name="alarms"),
    path("alarms/<uuid:uid>/", watching.alarm, name="alarm"),
    path("alarms/<uuid:uid>/acknowledge/", views.acknowledge, name="acknowledge"),
    path("alarms/acknowledge/", views.acknowledge_chosen, name="acknowledge_chosen"),
    path("alarm-rules/", watching.rules, name="rules"),
    path("alarm-rules/new/", watching.rule_new, name="rule_new"),
    path("alarm-rules/new/preview/", watching.rule_preview, name="rule_preview"),
    path("alarm-rules/<slug:code>/", watching.rule, name="rule"),
    path("alarm-rules/<slug:code>/delete/", watching.rule_remove, name="rule_delete"),
    path("alarm-rules/<slug:code>/switch/", watching.rule_switch, name="rule_switch"),
    path("alarm-routes/", watching.routes, name="routes"),
    path("alarm-routes/<uuid:uid>/switch/", watching.route_switch, name="route_switch"),
    path("logs/", watching.logs, name="logs"),
    path("logs/<int:pk>/", watching.log_entry, name="log_entry"),
    path("capacity/", watching.capacity, name="capacity"),
    path("statistics/", watching.statistics, name="statistics"),
    path("statistics/export/", watching.statistics_export, name="statistics_export"),
    # The admin's own ways in and out lead to the portal's.
    path("admin/login/", views.admin_login, name="admin_login"),
    path("admin/logout/", logout_page, name="admin_logout"),
    path(
        "admin/password_change/",
        RedirectView.as_view(pattern_name="identity:password"),
        name="admin_password",
    ),
]
