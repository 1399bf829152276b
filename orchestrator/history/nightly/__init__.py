"""One night: what to run, what to hold it against, and what its gate says.

ledger      the nights there were, one line each; only one night at a time
due         when a night is due, and what it is called
baselines   which earlier run a night is held against
judgement   from trials to findings and gates; a regression counts once it is confirmed
night       the story: run, judge, record, clear away, tell
clearing    which folders of nights go
telling     commands and webhooks that hear of it
timers      what starts it: systemd, cron, GitHub Actions, GitLab CI
"""
