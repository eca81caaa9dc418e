"""Branches whose alerts are to be evaluated again."""

import django.db.models.deletion
import django.utils.timezone
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0013_subscriptions_notices_mail")]

    operations = [
        migrations.CreateModel(
            name="EvaluationRequest",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("why", models.CharField(max_length=200)),
                ("attempts", models.PositiveIntegerField(default=0, help_text="Failed tries.")),
                ("error", models.TextField(blank=True, default="")),
                ("requested_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                (
                    "branch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="evaluation_request",
                        to="hud.branch",
                    ),
                ),
            ],
        ),
    ]
