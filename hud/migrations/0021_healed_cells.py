from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0020_run_details_url")]

    operations = [
        migrations.AddIndex(
            model_name="cell",
            index=models.Index(condition=models.Q(("flaky", True)), fields=["commit"], name="healed_cells"),
        ),
    ]
