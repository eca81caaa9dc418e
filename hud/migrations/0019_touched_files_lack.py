from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0018_judge_request_with_trunk")]

    operations = [
        migrations.AddField(
            model_name="commit",
            name="files_lack",
            field=models.CharField(blank=True, default="", help_text="See hud.core.touched.", max_length=4),
        ),
    ]
