"""The benchmarks: `python -m bench` runs all, `python -m bench NAME …` some. Each prints one line of JSON.

    classifier     megabytes a second through the rules
    verdicts_pure  verdicts a second of the engine alone
    grid           the page's server time, statements and bytes with 1.5 million runs, and with a tenth of them
    ingest         `workflow_job` events a second from HTTP to the committed cell, one worker process; peak memory
    replay         jobs a second from recorded answers, logs a second
    live           from an event at the door to the rows that an open page puts in place
    alerts         from the webhook that makes an alert true to its delivered notification, with a worker killed
    paint          Chromium: full grid painted, filter typed and its answer painted, bytes of a first visit

They bring their own PostgreSQL and Valkey, in `.data/bench` or `--data-dir`; the store of 1.5 million runs is filled
once (some minutes) and again when the code that makes its rows changes. A figure says its budget, its ratio to it (1 or
less is within), and where it has one its multiple of a floor: the barest form of the same work, measured in the same
run. Processor times tell more than the clock on a machine that has other work.
"""
