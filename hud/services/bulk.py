"""Many rows at once. PostgreSQL's COPY and arrays take a tenth of the time that long INSERT and CASE texts take."""

from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache, partial
from operator import attrgetter
from typing import Any

import orjson
from django.contrib.postgres.fields import ArrayField
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
        columns = sql.SQL(", ").join([_name(f) for f in [meta.pk, *fields]])
        command = sql.SQL("COPY {} ({}) FROM STDIN").format(sql.Identifier(meta.db_table), columns)
        with cursor.copy(command) as copy:
            readers = [_reader(field) for field in fields]
            for row in rows:
                copy.write_row([row.pk, *[read(row) for read in readers]])


_PLAIN = (models.CharField, models.TextField, models.IntegerField, models.BooleanField, models.FloatField, ArrayField)


def _reader(field: Any) -> Callable[[models.Model], Any]:
    """Return what gives a row's value for the database; most kinds of field are stored as they are."""
    plain = isinstance(field, _PLAIN) or (
        isinstance(field, models.DateTimeField) and not (field.auto_now or field.auto_now_add)
    )
    return attrgetter(field.attname) if plain or isinstance(field, models.ForeignKey) else partial(_stored, field)


def _name(field: Any) -> sql.Identifier:
    return sql.Identifier(field.column)


def _stored(field: Any, row: models.Model) -> Any:
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


def update_rows(rows: Sequence[models.Model], names: Sequence[str]) -> None:
    """Write these fields of rows of one model. One statement of fixed text, whatever the number of rows.

    `QuerySet.bulk_update` builds a CASE with a branch for every row and field; that was half of ingest's time.
    """
    if not rows:
        return
    meta = rows[0]._meta
    fields: list[Any] = [meta.get_field(name) for name in names]
    told = [{"id": row.pk} | {f.column: f.pre_save(row, False) for f in fields} for row in rows]
    columns = [(_name(f), sql.SQL(f.db_type(connection))) for f in fields]
    command = sql.SQL(
        "UPDATE {table} SET {values} FROM json_to_recordset(%s::json) AS told (id bigint, {types})"
        " WHERE {table}.id = told.id"
    ).format(
        table=sql.Identifier(meta.db_table),
        values=sql.SQL(", ").join(sql.SQL("{0} = told.{0}").format(name) for name, _ in columns),
        types=sql.SQL(", ").join(sql.SQL("{} {}").format(name, kind) for name, kind in columns),
    )
    with connection.cursor() as cursor:
        cursor.execute(command, [orjson.dumps(told).decode()])


def insert_new(row: models.Model, unique: str) -> bool:
    """Insert a row unless one with the same value in the column `unique` is there. Tells whether it was inserted."""
    with connection.cursor() as cursor:
        fields = [f for f in row._meta.concrete_fields if not f.primary_key]
        cursor.execute(_insert_text(type(row), unique), [_stored(f, row) for f in fields])
        found = cursor.fetchone()
    if found:
        row.pk = found[0]
    return found is not None


@lru_cache(maxsize=16)
def _insert_text(model: type[models.Model], unique: str) -> str:
    fields = [f for f in model._meta.concrete_fields if not f.primary_key]
    command = sql.SQL("INSERT INTO {} ({}) VALUES ({}) ON CONFLICT ({}) DO NOTHING RETURNING id").format(
        sql.Identifier(model._meta.db_table),
        sql.SQL(", ").join([_name(f) for f in fields]),
        sql.SQL(", ").join([sql.Placeholder()] * len(fields)),
        sql.Identifier(unique),
    )
    return command.as_string()
