from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0021_healed_cells")]

    operations = [
        migrations.AddField(
            model_name="pullrequest",
            name="head_told_at",
            field=models.DateTimeField(
                blank=True,
                help_text="While only workflow runs named it: when the one that told the head did.",
                null=True,
            ),
        ),
    ]
