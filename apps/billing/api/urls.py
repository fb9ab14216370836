from django.urls import path

from apps.billing.api import views

urlpatterns = [
    path("bills", views.BillsView.as_view(), name="bills"),
    path("bills/<uuid:uid>", views.BillView.as_view(), name="bill"),
    path("bills/<uuid:uid>/pdf", views.BillPdfView.as_view(), name="bill_pdf"),
    path("bills/<uuid:uid>/xlsx", views.BillXlsxView.as_view(), name="bill_xlsx"),
    path("bills/<uuid:uid>/confirm", views.BillConfirmView.as_view(), name="bill_confirm"),
    path("bills/<uuid:uid>/pay", views.BillPayView.as_view(), name="bill_pay"),
    path("bills/<uuid:uid>/correct", views.BillCorrectView.as_view(), name="bill_correct"),
    path("bills/<uuid:uid>/write-off", views.BillWriteOffView.as_view(), name="bill_write_off"),
    path("bills/<uuid:uid>/lines/<uuid:line>", views.BillLineView.as_view(), name="bill_line"),
    path("billing-details", views.BuyerView.as_view(), name="buyer"),
    path("account", views.AccountView.as_view(), name="account"),
    path("account/transactions", views.TransactionsView.as_view(), name="account_transactions"),
    path("costs", views.CostsView.as_view(), name="costs"),
    path("tenants/<slug:schema>/account", views.TenantAccountView.as_view(), name="tenant_account"),
    path("tenants/<slug:schema>/billing-details", views.TenantBuyerView.as_view(), name="tenant_buyer"),
    path("tenants/<slug:schema>/deposit", views.DepositView.as_view(), name="tenant_deposit"),
    path("tenants/<slug:schema>/refund", views.RefundView.as_view(), name="tenant_refund"),
    path("tenants/<slug:schema>/credit-limit", views.CreditLimitView.as_view(), name="tenant_credit_limit"),
]
