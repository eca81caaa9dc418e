import django.contrib.postgres.fields
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0024_noted_state_of_silences")]

    operations = [
        migrations.AddField(
            model_name="pullrequest",
            name="second_told",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=64),
                blank=True,
                default=list,
                help_text="Heads told in the second of `updated_at`.",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="pullrequest",
            name="second_over",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=64),
                blank=True,
                default=list,
                help_text="Heads pushed over in that second.",
                size=None,
            ),
        ),
    ]
