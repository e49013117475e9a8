"""Runs the stories in each version of an editor, several at a time; prints what failed."""

import concurrent.futures
import os
import pathlib
import shutil
import sys
import tempfile
import threading
import time
import traceback

from . import language_server, stories, typing
from .emacs import Emacs
from .helix import Helix
from .home import TOP, Home, newest
from .kakoune import Kakoune
from .model import Model
from .nvim import Neovim

KINDS = {"helix": Helix, "emacs": Emacs, "kakoune": Kakoune, "nvim": Neovim}
AT_ONCE = 3
ALL = [
    typing.typing_while_the_agent_edits_loses_and_mixes_nothing,
    stories.an_edit_of_an_unsaved_buffer_waits_for_the_word_and_is_undone_alone,
    stories.two_editors_on_one_folder_keep_out_of_each_others_way,
    stories.an_editor_that_crashes_in_a_turn_takes_nothing_along,
    stories.a_killed_server_leaves_the_buffer_and_can_be_started_again,
    stories.what_the_person_changed_in_the_same_place_is_left_alone,
    stories.changes_are_reviewed_by_code_actions,
    stories.a_question_that_was_put_away_is_answered_by_a_code_action,
    stories.a_chat_is_a_markdown_file_that_is_written_and_sent,
    stories.a_long_answer_is_read_after_it_was_given,
    stories.a_turn_is_taken_back_in_its_place,
    stories.a_comment_is_done_where_it_stands,
    stories.a_command_waits_until_what_it_reads_is_saved,
    stories.walk_from_a_clean_home_by_the_steps_of_its_page,
    stories.a_code_action_explains_the_place,
    stories.what_is_rejected_does_not_happen,
    stories.cancel_stops_a_turn_that_runs,
]
RENAME = language_server.a_rename_of_the_language_server_is_the_agents_edit
ASK_OTHERS = [language_server.the_agent_asks_the_editors_language_server, RENAME]
ALL += ASK_OTHERS
START = stories.a_prompt_where_no_server_runs_starts_one
ALL.append(START)
KEEP = stories.a_prompt_that_no_server_accepted_is_offered_again
ALL.append(KEEP)
PRINTING = threading.Lock()


def say(text):
    with PRINTING:
        print(text, flush=True)


class Runner:
    def __init__(self, prefix, binary, target):
        self.prefix, self.binary, self.target = prefix, binary, target
        self.name = prefix.name
        self.kind = KINDS[self.name.split("-")[0]]
        self.pictures = target / "screens" / self.name
        shutil.rmtree(self.pictures, ignore_errors=True)
        self.pictures.mkdir(parents=True)

    def run(self, told):
        """One story; true if all held."""
        name = told.__name__
        folder = pathlib.Path(tempfile.mkdtemp(prefix="interline-story-"))
        made = []

        def make_home(script):
            model = Model(script)
            run = str(TOP / "scripts/editors/prefix-run.sh")
            programs = self.kind.programs(run, str(self.prefix), str(self.target / "kak-lsp"))
            made.extend([model, Home(folder / "story", self.binary, programs, model.url)])
            return made[1], model

        story = stories.Story(self.kind, self.prefix, make_home)
        began, problem = time.monotonic(), None
        try:
            told(story)
            if story.model.problems:
                problem = "\n".join(story.model.problems)
        except Exception:
            problem = traceback.format_exc(limit=-3)
        self.picture(name, story)
        for editor in story.editors:
            editor.close()
        seconds = time.monotonic() - began
        if problem and made:
            keep = self.pictures / f"{name}.frames.jsonl"
            if made[1].recording.exists():
                shutil.copy(made[1].recording, keep)
            problem += f"\nmodel's results: {[each.text for each in made[0].results]}"
        if made:
            made[0].close()
            made[1].remove()
        shutil.rmtree(folder, ignore_errors=True)
        words = f"[{self.name}] {'FAIL' if problem else 'ok'} {name.replace('_', ' ')} ({seconds:.1f} s)"
        say("\n".join([words, *(f"    {note}" for note in story.notes), *([problem] if problem else [])]))
        return problem is None

    def picture(self, name, story):
        """The screens that the story kept, and those at its end, as text."""
        for kept, text in story.pictures.items():
            (self.pictures / f"{name}, {kept}.txt").write_text(text + "\n")
        for number, editor in enumerate(story.editors):
            which = f"-{number + 1}" if len(story.editors) > 1 else ""
            path = self.pictures / f"{name}{which}.txt"
            path.write_text((editor.terminal.text() if editor.terminal else "") + "\n")


def main():
    target = pathlib.Path(os.environ.get("CARGO_TARGET_DIR", TOP / "target")) / "editors"
    build = target.parent
    named = os.environ.get("INTERLINE_BIN") or os.environ.get("INTERLINE")
    binary = pathlib.Path(named) if named else newest(build / "release/interline",
                                                      build / "debug/interline")
    if not binary or not binary.is_file():
        say("no server to test with: set INTERLINE_BIN, or run cargo build")
        return 1
    wanted = os.environ.get("ONLY", "").replace(" ", "_")
    named = [told for told in ALL if wanted in told.__name__]
    good = bad = 0
    for prefix in sys.argv[1:]:
        runner = Runner(pathlib.Path(prefix).resolve(), binary.resolve(), target.resolve())
        chosen = [told for told in named if told not in ASK_OTHERS or runner.kind.asks_others]
        if not runner.kind.renames and RENAME in chosen:
            chosen.remove(RENAME)
        if not runner.kind.starts_to_ask and START in chosen:
            chosen.remove(START)
        if not runner.kind.keeps_prompts and KEEP in chosen:
            chosen.remove(KEEP)
        with concurrent.futures.ThreadPoolExecutor(AT_ONCE) as pool:
            held = list(pool.map(runner.run, chosen))
        # In parallel they compete for the machine, so a failed story gets a second try alone.
        for at in [at for at, one in enumerate(held) if not one]:
            say(f"-- again, alone: {chosen[at].__name__.replace('_', ' ')}")
            held[at] = runner.run(chosen[at])
        good, bad = good + sum(held), bad + held.count(False)
    say(f"{good} passed, {bad} failed")
    return int(bad > 0 or good == 0)


if __name__ == "__main__":
    sys.exit(main())
