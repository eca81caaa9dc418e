import django.contrib.postgres.indexes
import django.db.models.functions.text
from django.contrib.postgres.operations import CreateExtension
from django.core.management import CommandError
from django.db import Error, migrations, models


class NeededExtension(CreateExtension):
    """Creates an extension of PostgreSQL, or says who can and how, where HUD's own user may not."""

    def database_forwards(self, app_label, schema_editor, from_state, to_state):
        if self.extension_exists(schema_editor, self.name):
            return
        try:
            super().database_forwards(app_label, schema_editor, from_state, to_state)
        except Error as error:
            told = schema_editor.connection.settings_dict
            raise CommandError(
                f"HUD's search needs PostgreSQL's extension {self.name}, and could not create it as user "
                f"{told['USER'] or 'of the connection'}: {str(error).strip()} "
                f"Have a database administrator run, once, in the database {told['NAME']}:  "
                f"CREATE EXTENSION {self.name};  (it is part of PostgreSQL's contrib modules, package "
                "postgresql-contrib on some systems). Then start HUD again: nothing was changed."
            ) from error


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0007_test_results"),
    ]

    operations = [
        NeededExtension("pg_trgm"),
        migrations.AddIndex(
            model_name="failure",
            index=models.Index(condition=models.Q(("rank__gt", 0)), fields=["signature"], name="further_by_signature"),
        ),
        migrations.AddIndex(
            model_name="failure",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.indexes.OpClass(
                    django.db.models.functions.text.Upper("line"), name="gin_trgm_ops"
                ),
                name="failure_by_text",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(
                condition=models.Q(("conclusion__in", ["failure", "timed_out", "cancelled", "startup_failure"])),
                fields=["repository", "-completed_at"],
                name="failed_runs_by_time",
            ),
        ),
    ]
