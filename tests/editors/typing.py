"""A user types at real speed, in bursts, above, below and between the places that the agent
edits in the same file. Then the buffer must be what both wrote, and undo must walk back."""

from .model import Step, edit, read

WORDS = ["alder", "birch", "cedar", "dogwood", "elm", "fir", "gorse", "hazel", "ivy", "juniper"]
BASE = [f"plant {word}" for word in WORDS]
# The agent's edits in their order, by the line that they replace.
AGENT = {"plant ivy": ["plant ivy → wall"],
         "plant dogwood": ["plant red dogwood", "water it"],
         "plant gorse": ["cut gorse"],
         "plant birch": ["plant white birch"],
         "plant hazel": ["plant hazel", "tie it"],
         "plant alder": ["plant two alders"],
         "plant elm": ["fell elm"]}
# What the user types: below which line (None: above all), and the lines. They are short, so that
# an edit that is computed on an old text lands on a wrong line.
TYPED = [(None, ["we", "go", "out", "é", "to", "dig"]),
         ("plant cedar", ["rake", "it", "sow", "𝒳", "mow"]),
         ("plant fir", ["sit", "a", "bit"]),
         ("plant juniper", ["and", "so", "on"])]
# The outcome of a call, by a phrase in its result.
OUTCOMES = {"Changed ": "landed", "The user had changed the file meanwhile": "of them rebased",
            "in the same place.": "conflicts", "the editor refused": "refused",
            "out of sync": "out of sync", "was reverted": "reverted",
            "needs the user's review": "landed otherwise"}

# An edit landed in the wrong place.
MISSED = ["needs the user's review", "was reverted"]


def gardener(story):
    """Edits one place after the other; after a conflict it reads again, as a model would."""
    def script(_asked):
        yield Step("I look at the garden.", [read("cart.sh")], pace=0.02)
        for old, new in AGENT.items():
            for _ in range(6):
                results = yield Step(f"Now {old}.", [edit("cart.sh", old, "\n".join(new))],
                                     pace=0.05)
                story.outcomes.append(results[0].text)
                if not results[0].failed:
                    story.landed.add(old)
                if not results[0].failed or "out of sync" in results[0].text:
                    break
                if "needs the user's review" in results[0].text:
                    return "It landed otherwise; please look."
                yield Step("I look again.", [read("cart.sh")])
        return "The garden is done."
    return script


def typed_text(pieces):
    return "\n".join(pieces)


def expected(landed):
    """The user's history plus the agent's edits that landed; they touch other lines."""
    below = dict(TYPED)
    lines = list(below[None])
    for line in BASE:
        lines += (AGENT[line] if line in landed else [line]) + below.get(line, [])
    return lines


def reordered(home):
    """Whether the client sent its changes in another order than it made them (Helix 25.01)."""
    versions = [each["textDocument"]["version"] for each in
                home.received("textDocument/didChange")]
    return versions != sorted(versions)


def possible(shown):
    """Whether it is the base with some of the agent's edits whole and some beginnings of what was
    typed: nothing torn, nothing moved."""
    below = dict(TYPED)

    def start(at, pieces):
        """Lines of a beginning of what was typed at this place."""
        ends = [at]
        for number, piece in enumerate(pieces):
            if at + number >= len(shown):
                break
            line = shown[at + number]
            if piece.startswith(line):
                ends.append(at + number + 1)
            if line != piece:
                break
        return ends

    def fits(at, rest, pieces):
        for end in start(at, pieces):
            if not rest:
                if end == len(shown):
                    return True
                continue
            for form in [rest[0]], AGENT.get(rest[0]):
                if form and shown[end:end + len(form)] == form and fits(
                        end + len(form), rest[1:], below.get(rest[0], [])):
                    return True
        return False

    return fits(0, BASE, below[None])


def typing_while_the_agent_edits_loses_and_mixes_nothing(story):
    story.outcomes, story.landed = [], set()
    story.begin(gardener(story), trusted=True)
    story.home.write("cart.sh", "\n".join(BASE) + "\n")
    editor = story.open()
    editor.ask("tend the garden")
    for anchor, pieces in TYPED:
        editor.settle()
        if anchor:
            editor.below(anchor)
        else:
            editor.above_all()
        editor.type_like_a_person(typed_text(pieces))
        # The user pauses: a client that delays changes sends them now.
        editor.rest(0.9)
        editor.leave()
    story.until(lambda: story.model.asked and story.model.turn is None, "the agent ends")
    counts = {name: sum(words in each for each in story.outcomes)
              for words, name in OUTCOMES.items()}
    story.say(", ".join(f"{count} {name}" for name, count in counts.items() if count))
    strange = [each for each in story.outcomes if not any(ok in each for ok in OUTCOMES)]
    assert not strange, strange
    if any(words in each for words in MISSED for each in story.outcomes):
        assert not editor.checks_versions, story.outcomes
        return nothing_typed_is_lost(editor)
    # The last keys may have dismissed the message already.
    editor.told("The garden is done.")
    editor.settle()
    whole = expected(story.landed)
    if not editor.checks_versions and editor.lines() != whole:
        story.say("an edit met a key on its way, and no one could notice")
        return nothing_typed_is_lost(editor)
    editor.has(*whole)
    if reordered(story.home):
        story.say("the client sent its changes in another order than it made them")
    else:
        assert len(story.landed) == len(AGENT), story.outcomes
    assert editor.saved() == "\n".join(whole) + "\n"
    walk(story, editor, whole)


def nothing_typed_is_lost(editor):
    """An edit that crossed a key, in a client that ignores versions, lands in the wrong
    place (it is reported if the server can see it). The letters that were typed are there."""
    text = editor.saved()
    for _, pieces in TYPED:
        for piece in pieces:
            rest = iter(text)
            assert all(letter in rest for letter in piece), (piece, text)


def walk(story, editor, whole):
    """Undo to the oldest state and redo to the newest; each state is a possible one."""
    states = 0
    while editor.step_back():
        states += 1
        story.until(lambda: possible(editor.lines()), "nothing is torn")
    story.until(lambda: editor.lines() == BASE, "the oldest state is the file")
    while editor.step_forth():
        story.until(lambda: possible(editor.lines()), "nothing is torn")
    story.until(lambda: editor.lines() == whole, "the newest state is as before")
    story.say(f"undo walked through {states} states")
