"""What a user does with a local model, through a real server."""

import json

from .server import Interline

# Names of providers: those of the built-in ones need a key.
APIS = {"chat": "openai-chat", "responses": "openai"}


def check(fine, *said):
    if not fine:
        raise AssertionError(" ".join(str(one) for one in said))


def delta(method, params):
    return params.get("event", {}).get("type") == "textDelta"


class Stage:
    """The servers: `talk` answers and ends, `endless` never ends, `calls` calls a tool each time;
    `locked` is `endless` with a key."""

    def __init__(self, binary, servers):
        self.binary = binary
        self.servers = servers

    def interline(self, server, names=("chat",), **more):
        url = self.servers[server].url
        return Interline(self.binary, {name: (APIS[name], url) for name in names}, **more)


def answer(stage, api):
    interline = stage.interline("talk", [api])
    session = interline.session(f"{api}/any")
    turn = interline.turn(session, "Say something.")
    check(turn.end["stopReason"] == "endTurn", turn.end)
    check(len(turn.of("textDelta")) > 1, "one piece only")
    check(turn.said() and turn.said() == turn.streamed(), turn.said(), turn.streamed())
    check(turn.usage["output"] > 1 and turn.usage["input"] > 1, turn.usage)
    interline.stop()


def an_answer_streams_and_is_counted(stage):
    answer(stage, "chat")


def an_answer_streams_and_is_counted_by_responses(stage):
    answer(stage, "responses")


def prefix(stage, api):
    interline = stage.interline("talk", [api])
    session = interline.session(f"{api}/any")
    first = interline.turn(session, "Say something.").usage
    check(first["output"] > 1, first)
    prompt = first["input"] + first["cacheRead"]
    for _ in range(2):
        next_ = interline.turn(session, "And more.").usage
        # The server holds as much of its own answer as reads back as the same tokens.
        check(next_["cacheRead"] >= prompt - 1, f"{next_} after a prompt of {prompt} tokens")
        prompt = next_["input"] + next_["cacheRead"]
    print(f"   {api}: {next_['cacheRead']} of {prompt} tokens were cached")
    interline.stop()


def the_servers_cache_keeps_the_whole_prompt_before(stage):
    prefix(stage, "chat")


def the_servers_cache_keeps_the_whole_prompt_before_by_responses(stage):
    prefix(stage, "responses")


def cancelled(stage, api):
    interline = stage.interline("endless", [api])
    session = interline.session(f"{api}/any")
    for _ in range(2):
        turn = interline.start(session, "Never stop.")
        interline.until(turn, delta)
        interline.cancel(session)
        end = interline.end(turn)
        check(end["stopReason"] == "cancelled", end)
        check(stage.servers["endless"].idle(), "the server keeps generating after the client left")
    interline.stop()


def a_cancelled_turn_stops_the_server_too(stage):
    cancelled(stage, "chat")


def a_cancelled_turn_stops_the_server_too_by_responses(stage):
    cancelled(stage, "responses")


def calls(stage, api):
    """A model of random weights sometimes never ends its arguments: the limit truncates them, and
    the call must not run. Most calls are complete."""
    agent = '[limits]\nsteps = 3\n[agents.looker]\ntools = ["list"]\n'
    facts = '[[model]]\nmatch = ["any"]\ncontext = 16_384\nmax_output = 400\n'
    interline = stage.interline("calls", [api], extra=f'agent = "looker"\n{agent}', facts=facts)
    complete = 0
    for _ in range(20):
        turn = interline.turn(interline.session(f"{api}/any"), "What is here?")
        check(turn.end["stopReason"] in ("maxSteps", "maxTokens"), turn.end)
        done = [call for call in turn.of("toolCall") if call["status"] in ("completed", "failed")]
        for call in done:
            check(call["tool"] == "list" and call.get("output"), call)
            if isinstance(call["input"], dict):
                complete += 1
            else:
                check(call["status"] == "failed" and "was not run" in call["output"], call)
        if turn.end["stopReason"] == "maxSteps" and complete >= 3:
            break
    else:
        raise AssertionError(f"{complete} complete calls in 20 turns, and none had three steps")
    interline.stop()


