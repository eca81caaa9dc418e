"""Many rows at once. PostgreSQL's COPY and arrays take a tenth of the time that long INSERT and CASE texts take."""

from collections.abc import Mapping, Sequence

from django.db import connection, models
from psycopg import sql


def insert_rows(rows: Sequence[models.Model]) -> None:
    """Insert new rows of one model, in the running transaction, and give them their ids."""
    if not rows:
        return
    meta = rows[0]._meta
    fields = [f for f in meta.concrete_fields if not f.primary_key]
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT nextval(pg_get_serial_sequence(%s, 'id')) FROM generate_series(1, %s)", [meta.db_table, len(rows)]
        )
        for row, (pk,) in zip(rows, cursor.fetchall(), strict=True):
            row.pk = pk
            row._state.adding = False
            row._state.db = connection.alias
        columns = sql.SQL(", ").join(sql.Identifier(f.column) for f in [meta.pk, *fields])
        command = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(meta.db_table), columns)
        with cursor.copy(command) as copy:
            for row in rows:
                copy.write_row([row.pk, *(_stored(f, row) for f in fields)])


def _stored(field: models.Field, row: models.Model) -> object:  # type: ignore[type-arg]
    return field.get_db_prep_save(field.pre_save(row, add=True), connection)


def update_texts(model: type[models.Model], column: str, values: Mapping[int, str]) -> None:
    """Set one text column of many rows, each to its own value."""
    if not values:
        return
    table = sql.Identifier(model._meta.db_table)
    with connection.cursor() as cursor:
        cursor.execute(
            sql.SQL(
                "UPDATE {table} SET {column} = told.value"
                " FROM unnest(%s::bigint[], %s::text[]) AS told (id, value) WHERE {table}.id = told.id"
            ).format(table=table, column=sql.Identifier(column)),
            [list(values), list(values.values())],
        )
