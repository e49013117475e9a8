"""A user's day with an editor that knows nothing about Interline except LSP."""

import threading

from .model import Step, call, edit, read

CART = "step one\nstep two\nstep three\n"


class Story:
    """One story's tools; `begin` starts the model, the home and what `open` opens."""

    def __init__(self, kind, prefix, make_home):
        self.kind, self.prefix, self.make_home = kind, prefix, make_home
        self.editors = []
        self.pictures, self.notes = {}, []
        self.home = self.model = None

    def begin(self, script, trusted=False):
        self.home, self.model = self.make_home(script)
        self.home.install(self.kind.page)
        self.home.write("cart.sh", CART)
        if trusted:
            self.home.trust()

    def open(self, file="cart.sh"):
        editor = self.kind(self.home, self.prefix, file)
        self.editors.append(editor)
        return editor

    def say(self, note):
        """A line for the report."""
        self.notes.append(note)

    def picture(self, name):
        """Keeps the screen of the newest editor."""
        self.pictures[name] = self.editors[-1].terminal.text()

    def until(self, holds, what):
        return self.editors[-1].until(holds, what)


def two_is_2(_asked):
    results = yield Step("I look at it.", [read("cart.sh")])
    results = yield Step("I change it.", [edit("cart.sh", "step two", "step 2")])
    return "I did nothing." if results[0].failed else "Two is 2 now."


def says(text):
    def script(_asked):
        return Step(text)
        yield
    return script


def walk_from_a_clean_home_by_the_steps_of_its_page(story):
    """First prompt, an edit of an unsaved buffer that is approved, undo, cancel: with pictures."""
    forever = threading.Event()

    def script(asked):
        if len(story.model.asked) == 1:
            return Step("Three steps, in order.")
        if len(story.model.asked) == 2:
            return (yield from two_is_2(asked))
        yield Step("I think about it.", [read("cart.sh")], hold=forever)

    story.begin(script)
    editor = story.open()
    editor.ask("what does it do")
    editor.wait(r"Three steps, in order\.")
    story.picture("1 first prompt")
    editor.settle()
    assert ("what does it do" in story.model.asked[0]) == editor.words
    editor.below("step one")
    editor.type("step mine", 15)
    editor.leave()
    editor.has("step one", "step mine", "step two")
    editor.ask("make two 2")
    editor.asked()
    story.picture("2 approval")
    editor.approve()
    editor.has("step one", "step mine", "step 2", "step three")
    editor.wait(r"Two is 2 now\.")
    story.picture("3 edit of the unsaved buffer")
    editor.settle()
    assert story.home.read("cart.sh") == CART
    assert editor.step_back()
    editor.has("step one", "step mine", "step two", "step three")
    story.picture("4 undo")
    editor.ask("think")
    story.until(lambda: len(story.model.asked) == 3, "the model is asked")
    editor.cancel()
    editor.wait(r"Interline stopped: cancelled\.")
    story.picture("5 cancel")
    story.until(story.model.hung_up.is_set, "the model's connection is closed")


def a_code_action_explains_the_place(story):
    story.begin(says("It takes the second step."))
    editor = story.open()
    editor.act("Interline: explain this")
    editor.closing("It takes the second step.")
    assert "Text around the cursor" in story.model.asked[0]


def a_comment_is_done_where_it_stands(story):
    story.begin(two_is_2, trusted=True)
    story.home.write("cart.sh", "step one\n# make two short\nstep two\nstep three\n")
    editor = story.open()
    editor.before_word("make")
    editor.leave()
    editor.act("Interline: do this comment")
    editor.has("step one", "# make two short", "step 2", "step three")
    editor.closing("Two is 2 now.")
    assert "make two short" in story.model.asked[0]


def a_turn_is_taken_back_in_its_place(story):
    story.begin(two_is_2, trusted=True)
    editor = story.open()
    editor.ask("make two 2")
    editor.has("step one", "step 2", "step three")
    editor.closing("Two is 2 now.")
    editor.below("step three")
    editor.type("step mine", 15)
    editor.leave()
    editor.has("step 2", "step three", "step mine")
    editor.command_of_the_server("revert")
    editor.closing("Interline reverted ")
    editor.has("step one", "step two", "step three", "step mine")
    assert editor.saved() == CART + "step mine\n"


def a_chat_is_a_markdown_file_that_is_written_and_sent(story):
    story.begin(two_is_2, trusted=True)
    editor = story.open()
    editor.chat()
    editor.shows_the_transcript()
    editor.at_the_end()
    editor.type("make two 2", 15)
    editor.leave()
    editor.has("## You", "", "make two 2")
    editor.command_of_the_server("send")
    editor.told("Changed:")
    # Neovim applies no edit while it shows a message of several lines.
    seen = lambda: editor.shows("Changed:") or editor.shows("## Interline")
    story.until(seen, "the message, or the answer")
    editor.settle()
    editor.has("## Interline", "", "I look at it.")
    editor.wait(r"Two is 2 now\.")
    story.picture("the transcript")
    assert "make two 2" in story.model.asked[0]
    assert story.model.results[-1].text.startswith("Changed cart.sh")


