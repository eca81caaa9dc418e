import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0025_heads_of_a_second")]

    operations = [
        migrations.AddField(
            model_name="label",
            name="run",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="hud.run",
            ),
        ),
        migrations.AddField(
            model_name="label",
            name="ended_by",
            field=models.ForeignKey(
                blank=True,
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="+",
                to="hud.run",
            ),
        ),
    ]
