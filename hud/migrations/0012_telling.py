import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0011_labels_waiting_reports_reviews"),
    ]

    operations = [
        migrations.AddField(
            model_name="alert",
            name="escalated_episode",
            field=models.PositiveIntegerField(default=0, help_text="Newest one that went on to other targets."),
        ),
        migrations.AddField(
            model_name="alert",
            name="told_since",
            field=models.DateTimeField(blank=True, help_text="When its newest episode was first told.", null=True),
        ),
        migrations.AddField(
            model_name="outboxmessage",
            name="bundle",
            field=models.CharField(blank=True, default="", max_length=100),
        ),
        migrations.AddField(
            model_name="outboxmessage",
            name="held",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="target",
            name="beat_alerts",
            field=models.PositiveIntegerField(default=0),
        ),
        migrations.AddField(
            model_name="target",
            name="beat_at",
            field=models.DateTimeField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="target",
            name="beat_error",
            field=models.TextField(blank=True, default=""),
        ),
        migrations.AddField(
            model_name="target",
            name="group_s",
            field=models.PositiveIntegerField(blank=True, null=True),
        ),
        migrations.AddField(
            model_name="target",
            name="quiet",
            field=models.JSONField(blank=True, default=dict),
        ),
        migrations.AddField(
            model_name="target",
            name="service",
            field=models.CharField(blank=True, default="", max_length=20),
        ),
        migrations.AddField(
            model_name="target",
            name="together",
            field=models.BooleanField(default=False),
        ),
        migrations.AlterField(
            model_name="target",
            name="kind",
            field=models.CharField(
                choices=[
                    ("webhook", "Webhook"),
                    ("email", "Email"),
                    ("apprise", "service known to Apprise"),
                    ("alertmanager", "Prometheus Alertmanager"),
                    ("github", "GitHub issues"),
                ],
                max_length=15,
            ),
        ),
        migrations.CreateModel(
            name="AlertIssue",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("fingerprint", models.CharField(max_length=64)),
                ("episode", models.PositiveIntegerField(default=1)),
                ("number", models.PositiveIntegerField()),
                ("url", models.TextField(blank=True, default="")),
                ("author", models.CharField(blank=True, default="", max_length=100)),
                ("is_open", models.BooleanField(default=True)),
                ("by_hand", models.BooleanField(default=False)),
                ("commented_at", models.DateTimeField(blank=True, null=True)),
                (
                    "alert",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.SET_NULL,
                        related_name="issues",
                        to="hud.alert",
                    ),
                ),
                (
                    "target",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="issues", to="hud.target"
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
                "indexes": [models.Index(fields=["target", "fingerprint", "-id"], name="alert_issue_by_cause")],
                "constraints": [models.UniqueConstraint(fields=("target", "number"), name="alert_issue_unique")],
            },
        ),
    ]
