from django.urls import path

from apps.billing import views

app_name = "billing"
urlpatterns = [
    path("account/", views.account, name="account"),
    path("costs/", views.costs, name="costs"),
    path("details/", views.details, name="details"),
    path("bills/", views.bills, name="bills"),
    path("bills/make/", views.make, name="make"),
    path("bills/<uuid:uid>/", views.bill, name="bill"),
    path("bills/<uuid:uid>/pdf/", views.bill_file, {"kind": "pdf"}, name="bill_pdf"),
    path("bills/<uuid:uid>/xlsx/", views.bill_file, {"kind": "xlsx"}, name="bill_xlsx"),
    path("bills/<uuid:uid>/confirm/", views.confirm, name="confirm"),
    path("bills/<uuid:uid>/pay/", views.pay, name="pay"),
    path("bills/<uuid:uid>/lines/<uuid:line_uid>/", views.line, name="line"),
]
