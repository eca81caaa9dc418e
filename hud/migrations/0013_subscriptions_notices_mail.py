"""Notices, subscriptions, mails to persons, and the addresses of authors."""

import django.db.models.deletion
import django.utils.timezone
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0012_telling"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.AddField(
            model_name="commit",
            name="author_email",
            field=models.CharField(blank=True, default="", help_text="Shown nowhere; for mail alone.", max_length=320),
        ),
        migrations.CreateModel(
            name="AuthorTelling",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("enabled", models.BooleanField(default=False)),
                (
                    "repository",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="author_telling", to="hud.repository"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="FollowedBranch",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("version", models.BigIntegerField(default=-1)),
                ("looked_at", models.DateTimeField(blank=True, null=True)),
                (
                    "branch",
                    models.OneToOneField(
                        on_delete=django.db.models.deletion.CASCADE, related_name="followed", to="hud.branch"
                    ),
                ),
            ],
        ),
        migrations.CreateModel(
            name="Mail",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("key", models.CharField(max_length=100, unique=True)),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("news", "news of what a user follows"),
                            ("author", "to the author of a commit"),
                            ("owner", "to the owner of something"),
                        ],
                        max_length=6,
                    ),
                ),
                ("address", models.CharField(max_length=254)),
                ("subject", models.CharField(max_length=300)),
                ("text", models.TextField()),
                ("unsubscribe_url", models.TextField(blank=True, default="")),
                (
                    "state",
                    models.CharField(
                        choices=[
                            ("waiting", "Waiting"),
                            ("delivered", "Delivered"),
                            ("cancelled", "no longer to be sent"),
                            ("failed", "given up"),
                        ],
                        default="waiting",
                        max_length=10,
                    ),
                ),
                ("attempts", models.PositiveIntegerField(default=0)),
                ("due_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("error", models.TextField(blank=True, default="")),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("delivered_at", models.DateTimeField(blank=True, null=True)),
                (
                    "alert",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mails",
                        to="hud.alert",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="mails",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="MailAttempt",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("number", models.PositiveIntegerField()),
                (
                    "repeat",
                    models.BooleanField(default=False, help_text="An earlier one may have arrived; the mail says so."),
                ),
                ("started_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("ended_at", models.DateTimeField(blank=True, null=True)),
                ("delivered", models.BooleanField(default=False)),
                ("may_have_arrived", models.BooleanField(default=True)),
                ("error", models.TextField(blank=True, default="")),
                (
                    "mail",
                    models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="tries", to="hud.mail"),
                ),
            ],
            options={
                "ordering": ["number"],
            },
        ),
        migrations.CreateModel(
            name="Notice",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(choices=[("incident", "Incident"), ("maintenance", "Maintenance")], max_length=12),
                ),
                ("text", models.TextField()),
                ("link", models.TextField(blank=True, default="")),
                ("starts_at", models.DateTimeField()),
                ("ends_at", models.DateTimeField()),
                ("ended_at", models.DateTimeField(blank=True, help_text="When somebody ended it early.", null=True)),
                ("author", models.CharField(max_length=150)),
                ("version", models.PositiveIntegerField(default=1)),
                ("created_at", models.DateTimeField(auto_now_add=True)),
                (
                    "repository",
                    models.ForeignKey(
                        blank=True,
                        help_text="None: all.",
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="notices",
                        to="hud.repository",
                    ),
                ),
            ],
            options={
                "ordering": ["-id"],
            },
        ),
        migrations.CreateModel(
            name="Subscription",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                (
                    "kind",
                    models.CharField(choices=[("job", "Job"), ("group", "Group"), ("view", "View")], max_length=5),
                ),
                ("group", models.CharField(blank=True, default="", max_length=300)),
                ("query", models.TextField(blank=True, default="")),
                ("paused_at", models.DateTimeField(blank=True, null=True)),
                ("created_at", models.DateTimeField(default=django.utils.timezone.now)),
                ("waiting_since", models.DateTimeField(blank=True, null=True)),
                ("told_at", models.DateTimeField(blank=True, null=True)),
                (
                    "branch",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="subscriptions", to="hud.branch"
                    ),
                ),
                (
                    "job",
                    models.ForeignKey(
                        blank=True,
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to="hud.job",
                    ),
                ),
                (
                    "user",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="subscriptions",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "ordering": ["id"],
            },
        ),
        migrations.CreateModel(
            name="FollowedJob",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("told", models.JSONField(blank=True, null=True)),
                ("now", models.JSONField(blank=True, null=True)),
                (
                    "news",
                    models.CharField(blank=True, default="", max_length=10),
                ),
                ("job", models.ForeignKey(on_delete=django.db.models.deletion.CASCADE, related_name="+", to="hud.job")),
                (
                    "subscription",
                    models.ForeignKey(
                        on_delete=django.db.models.deletion.CASCADE, related_name="followed", to="hud.subscription"
                    ),
                ),
            ],
        ),
        migrations.AddIndex(
            model_name="mail",
            index=models.Index(condition=models.Q(("state", "waiting")), fields=["due_at"], name="mail_waiting"),
        ),
        migrations.AddIndex(
            model_name="mail",
            index=models.Index(
                condition=models.Q(("user__isnull", False)), fields=["user", "-id"], name="mail_by_user"
            ),
        ),
        migrations.AddIndex(
            model_name="mail",
            index=models.Index(condition=models.Q(("alert__isnull", False)), fields=["alert"], name="mail_by_alert"),
        ),
        migrations.AddConstraint(
            model_name="mailattempt",
            constraint=models.UniqueConstraint(fields=("mail", "number"), name="mail_attempt_unique"),
        ),
        migrations.AddIndex(
            model_name="notice",
            index=models.Index(fields=["ends_at"], name="notice_by_end"),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(condition=models.Q(("paused_at", None)), fields=["branch"], name="subscription_active"),
        ),
        migrations.AddIndex(
            model_name="subscription",
            index=models.Index(
                condition=models.Q(("waiting_since__isnull", False)),
                fields=["waiting_since"],
                name="subscription_waiting",
            ),
        ),
        migrations.AddConstraint(
            model_name="subscription",
            constraint=models.UniqueConstraint(
                fields=("user", "branch", "kind", "job", "group", "query"),
                name="subscription_unique",
                nulls_distinct=False,
            ),
        ),
        migrations.AddConstraint(
            model_name="followedjob",
            constraint=models.UniqueConstraint(fields=("subscription", "job"), name="followed_job_unique"),
        ),
    ]
