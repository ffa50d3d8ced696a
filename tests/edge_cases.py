"""The edge cases and weaknesses that the references name for issue 5, and the tests that show each.

One entry for each rule of blade.md §§8, 12, 14 and octos.md §§5, 16-19, 22-24, 27-31 that has an edge: what
holds here, and the functions that show it (`test_edge_cases.py` looks for them). Where ctxd decided otherwise
or the rule has no place in it, `otherwise` says why. A `!` begins what the reference calls a weakness.
"""

from __future__ import annotations

from typing import NamedTuple


class Case(NamedTuple):
    """`tests` are names of test functions, without `test_`."""

    section: str
    sentence: str
    tests: tuple[str, ...] = ()
    otherwise: str = ""


CASES: tuple[Case, ...] = (
    # blade.md §8: recent files
    Case("E8", "filtered by session", ("sessions_do_not_show_each_others_files",)),
    Case(
        "E8",
        "newest access first, at most five, filtered before the limit",
        (
            "the_newest_five_files_are_shown_as_they_are_now_inside_the_target",
            "refused_files_however_many_take_nobodys_place",
        ),
    ),
    Case("E8", "two spellings of a path are one file", ("two_spellings_of_a_path_are_one_file",)),
    Case("E8", "a link that leads outside is refused", ("a_compaction_restores_nothing_from_outside",)),
    Case(
        "E8",
        "a link inside the workspace",
        ("a_compaction_restores_nothing_from_outside",),
        "refused too: reliability.md §3 resolves no link at all, and the reason is said",
    ),
    Case("E8", "200 lines, the rest counted", ("the_first_200_lines_are_shown_and_the_rest_is_counted",)),
    Case(
        "E8",
        "unreadable and deleted files are left out",
        ("an_unreadable_file_is_not_found", "files_that_may_not_be_shown_are_named_and_take_nobodys_place"),
    ),
    Case("E8", "no files, no message", ("less_room_shows_fewer_files_and_no_room_none",)),
    Case(
        "E8",
        "!a cap on bytes",
        ("bytes_are_capped_at_whole_lines", "a_first_line_above_the_cap_is_too_large"),
    ),
    Case("E8", "!no whole large file in memory", ("a_file_above_the_limit_is_too_large",)),
    Case("E8", "!files with secrets by name", ("a_name_that_stands_for_secrets_is_sensitive",)),
    Case("E8", "!content cannot end its block", ("a_file_cannot_speak_for_anybody",)),
    Case("E8", "!no race between check and read", ("exchanging_a_name_leaks_nothing_through_any_method",)),
    Case("E8", "!kept over a restart", ("a_restart_forgets_neither_the_files_nor_what_was_shown",)),
    Case("E8", "!not shown beside the tail", ("a_file_whose_read_stays_in_the_tail_is_not_shown_twice",)),
    Case("E8", "!without a session id", (), "every session has an id; there is no call without one"),
    # blade.md §12: the budget of tool results
    Case(
        "E12", "just the limit passes", ("e12_a_result_of_just_the_limit_passes_and_one_byte_more_does_not",)
    ),
    Case("E12", "a limit per turn", ("e12_parallel_results_together_stay_within_the_turns_limit",)),
    Case("E12", "each turn has its own", ("e12_each_turn_has_its_own_limit",)),
    Case("E12", "what is not text is measured as it is stored", ("the_stored_form_of_a_result",)),
    Case(
        "E12",
        "!scaled to the window",
        (
            "e12_fifty_kilobytes_are_too_much_for_a_small_window_only",
            "e12_a_small_window_is_not_overflowed_by_one_turn",
        ),
    ),
    Case(
        "E12", "!the same after resume", ("e12_what_is_shown_is_the_same_after_resume_under_other_options",)
    ),
    Case("E12", "!head and tail", ("e12_head_and_tail_are_shown_in_the_options_proportion",)),
    Case(
        "E12", "!nothing without limit", ("e12_an_exhausted_turn_adds_no_preview_for_every_further_result",)
    ),
    Case("E12", "!for its owner alone", ("e12_what_is_not_shown_is_kept_for_its_owner_alone",)),
    Case("E12", "!a tool's name is no file's", ("e12_the_name_of_a_tool_names_no_file",)),
    Case(
        "E12", "!no character is cut", ("e12_cuts_split_no_character", "e12_a_lone_surrogate_moves_no_offset")
    ),
    Case(
        "E12",
        "an output that cannot be saved",
        ("a_prepare_that_cannot_be_stored_takes_nothing_in",),
        "nothing is acknowledged before it is stored: the append fails whole instead of losing the rest",
    ),
    Case("E12", "a warning after three failures of a tool", (), "the host's: it words what its tools say"),
    # blade.md §14: memory
    Case(
        "E14",
        "off, missing and blank show nothing",
        ("nothing_is_remembered_at_first", "memory_that_is_off_shows_finds_and_writes_nothing"),
    ),
    Case(
        "E14",
        "!an index bounded in lines, bytes and tokens, with what it leaves out",
        (
            "of_10000_entries_the_newest_are_shown_and_the_rest_is_named",
            "e14_a_topic_as_long_as_it_may_be_is_bounded_and_the_index_by_bytes",
        ),
    ),
    Case("E14", "!a line feed at the end is no line", ("an_index_that_just_fits_is_whole_whatever_ends_it",)),
    Case(
        "E14",
        "one file that cannot be read hides no other",
        ("one_topic_that_cannot_be_read_hides_no_other",),
    ),
    Case(
        "E14",
        "!names, the empty one too",
        (
            "a_name_that_some_system_reads_otherwise_is_refused_without_repeating_it",
            "no_method_takes_a_name_that_is_none",
        ),
    ),
    Case(
        "E14",
        "an unknown topic names those there are",
        (
            "deleting_what_is_not_there_names_what_is",
            "a_model_is_told_what_it_may_not_remember_and_which_topics_there_are",
        ),
    ),
    Case(
        "E14",
        "a line feed before an entry where one lacks",
        ("e14_an_entry_behind_a_line_that_a_person_left_open_begins_a_line",),
    ),
    Case("E14", "topics newest first", ("a_topic_is_written_read_listed_and_deleted",)),
    Case(
        "E14",
        "the same is written once, whatever its day",
        ("e14_what_is_there_already_is_not_written_again", "two_sessions_that_say_the_same_write_it_once"),
    ),
    Case(
        "E14",
        "one managed block, the rest byte for byte",
        (
            "what_a_person_wrote_around_the_block_stays_byte_for_byte",
            "there_is_one_block_however_often_it_is_written",
        ),
    ),
    Case(
        "E14",
        "secrets are refused without being repeated",
        ("e14_every_kind_of_credential_is_refused_as_a_tool_prints_it",),
    ),
    Case("E14", "!prose about secrets is none", ("e14_words_about_secrets_are_no_secrets",)),
    Case("E14", "marks in English and Chinese", ("what_the_user_marked_or_made_a_rule_is_chosen",)),
    Case("E14", "!marks at the beginning alone", ("words_that_only_look_like_a_mark_are_not",)),
    Case(
        "E14", "!nothing of tools or the model", ("nothing_a_tool_printed_or_a_model_claimed_is_remembered",)
    ),
    Case(
        "E14",
        "bounded in one compaction",
        (
            "one_compaction_adds_a_bounded_amount_and_the_next_one_the_rest",
            "entries_and_their_sum_are_cut_at_characters_not_inside_one",
        ),
    ),
    Case(
        "E14",
        "a failure changes no compaction",
        ("a_memory_that_cannot_be_written_fails_no_compaction_and_is_made_up_for",),
    ),
    Case("E14", "outcomes, off among them", ("it_can_be_switched_off",)),
    Case("E14", "!provenance", ("an_entry_says_where_it_comes_from_and_a_persons_line_does_not",)),
    Case(
        "E14",
        "!expiry",
        (
            "e14_no_entry_goes_for_being_old",
            "an_entry_that_says_otherwise_takes_the_place_of_the_old_one_which_stays",
        ),
        "nothing goes by date: a newer entry supersedes, and the bounded index shows the newest",
    ),
    Case("E14", "!a cap per topic", ("a_topic_cannot_grow_without_bound",)),
    Case(
        "E14",
        "!one writer after another",
        ("changes_of_several_daemons_come_one_after_another", "two_daemons_and_an_editor_lose_no_entry"),
    ),
    Case(
        "E14",
        "!an overwritten index keeps its block",
        ("e14_a_person_who_overwrites_the_index_keeps_its_list_of_topics",),
    ),
    Case("E14", "!shown as quoted background", ("e14_the_index_cannot_end_its_own_quotation_in_a_prompt",)),
    Case("E14", "!workspaces apart", ("workspaces_do_not_know_each_other",)),
    # octos.md §5: plans
    Case("O5", "the newest valid plan wins", ("a_degenerate_plan_does_not_shadow_a_valid_one",)),
    Case(
        "O5",
        "stringified arguments, several tools",
        ("a_stringified_object_is_read", "the_plan_tools_of_hosts_are_read_alike"),
    ),
    Case("O5", "titles without control characters, short", ("titles_are_clean_and_short",)),
    Case(
        "O5",
        "a long plan is cut and says so",
        ("a_long_plan_is_cut_where_it_says_so_and_what_is_done_goes_first",),
    ),
    Case("O5", "!no plan from text", ("text_that_looks_like_a_plan_is_none",)),
    Case(
        "O5",
        "!in every path, any number of times",
        ("the_plan_outlives_any_number_of_compactions_in_every_path",),
    ),
    # octos.md §16: phases
    Case(
        "O16",
        "!typed numbers, in pairs",
        (
            "begin_and_end_come_in_pairs_and_a_new_view_is_told_between",
            "o16_where_nothing_is_compacted_no_phase_is_told",
        ),
    ),
    # octos.md §§17-19: recall
    Case(
        "O17",
        "pages clamped, the last invites none",
        ("o17_pages_are_counted_from_zero_and_clamped_to_the_last",),
    ),
    Case(
        "O17",
        "one page raw, an empty output empty",
        ("a_small_output_comes_back_as_it_was_and_nothing_else", "an_empty_output_is_empty"),
    ),
    Case("O17", "an unknown id is told", ("a_mistake_is_answered_with_what_to_do",)),
    Case("O17", "a character wider than a page", ("pages_are_whole_characters_whatever_their_size",)),
    Case(
        "O17", "!id, total and next call", ("o17_the_footer_names_the_id_the_total_and_the_exact_next_call",)
    ),
    Case(
        "O17",
        "!limits may change between calls",
        ("o17_a_change_of_limits_between_two_calls_repeats_and_loses_nothing",),
    ),
    Case("O17", "!always beside the placeholders", ("the_words_of_a_placeholder_are_the_next_call",)),
    Case("O18", "!raw bytes before any cut", ("o18_the_middle_of_a_cut_output_is_never_lost",)),
    Case("O18", "!every id after a restart", ("o18_every_id_is_known_after_compactions_and_a_restart",)),
    Case(
        "O18",
        "!forks and rewinds",
        ("o18_a_fork_recalls_what_its_parent_stored", "o18_what_a_rewind_took_away_is_still_recalled"),
    ),
    Case("O18", "reused ids", ("a_reused_id_answers_with_the_newest_owner_and_names_all",)),
    Case("O19", "an owner's outputs alone", ("o19_no_handle_reaches_into_another_session",)),
    Case(
        "O19",
        "parts that exclude each other",
        ("o19_ways_to_name_a_part_that_exclude_each_other_are_refused", "o19_exactly_one_handle_is_taken"),
    ),
    Case(
        "O19",
        "digests are checked; states told apart",
        ("o19_one_byte_that_was_changed_is_noticed", "unknown_removed_damaged_and_ambiguous_are_told_apart"),
    ),
    Case("O19", "search inside one output", ("search_inside_one_output_has_its_places_by_line_and_offset",)),
    Case("O19", "expiry and caps", (), "reliability.md D12: kept for ever, pruned on purpose alone"),
    # octos.md §22: fidelity
    Case(
        "O22",
        "four levels, each with a handle",
        (
            "every_level_is_seen_in_the_items_and_in_both_histories_alike",
            "what_is_not_shown_whole_names_what_recall_gives_back_whole",
        ),
    ),
    Case("O22", "!bytes are bytes, no character cut", ("e12_cuts_split_no_character",)),
    Case(
        "O22",
        "!a summary is one",
        ("after_a_compaction_messages_are_whole_or_in_the_summary_and_undo_brings_them_back",),
    ),
    Case(
        "O22",
        "mode strings (`truncate:N`, `summary:N`)",
        ("the_lowest_level_is_one_of_those_given_and_none_is_lower",),
        "they order what a pipeline carries between nodes; here a level says what became of a message",
    ),
    # octos.md §23: reads
    Case(
        "O23",
        "above the budget a hint and no body",
        (
            "above_the_budget_a_hint_comes_that_can_be_followed_to_the_end",
            "more_than_the_budget_is_a_hint_that_fits_exactly",
        ),
    ),
    Case("O23", "above 10 MB refused", ("a_file_above_the_cap_is_too_large",)),
    Case(
        "O23",
        "wrong ranges name their side",
        ("a_range_that_is_none_says_which_side_is_wrong", "a_range_outside_the_file_or_backwards_is_refused"),
    ),
    Case("O23", "unknown arguments are told", ("what_is_not_is_said_with_what_there_is",)),
    Case(
        "O23",
        "!a range above the budget",
        ("following_every_suggestion_reads_the_whole_file", "a_line_above_the_budget_is_read_by_offset"),
    ),
    Case(
        "O23", "!never unchanged where it left the view", ("what_was_evicted_is_not_said_to_be_in_context",)
    ),
    Case(
        "O23",
        "validity by content and not by time",
        ("what_changed_behind_the_sessions_back_is_not_in_context",),
    ),
    # octos.md §24: limits
    Case(
        "O24", "!secrets before any cut", ("o24_a_secret_at_the_place_of_the_cut_is_whole_when_looked_for",)
    ),
    Case("O24", "!the middle is kept", ("o24_the_middle_of_what_is_shown_cut_is_kept",)),
    Case(
        "O24", "head and tail in their proportion", ("e12_head_and_tail_are_shown_in_the_options_proportion",)
    ),
    # octos.md §27: prompts
    Case(
        "O27",
        "names and order of discovery",
        (
            "the_names_and_their_order_are_those_of_the_reference",
            "the_first_file_that_is_there_is_taken_and_no_later_one",
        ),
    ),
    Case(
        "O27",
        "64 KiB and no more, blank, unreadable",
        (
            "a_file_of_just_64_kib_is_taken_whole",
            "a_file_of_no_use_is_named_with_its_reason_and_the_next_is_taken",
        ),
    ),
    Case("O27", "an explicit text suppresses discovery", ("a_text_that_is_given_is_not_looked_for",)),
    Case(
        "O27",
        "order, headings, blank layers",
        (
            "layers_stand_in_order_trimmed_under_their_headings",
            "a_blank_layer_leaves_nothing_behind_not_even_its_heading",
        ),
    ),
    Case(
        "O27",
        "named slots keep their place",
        (
            "a_title_is_one_slot_whose_place_is_the_first_and_whose_text_the_last",
            "a_slot_that_was_emptied_keeps_its_place_for_what_fills_it_again",
        ),
    ),
    Case(
        "O27",
        "!memory out of the cached prefix",
        (
            "memory_changes_no_byte_of_the_stable_part",
            "what_a_workspace_remembers_is_in_the_volatile_part_alone",
        ),
    ),
    # octos.md §28: steering
    Case(
        "O28",
        "in order, later ones kept",
        ("several_follow_ups_keep_their_order_and_later_ones_wait_for_the_next",),
    ),
    Case(
        "O28",
        "one more round after a final answer",
        ("after_a_final_answer_the_report_says_that_something_waits",),
    ),
    Case(
        "O28", "nothing waits, nothing changes", ("without_steering_a_request_is_byte_for_byte_what_it_was",)
    ),
    Case(
        "O28",
        "!bounded, with ids",
        (
            "sixteen_messages_may_wait_and_a_cancel_beside_them",
            "the_same_under_the_same_id_is_taken_once_before_and_after_it_was_taken_in",
        ),
    ),
    Case("O28", "!pause and cancel work", ("a_control_reaches_the_host_as_a_note_and_never_the_model",)),
    Case("O28", "!leftovers have an owner", ("what_waits_when_a_turn_ends_badly_is_for_the_next_one",)),
    Case("O28", "!no turn for ageing", ("ageing_does_not_see_what_is_said_into_a_turn",)),
    # octos.md §29: repair
    Case("O29", "!system messages stay", ("o29_later_system_messages_stay_where_they_are",)),
    Case(
        "O29",
        "scattered results come back",
        ("o29_results_scattered_past_other_messages_come_back_behind_their_calls",),
    ),
    Case(
        "O29",
        "a result before its call",
        ("o29_a_result_before_a_call_of_its_id_is_not_taken_for_that_calls",),
        "left out and stubbed: where ids are used again it belongs to an earlier call that was cut off",
    ),
    Case("O29", "results without a call go", ("o29_results_without_a_call_or_an_id_go",)),
    Case("O29", "!good siblings are kept", ("o29_good_siblings_of_a_lost_result_are_kept",)),
    Case("O29", "a reused id has its own result", ("o29_an_id_that_is_used_again_has_a_result_of_its_own",)),
    Case("O29", "idempotent", ("a_mended_list_breaks_no_law_and_mending_it_again_changes_nothing",)),
    Case("O29", "!no cut by repair, in any script", ("o29_an_old_result_is_cut_by_no_repair_however_often",)),
    Case(
        "O29",
        "!ids one to one",
        (
            "o29_ids_that_differ_in_a_prefix_alone_stay_two",
            "calls_keep_their_own_results_whatever_ids_the_target_takes",
        ),
    ),
    # octos.md §30: contracts
    Case(
        "O30",
        "ready by artifacts and newest outcomes",
        ("ready_is_a_file_of_every_artifact_and_a_pass_of_every_required_validator",),
    ),
    Case("O30", "no contract, not ready", ("a_session_without_a_contract_is_not_ready",)),
    Case("O30", "optional ones only warn", ("an_optional_validator_only_warns",)),
    Case("O30", "!ties: the newest", ("the_newest_outcome_counts_even_within_one_millisecond",)),
    Case(
        "O30",
        "!bound to the files",
        (
            "a_pass_goes_stale_with_an_artifact_and_comes_back_with_it",
            "a_pass_goes_stale_with_a_file_the_session_wrote_and_not_with_others",
        ),
    ),
    Case(
        "O30",
        "patterns stay inside",
        (
            "a_pattern_that_leads_outside_is_refused_with_the_reason",
            "a_contract_learns_nothing_of_what_lies_outside",
        ),
    ),
    Case("O30", "running validators", (), "the host's: ctxd records outcomes and runs nothing"),
    # octos.md §31: episodes and search
    Case(
        "O31",
        "!an episode for every compaction, typed",
        ("every_compaction_leaves_its_typed_state_to_be_found", "an_episode_comes_back_typed_as_it_was"),
    ),
    Case(
        "O31",
        "one that could not be kept comes later",
        ("an_episode_that_was_not_kept_in_time_is_kept_with_the_next",),
    ),
    Case(
        "O31",
        "!a floor that is absolute",
        ("a_query_about_nothing_known_finds_nothing", "a_question_about_nothing_known_reaches_no_entry"),
    ),
    Case("O31", "!Chinese words", ("chinese_questions_find_chinese_entries",)),
    Case("O31", "!what was deleted weighs nothing", ("what_was_deleted_makes_nothing_common",)),
    Case("O31", "!a workspace's own", ("workspaces_do_not_know_each_other",)),
    Case(
        "O31",
        "!framed as background",
        ("what_is_found_is_quoted_as_background_that_cannot_end_its_own_quotation",),
    ),
    Case("O31", "ties newest first", ("of_equals_the_newest_comes_first",)),
    Case(
        "O31",
        "vectors with the extra, words without",
        (
            "with_vectors_other_words_for_the_same_are_found_too",
            "without_the_extra_words_are_searched_all_the_same",
        ),
    ),
    Case("O31", "a text that changed loses its vector", ("texts_come_and_go",)),
    Case(
        "O31",
        "the tool pages, and names what there is",
        (
            "a_long_topic_is_read_in_parts_that_leave_nothing_out",
            "a_model_is_told_what_it_may_not_remember_and_which_topics_there_are",
        ),
    ),
)
