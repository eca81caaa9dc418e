from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0015_layout_version")]

    operations = [
        migrations.AddField(
            model_name="verdict",
            name="since_sha",
            field=models.CharField(
                blank=True, default="", help_text="Trunk has the failure since then.", max_length=64
            ),
        ),
        migrations.AddField(
            model_name="verdict",
            name="since_is_first",
            field=models.BooleanField(default=False, help_text="The job passed below: no commit before has it."),
        ),
    ]
