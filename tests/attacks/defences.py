"""The defences that attacks are aimed at, and how each is switched off for a control.

Proctor itself has no such switches: they are made here, around its parts, in this process alone. A control
shows that an attack is one: with its defence away it reaches what it is after.
"""

from __future__ import annotations

from collections.abc import Mapping

from . import off_changes as changes
from . import off_reports as reports
from . import off_rooms as rooms
from .stage import Switch

SWITCHES: Mapping[str, Switch] = {
    "protected_files": Switch("files that steer a run are put back", changes.nothing_put_back_but_ours),
    "own_files_last": Switch("the task's own tests are written last", changes.nothing_put_back),
    "test_reports": Switch(
        "a run proves itself by its report, not by its exit code", reports.exit_codes_alone
    ),
    "test_lists": Switch("each listed test must really have passed", reports.no_lists),
    "skips_compared": Switch("a test that ran without the change must run with it", reports.no_comparing),
    "runner_watch": Switch("what the runner was is compared with what it is", reports.unwatched),
    "canaries": Switch("tests of the judge's own must fail and pass in between", reports.no_canaries),
    "report_key": Switch("every report carries a keyed digest", reports.keyless),
    "fresh_token": Switch("report path and key are new for every run", reports.known_token),
    "key_read_once": Switch(
        "the key is gone before the candidate's code runs", reports.key_in_the_environment
    ),
    "our_modules_first": Switch(
        "the judge's plug-ins load before the work tree can", reports.work_tree_first
    ),
    "asserts_are_fixed": Switch(
        "node's assert module cannot be changed where tests run", reports.loose_modules
    ),
    "failures_counted": Switch("a report must fit the totals that were printed", reports.failures_uncounted),
    "totals_must_fit": Switch("a printed plan and its lines must add up", reports.totals_do_not_matter),
    "whole_output": Switch("a report that was cut is no report", reports.tail_is_enough),
    "fresh_rooms": Switch("the judge never works in the agent's room", rooms.one_room),
    "no_survivors": Switch("no process outlives its command", rooms.one_container),
    "no_network": Switch("rooms have no network", rooms.with_network),
    "named_files_only": Switch(
        "rooms hold what the task names, nothing else of the machine", rooms.with_folder
    ),
    "closed_environment": Switch("rooms get no variable of the machine", rooms.with_environment),
    "no_history": Switch("the agent's repository has one commit", rooms.with_history),
    "hidden_until_judged": Switch("hidden files are in the judge's rooms only", rooms.with_hidden_files),
    "limits_are_failures": Switch("a limit that is hit is the candidate's failure", rooms.limits_are_trouble),
    "whole_patches": Switch("a patch stays in the work tree, or is refused", changes.naive_patching),
    "files_are_read": Switch(
        "the change is read from files; nothing of the agent's repository runs",
        changes.git_in_the_agents_tree,
    ),
    "material_is_data": Switch("a judge gets the response as data", changes.plain_prompt),
    "our_analysis": Switch("analysers are configured from our side", changes.obeyed_config),
    "suppressions_counted": Switch(
        "comments that silence a tool are counted", changes.loosened("suppressions")
    ),
    "parse_guard": Switch("files that parsed must parse", changes.loosened("parse", "code_lines")),
    "code_guard": Switch("code may not vanish or hide", changes.loosened("code_lines")),
    "files_guard": Switch(
        "what leaves the analysis is counted back", changes.loosened("deletions", "code_lines")
    ),
    "guard_command": Switch("the guard command must pass first", changes.no_guard),
}
