from django.urls import path

from apps.console.selling.views import categories, commodities, form_templates, prices, processes

app_name = "catalogue_admin"
urlpatterns = [
    path("", commodities.commodities, name="commodities"),
    path("new/", commodities.commodity_kinds, name="commodity_kinds"),
    path("new/<slug:kind>/", commodities.commodity_new, name="commodity_new"),
    path("commodities/<uuid:uid>/", commodities.commodity, name="commodity"),
    path("commodities/<uuid:uid>/edit/", commodities.commodity_edit, name="commodity_edit"),
    path("commodities/<uuid:uid>/price/", prices.commodity_price, name="commodity_price"),
    path("commodities/<uuid:uid>/price/preview/", prices.price_preview, name="price_preview"),
    path("commodities/<uuid:uid>/tenants/", commodities.commodity_tenants, name="commodity_tenants"),
    path("commodities/<uuid:uid>/retire/", commodities.commodity_retirement, name="commodity_retire"),
    path("commodities/<uuid:uid>/do/<slug:act>/", commodities.commodity_act, name="commodity_act"),
    path("categories/", categories.categories, name="categories"),
    path("categories/new/", categories.category_new, name="category_new"),
    path("categories/<slug:code>/", categories.category, name="category"),
    path("categories/<slug:code>/do/<slug:act>/", categories.category_act, name="category_act"),
    path("forms/", form_templates.form_templates, name="form_templates"),
    path("forms/new/", form_templates.form_template_new, name="form_template_new"),
    path("forms/<slug:code>/", form_templates.form_template, name="form_template"),
    path("forms/<slug:code>/names/", form_templates.form_template_names, name="form_template_names"),
    path("forms/<slug:code>/delete/", form_templates.form_template_remove, name="form_template_delete"),
    path("forms/<slug:code>/add/<slug:kind>/", form_templates.field_new, name="field_new"),
    path("forms/<slug:code>/fields/<slug:name>/", form_templates.field, name="field"),
    path("forms/<slug:code>/fields/<slug:name>/do/<slug:act>/", form_templates.field_act, name="field_act"),
    path("processes/", processes.processes, name="processes"),
    path("processes/new/", processes.process_new, name="process_new"),
    path("processes/import/", processes.process_import, name="process_import"),
    path("processes/versions/<uuid:uid>/", processes.process_version, name="process_version"),
    path("processes/versions/<uuid:uid>/file/", processes.process_file, name="process_file"),
    path("processes/<uuid:uid>/", processes.process, name="process"),
    path("processes/<uuid:uid>/do/<slug:act>/", processes.process_act, name="process_act"),
]