def a_long_answer_is_read_after_it_was_given(story):
    """By the command alone, without a code action before the prompt."""
    story.begin(says("\n\n".join(f"Part {number} of the answer." for number in range(1, 9))))
    editor = story.open()
    editor.ask("what does it do")
    editor.told("Part 8 of the answer.")
    editor.reads_all("Part 1 of the answer.", "Part 8 of the answer.")
    editor.settle()
    story.picture("the message")
    editor.command_of_the_server("chat")
    editor.shows_the_transcript()
    editor.has("## Interline", "", "Part 1 of the answer.", "", "Part 2 of the answer.")
    story.picture("the transcript")


def a_prompt_where_no_server_runs_starts_one(story):
    """Nothing has to be written twice."""
    story.begin(says("I am here."))
    file = story.kind.unattached or "cart.sh"
    story.home.write(file, CART)
    editor = story.open(file)
    if not story.kind.unattached:
        editor.lose_server()
        story.until(lambda: not story.home.servers(), "the server has ended")
    editor.ask("who is there")
    editor.told("I am here.")
    assert "who is there" in story.model.asked[0]


def a_prompt_that_no_server_accepted_is_offered_again(story):
    story.begin(says("I am here."))
    editor = story.open()
    editor.loses_server_while_asking("who is there")
    story.picture("the server has ended")
    assert not story.model.asked
    editor.offered_again("who is there")
    editor.told("I am here.")
    assert "who is there" in story.model.asked[0]


def an_edit_of_an_unsaved_buffer_waits_for_the_word_and_is_undone_alone(story):
    story.begin(two_is_2)
    editor = story.open()
    editor.below("step one")
    editor.type("step und é", 15)
    editor.leave()
    editor.has("step one", "step und é", "step two")
    editor.ask("make two 2")
    asked = lambda: [each for each in story.home.messages() if "+step 2" in each]
    story.until(asked, "the question shows the change")
    assert "step und é" in story.model.results[0].text
    editor.has("step und é", "step two")
    editor.asked()
    story.picture("the question")
    editor.approve()
    editor.has("step one", "step und é", "step 2", "step three")
    editor.closing("Two is 2 now.")
    assert story.home.read("cart.sh") == CART
    assert editor.step_back()
    editor.has("step one", "step und é", "step two", "step three")
    assert editor.saved() == "step one\nstep und é\nstep two\nstep three\n"


def what_is_rejected_does_not_happen(story):
    story.begin(two_is_2)
    editor = story.open()
    editor.ask("make two 2")
    editor.reject()
    editor.closing("I did nothing.")
    editor.has("step one", "step two", "step three")
    assert story.model.results[-1].text.startswith("Not done: rejected")
    assert not story.home.sent("workspace/applyEdit")


def changes_are_reviewed_by_code_actions(story):
    """One is kept, one is undone; what the person typed above them stays."""
    def script(_asked):
        if len(story.model.asked) > 1:
            return Step("I see.")
        yield Step("I look.", [read("cart.sh")])
        yield Step("I change it.", [edit("cart.sh", "step one", "step 1"),
                                    edit("cart.sh", "step three", "step 3")])
        return "One and three are numbers now."

    story.begin(script, trusted=True)
    editor = story.open()
    editor.ask("use numbers")
    editor.has("step 1", "step two", "step 3")
    editor.closing("One and three are numbers now.")
    editor.above_all()
    editor.type("mine", 15)
    editor.leave()
    editor.has("mine", "step 1", "step two", "step 3")
    editor.saved()
    editor.before_word("step 1")
    editor.leave()
    editor.act("Interline: keep this change")
    editor.before_word("step 3")
    editor.leave()
    editor.act("Interline: undo this change")
    editor.has("mine", "step 1", "step two", "step three")
    assert editor.saved() == "mine\nstep 1\nstep two\nstep three\n"
    editor.ask("and now")
    story.until(lambda: len(story.model.asked) == 2, "the model is asked again")
    assert "kept" in story.model.asked[1] and "rejected" in story.model.asked[1], story.model.asked[1]


def a_question_that_was_put_away_is_answered_by_a_code_action(story):
    story.begin(two_is_2)
    editor = story.open()
    editor.ask("make two 2")
    editor.asked()
    editor.put_away()
    editor.act("Interline: allow Edit cart.sh")
    editor.has("step one", "step 2", "step three")
    editor.closing("Two is 2 now.")


def what_the_person_changed_in_the_same_place_is_left_alone(story):
    changed = threading.Event()

    def script(_asked):
        yield Step("I look.", [read("cart.sh")])
        results = yield Step("I change it.", [edit("cart.sh", "step two", "go on")], hold=changed)
        return "It was changed meanwhile." if results[0].failed else "I did it."

    story.begin(script, trusted=True)
    editor = story.open()
    editor.ask("change two")
    story.until(lambda: story.model.results, "the model has read it")
    editor.before_word("two")
    editor.type("my ", 15)
    editor.leave()
    editor.has("step one", "step my two", "step three")
    changed.set()
    editor.closing("It was changed meanwhile.")
    editor.has("step one", "step my two", "step three")
    assert "in the same place." in story.model.results[-1].text, story.model.results
    assert editor.saved() == "step one\nstep my two\nstep three\n"


