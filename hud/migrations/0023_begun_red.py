from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0022_head_told_at")]

    operations = [
        migrations.AddIndex(
            model_name="streak",
            index=models.Index(
                condition=models.Q(("last_good__isnull", True)), fields=["branch", "first_bad"], name="begun_red"
            ),
        ),
    ]
