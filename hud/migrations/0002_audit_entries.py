from django.db import migrations, models

REFUSE_CHANGES = """
CREATE FUNCTION hud_audit_is_append_only() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
    RAISE EXCEPTION 'an audit entry is never changed or deleted';
END
$$;
CREATE TRIGGER audit_append_only BEFORE UPDATE OR DELETE ON hud_auditentry
    FOR EACH ROW EXECUTE FUNCTION hud_audit_is_append_only();
"""
ALLOW_CHANGES = """
DROP TRIGGER audit_append_only ON hud_auditentry;
DROP FUNCTION hud_audit_is_append_only();
"""


class Migration(migrations.Migration):
    dependencies = [
        ("hud", "0001_trunk_and_runs"),
    ]

    operations = [
        migrations.CreateModel(
            name="AuditEntry",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("at", models.DateTimeField(auto_now_add=True)),
                ("who", models.CharField(max_length=150)),
                ("what", models.CharField(max_length=60)),
                ("target", models.CharField(blank=True, default="", max_length=400)),
                ("before", models.JSONField(blank=True, null=True)),
                ("after", models.JSONField(blank=True, null=True)),
            ],
            options={
                "ordering": ["-id"],
                "indexes": [models.Index(fields=["target", "-id"], name="audit_by_target")],
            },
        ),
        migrations.RunSQL(REFUSE_CHANGES, ALLOW_CHANGES),
    ]
