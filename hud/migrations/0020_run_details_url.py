from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("hud", "0019_touched_files_lack")]

    operations = [
        migrations.AddField(
            model_name="run",
            name="details_url",
            field=models.TextField(blank=True, default="", help_text="The page of the CI that wrote a check run."),
        ),
    ]
