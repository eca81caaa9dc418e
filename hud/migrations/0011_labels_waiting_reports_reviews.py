import django.contrib.postgres.fields
import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0010_failed_tests_past_rows"),
    ]

    operations = [
        migrations.AddField(
            model_name="judgerequest",
            name="own_only",
            field=models.BooleanField(default=False),
        ),
        migrations.AddField(
            model_name="pullrequest",
            name="labels",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=100),
                blank=True,
                default=list,
                help_text="Sorted names.",
                size=None,
            ),
        ),
        migrations.AlterField(
            model_name="jobrule",
            name="value",
            field=models.CharField(max_length=60),
        ),
        migrations.CreateModel(
            name="TrunkReview",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("below", models.IntegerField()),
                ("job_ids", django.contrib.postgres.fields.ArrayField(base_field=models.BigIntegerField(), size=None)),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="reviews", to="hud.branch"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="WaitingReport",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("external_id", models.BigIntegerField(blank=True, null=True)),
                ("commit", models.CharField(blank=True, default="", max_length=64)),
                ("job", models.CharField(blank=True, default="", max_length=800)),
                ("digest", models.BigIntegerField(help_text="Of the file: the same file twice waits once.")),
                ("data", models.BinaryField()),
                ("received_at", models.DateTimeField(auto_now_add=True)),
                (
                    "repository",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="+", to="hud.repository"
                    ),
                ),
            ],
            options={
                "constraints": [
                    models.UniqueConstraint(
                        fields=("repository", "external_id", "commit", "job", "digest"),
                        name="waiting_report_unique",
                        nulls_distinct=False,
                    )
                ],
            },
        ),
    ]
