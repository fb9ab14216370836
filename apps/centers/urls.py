app_name = "centers"
urlpatterns = []
