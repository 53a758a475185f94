"""PostgreSQL for the services: embedded or configured, migrated, pooled, asked by name.

A service starts with

    await migrations.apply(pool.primary_url(settings.database), schema="indexer",
                           migrations=migrations.of_package("leasehold.indexer"))
    async with pool.opened(settings.database, service="indexer") as database:
        height = await database.fetchval(QUERIES.newest_height)

where `QUERIES = queries.load("leasehold.indexer", "queries.sql")`.
"""
