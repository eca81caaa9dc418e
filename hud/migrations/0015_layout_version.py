from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0014_evaluation_requests")]

    operations = [
        migrations.AddField(
            model_name="repository",
            name="layout_version",
            field=models.BigIntegerField(
                default=0,
                help_text="Grows when columns come, go or get other names, with their groups and the lists of jobs.",
            ),
        ),
    ]
