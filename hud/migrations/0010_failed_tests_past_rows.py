from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0009_alerts"),
    ]

    operations = [
        migrations.AddField(
            model_name="testreport",
            name="more_failed_ids",
            field=models.BinaryField(blank=True, default=bytes, help_text="Failed tests past those with rows."),
        ),
    ]
