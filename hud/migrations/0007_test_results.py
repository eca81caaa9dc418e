import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0006_api_tokens"),
    ]

    operations = [
        migrations.CreateModel(
            name="Test",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("owner", models.CharField(blank=True, default="", max_length=500)),
                ("name", models.CharField(max_length=500)),
                ("identity", models.UUIDField()),
                ("full_key", models.BigIntegerField()),
                ("tail_key", models.BigIntegerField()),
                ("bare_key", models.BigIntegerField()),
            ],
        ),
        migrations.CreateModel(
            name="TestDay",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("day", models.DateField()),
                ("branch", models.CharField(blank=True, default="", max_length=255)),
                ("samples", models.IntegerField(default=0)),
                ("passed", models.IntegerField(default=0)),
                ("failed", models.IntegerField(default=0)),
                ("flaky", models.IntegerField(default=0)),
            ],
        ),
        migrations.CreateModel(
            name="TestReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "branch",
                    models.CharField(blank=True, default="", help_text="Empty: on no tracked branch.", max_length=255),
                ),
                ("at", models.DateTimeField(help_text="When the run began.")),
                (
                    "digests",
                    django.contrib.postgres.fields.ArrayField(
                        base_field=models.BigIntegerField(), blank=True, default=list, size=None
                    ),
                ),
                ("passed_ids", models.BinaryField(blank=True, default=bytes)),
                ("skipped_ids", models.BinaryField(blank=True, default=bytes)),
                ("passed", models.PositiveIntegerField(default=0)),
                ("failed", models.PositiveIntegerField(default=0)),
                ("flaky", models.PositiveIntegerField(default=0)),
                ("skipped", models.PositiveIntegerField(default=0)),
                ("complete", models.BooleanField(default=True, help_text="False: a file ended before its end.")),
                ("problems", models.JSONField(blank=True, default=list)),
                ("received_at", models.DateTimeField(auto_now=True)),
            ],
        ),
        migrations.CreateModel(
            name="TestResult",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("branch", models.CharField(blank=True, default="", max_length=255)),
                (
                    "outcome",
                    models.CharField(choices=[("failed", "Failed"), ("flaky", "passed on retry")], max_length=8),
                ),
                ("detail", models.CharField(blank=True, default="", max_length=10)),
                ("attempts", models.PositiveIntegerField(default=1)),
                ("duration_ms", models.PositiveBigIntegerField(blank=True, null=True)),
                ("message", models.TextField(blank=True, default="")),
                ("flipped", models.BooleanField(default=False)),
                ("at", models.DateTimeField()),
            ],
        ),
        migrations.AddField(
            model_name="test",
            name="repository",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="tests", to="hud.repository"
            ),
        ),
        migrations.AddField(
            model_name="testday",
            name="test",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="days", to="hud.test"
            ),
        ),
        migrations.AddField(
            model_name="testreport",
            name="run",
            field=models.OneToOneField(
                on_delete=django.db.models.deletion.CASCADE, related_name="test_report", to="hud.run"
            ),
        ),
        migrations.AddField(
            model_name="testresult",
            name="report",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="results", to="hud.testreport"
            ),
        ),
        migrations.AddField(
            model_name="testresult",
            name="repository",
            field=models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="hud.repository"),
        ),
        migrations.AddField(
            model_name="testresult",
            name="test",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="results", to="hud.test"
            ),
        ),
        migrations.AddIndex(
            model_name="test",
            index=models.Index(fields=["full_key"], name="test_by_full_name"),
        ),
        migrations.AddIndex(
            model_name="test",
            index=models.Index(fields=["tail_key"], name="test_by_class_and_name"),
        ),
        migrations.AddIndex(
            model_name="test",
            index=models.Index(fields=["bare_key"], name="test_by_bare_name"),
        ),
        migrations.AddConstraint(
            model_name="test",
            constraint=models.UniqueConstraint(fields=("repository", "identity"), name="test_identity_unique"),
        ),
        migrations.AddIndex(
            model_name="testday",
            index=models.Index(fields=["day"], name="test_day_by_day"),
        ),
        migrations.AddConstraint(
            model_name="testday",
            constraint=models.UniqueConstraint(fields=("test", "day", "branch"), name="test_day_unique"),
        ),
        migrations.AddIndex(
            model_name="testreport",
            index=models.Index(fields=["at"], name="test_report_by_time"),
        ),
        migrations.AddIndex(
            model_name="testresult",
            index=models.Index(fields=["test", "-at"], name="test_result_by_test"),
        ),
        migrations.AddIndex(
            model_name="testresult",
            index=models.Index(
                condition=models.Q(("flipped", True)), fields=["repository", "-at"], name="test_flips_by_time"
            ),
        ),
        migrations.AddConstraint(
            model_name="testresult",
            constraint=models.UniqueConstraint(fields=("report", "test"), name="test_result_unique"),
        ),
    ]
