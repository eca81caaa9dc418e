from django.db import migrations, models
from django.db.models import Q


class Migration(migrations.Migration):
    dependencies = [("hud", "0016_verdict_since")]

    operations = [
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                fields=["job", "-completed_at"],
                name="finished_runs_of_job",
                condition=Q(status="completed", completed_at__isnull=False),
            ),
        ),
    ]