def a_command_waits_until_what_it_reads_is_saved(story):
    def script(_asked):
        results = yield Step("I run it.", [call("exec", command="cat cart.sh")])
        return "The new step is there." if "step new" in results[0].text else "It is missing."

    story.begin(script, trusted=True)
    editor = story.open()
    editor.below("step three")
    editor.type("step new", 15)
    editor.leave()
    editor.has("step three", "step new")
    editor.ask("run it")
    named = lambda: [each for each in story.home.messages() if "Unsaved" in each]
    story.until(named, "the question names the unsaved file")
    editor.approve()
    editor.saved()
    editor.closing("The new step is there.")


def cancel_stops_a_turn_that_runs(story):
    forever = threading.Event()

    def script(_asked):
        yield Step("I think about it.", [read("cart.sh")], hold=forever)

    story.begin(script)
    editor = story.open()
    editor.ask("think")
    story.until(lambda: story.model.steps, "the model is asked")
    editor.cancel()
    editor.closing("Interline stopped: cancelled.")
    story.until(story.model.hung_up.is_set, "the model's connection is closed")
    editor.has("step one", "step two", "step three")


def an_editor_that_crashes_in_a_turn_takes_nothing_along(story):
    forever = threading.Event()

    def script(_asked):
        if len(story.model.asked) > 1:
            return Step("I am here again.")
        yield Step("I look at it.", [read("cart.sh")])
        yield Step("I change it.", [edit("cart.sh", "step two", "step 2")])
        yield Step("I think on.", hold=forever)

    story.begin(script, trusted=True)
    editor = story.open()
    editor.ask("make two 2")
    editor.has("step one", "step 2")
    editor.saved()
    story.until(lambda: story.model.steps == 3, "the model thinks on")
    editor.kill()
    story.until(lambda: not story.home.servers(), "the server ends with its editor")
    story.until(story.model.hung_up.is_set, "the model's connection is closed")
    assert story.home.read("cart.sh") == "step one\nstep 2\nstep three\n"
    kept = story.home.run([str(story.home.bin / "interline"), "sessions", "list"])
    assert "make two 2" in kept or not editor.words, kept
    editor = story.open()
    editor.ask("go on")
    editor.reads_what_was_cut_off()
    editor.told("I am here again.")


def a_killed_server_leaves_the_buffer_and_can_be_started_again(story):
    forever, file = threading.Event(), story.kind.lone

    def script(_asked):
        if len(story.model.asked) > 1:
            results = yield Step("I look.", [read(file)])
            results = yield Step("I change it.", [edit(file, "step three", "step 3")])
            return "Three is 3 now."
        yield Step("I look.", [read(file)])
        yield Step("I change it.", [edit(file, "step two", "step 2")])
        yield Step("I think on.", hold=forever)

    story.begin(script, trusted=True)
    story.home.write(file, CART)
    editor = story.open(file)
    editor.below("step one")
    editor.type("step mine", 15)
    editor.leave()
    editor.has("step one", "step mine", "step two")
    editor.ask("make two 2")
    editor.has("step mine", "step 2", "step three")
    story.until(lambda: story.model.steps == 3, "the model thinks on")
    editor.lose_server()
    story.until(story.model.hung_up.is_set, "the model's connection is closed")
    editor.has("step one", "step mine", "step 2", "step three")
    assert story.home.read(file) == CART
    editor.back()
    editor.ask("make three 3")
    editor.reads_what_was_cut_off()
    editor.has("step one", "step mine", "step 2", "step 3")
    editor.told("Three is 3 now.")
    editor.settle()
    assert editor.saved() == "step one\nstep mine\nstep 2\nstep 3\n"


def two_editors_on_one_folder_keep_out_of_each_others_way(story):
    def script(asked):
        file = "list.sh" if "list.sh" in asked else "cart.sh"
        results = yield Step("I look.", [read(file)])
        results = yield Step("I change it.", [edit(file, "step two", "step 2")])
        return f"{file} is done." if not results[0].failed else "That did not work."

    story.begin(script, trusted=True)
    story.home.write("list.sh", CART)
    first, second = story.open("cart.sh"), story.open("list.sh")
    first.below("step three")
    first.type("step mine", 15)
    first.leave()
    first.has("step three", "step mine")
    second.below("step one")
    second.type("step yours", 15)
    second.leave()
    second.has("step one", "step yours")
    for editor, file in (first, "cart.sh"), (second, "list.sh"):
        editor.ask(f"change {file}")
        editor.closing(f"{file} is done.")
    assert first.saved() == "step one\nstep 2\nstep three\nstep mine\n"
    assert second.saved() == "step one\nstep yours\nstep 2\nstep three\n"