def tool_calls_come_whole_and_their_results_go_back(stage):
    calls(stage, "chat")


def tool_calls_come_whole_and_their_results_go_back_by_responses(stage):
    calls(stage, "responses")


def a_prompt_too_long_is_told(stage):
    interline = stage.interline("talk", ["chat", "responses"])
    for api in ("chat", "responses"):
        turn = interline.turn(interline.session(f"{api}/any"), "w0rd " * 20_000)
        check(turn.end["stopReason"] == "error", turn.end)
        check(turn.end["error"]["kind"] == "contextWindow", turn.end)
    interline.stop()


def a_full_window_is_compacted_whatever_the_summary_looks_like(stage):
    """This model's summary is random words without headings: it is accepted, and the session continues."""
    interline = stage.interline("talk")
    session = interline.session("chat/any")
    tried = []
    for number in range(6):
        turn = interline.turn(session, f"{number}: " + "w0rd " * 1_000)
        check(turn.end["stopReason"] == "endTurn", turn.end)
        tried += [one["status"] for one in turn.of("compaction")]
    check("completed" in tried and "failed" not in tried, tried)
    interline.stop()


def an_answer_ends_at_its_limit(stage):
    """Over Responses this server accepts the limit and reports `completed`: the token count decides."""
    facts = '[[model]]\nmatch = ["any"]\ncontext = 16_384\nmax_output = 20\n'
    for api in ("chat", "responses"):
        interline = stage.interline("endless", [api], facts=facts)
        turn = interline.turn(interline.session(f"{api}/any"), "Never stop.")
        check(turn.end["stopReason"] == "maxTokens", api, turn.end)
        check(turn.usage["output"] == 20, api, turn.usage)
        interline.stop()


def a_wrong_address_is_told(stage):
    url = stage.servers["talk"].url + "/nothing"
    interline = Interline(stage.binary, {"wrong": ("openai-chat", url)})
    end = interline.turn(interline.session("wrong/any"), "Hello.").end
    check(end["error"]["kind"] == "noModel" and "baseUrl" in end["error"]["hint"], end)
    interline.stop()


def a_missing_key_is_told(stage):
    interline = stage.interline("locked", ["chat", "responses"])
    for api in ("chat", "responses"):
        end = interline.turn(interline.session(f"{api}/any"), "Hello.").end
        check(end["stopReason"] == "error" and end["error"]["kind"] == "auth", end)
    interline.stop()


def a_server_that_dies_amid_an_answer_is_asked_again(stage):
    """The last story: its server is gone after it."""
    interline = stage.interline("endless")
    session = interline.session("chat/any")
    turn = interline.start(session, "Never stop.")
    interline.until(turn, delta)
    stage.servers["endless"].stop()
    interline.until(turn, lambda _, params: params.get("event", {}).get("type") == "retry")
    interline.cancel(session)
    end = interline.end(turn)
    check(end["stopReason"] == "cancelled", end)
    interline.stop()


STORIES = [
    an_answer_streams_and_is_counted,
    an_answer_streams_and_is_counted_by_responses,
    the_servers_cache_keeps_the_whole_prompt_before,
    the_servers_cache_keeps_the_whole_prompt_before_by_responses,
    a_cancelled_turn_stops_the_server_too,
    a_cancelled_turn_stops_the_server_too_by_responses,
    tool_calls_come_whole_and_their_results_go_back,
    tool_calls_come_whole_and_their_results_go_back_by_responses,
    a_prompt_too_long_is_told,
    a_full_window_is_compacted_whatever_the_summary_looks_like,
    an_answer_ends_at_its_limit,
    a_wrong_address_is_told,
    a_missing_key_is_told,
    a_server_that_dies_amid_an_answer_is_asked_again,
]
