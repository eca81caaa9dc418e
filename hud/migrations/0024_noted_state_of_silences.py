"""Silences know as what timelines and open pages know them; those that there are have been told already."""

from django.db import migrations, models

TOLD_ALREADY = """
UPDATE hud_silence SET noted_state = CASE WHEN ends_at <= now() THEN 'expired' ELSE 'active' END WHERE starts_at <= now()
"""


class Migration(migrations.Migration):
    dependencies = [("hud", "0023_begun_red")]

    operations = [
        migrations.AddField(
            model_name="silence",
            name="noted_state",
            field=models.CharField(
                default="pending",
                help_text="pending, active or expired: as timelines and open pages know it.",
                max_length=10,
            ),
        ),
        migrations.RunSQL(TOLD_ALREADY, migrations.RunSQL.noop),
    ]
