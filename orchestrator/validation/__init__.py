"""Is a task fit to judge anybody: its states run again and again, and what that shows of it."""
