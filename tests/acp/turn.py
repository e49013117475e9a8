"""One turn in the protocol's own Python SDK: its types read every line, its client holds an
unsaved buffer, allows the edit, sees it land, loads the stored session again, and calls every
other method of the agent. At the end the methods that were sent are compared with those that the
agent's source lists."""

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path

import acp
from acp import schema
from acp.connection import StreamDirection
from acp.meta import AGENT_METHODS

UNSAVED = "# unsaved\nprice = 1000\n"
SOURCE = Path(__file__).parents[2] / "src" / "acp" / "methods.rs"


class Editor(acp.Client):
    def __init__(self, buffers):
        self.buffers = buffers
        self.updates = []
        self.asked = []
        self.forms = []
        self.on_permission = None

    async def request_permission(self, session_id, tool_call, options, **_):
        self.asked.append(tool_call)
        if self.on_permission:
            await self.on_permission(session_id)
            return acp.RequestPermissionResponse(outcome=schema.DeniedOutcome(outcome="cancelled"))
        allow = next(option for option in options if option.kind == "allow_once")
        return acp.RequestPermissionResponse(
            outcome=schema.AllowedOutcome(outcome="selected", option_id=allow.option_id)
        )

    async def session_update(self, session_id, update, **_):
        self.updates.append(update)

    async def read_text_file(self, session_id, path, line=None, limit=None, **_):
        text = self.buffers.get(path)
        if text is None:
            raise acp.RequestError.resource_not_found(path)
        return acp.ReadTextFileResponse(content=text)

    async def write_text_file(self, session_id, path, content, **_):
        self.buffers[path] = content
        return acp.WriteTextFileResponse()

    async def create_elicitation(self, message, mode, **_):
        self.forms.append((message, mode))
        return schema.AcceptElicitationResponse(action="accept", content={"answer": "the new one"})

    def said(self):
        chunks = [u for u in self.updates if u.session_update == "agent_message_chunk"]
        return "".join(chunk.content.text for chunk in chunks)


async def main(binary, recording):
    with tempfile.TemporaryDirectory() as folder:
        home = Path(folder).resolve()
        work = home / "work"
        work.mkdir()
        (work / "shop.py").write_text("price = 1000\n")
        (home / "interline").mkdir()
        (home / "interline" / "config.toml").write_text(f"model = 'replay/{recording}'\n")
        names = ["XDG_CONFIG_HOME", "XDG_STATE_HOME", "XDG_DATA_HOME", "XDG_RUNTIME_DIR", "HOME"]
        env = {name: str(home) for name in names} | {"PATH": os.environ["PATH"]}
        await turn(binary, env, work)
    print("1 passed, 0 failed")


async def turn(binary, env, work):
    path = str(work / "shop.py")
    editor = Editor({path: UNSAVED})
    abilities = schema.ClientCapabilities(
        fs=schema.FileSystemCapabilities(read_text_file=True, write_text_file=True),
        elicitation=schema.ElicitationCapabilities(form=schema.ElicitationFormCapabilities()),
    )
    # The SDK treats forms and forks as drafts.
    drafts = {"use_unstable_protocol": True}
    sent = set()

    def observe(event):
        if event.direction == StreamDirection.OUTGOING and "method" in event.message:
            sent.add(event.message["method"])

    async with acp.spawn_agent_process(
        lambda _: editor, binary, "acp", env=env, cwd=work, observers=[observe], **drafts
    ) as (agent, process):
        hello = await agent.initialize(
            protocol_version=acp.PROTOCOL_VERSION, client_capabilities=abilities
        )
        assert hello.protocol_version == 1, hello
        new = await agent.new_session(cwd=str(work), mcp_servers=[])
        end = await agent.prompt(
            session_id=new.session_id, prompt=[acp.text_block("in whole cents, please")]
        )
        assert end.stop_reason == "end_turn", end
        assert editor.buffers[path] == "# unsaved\nprice = 10\n", editor.buffers
        assert (work / "shop.py").read_text() == "price = 1000\n"
        assert [block.type for block in editor.asked[0].content][0] == "diff", editor.asked
        assert editor.said().startswith("Done"), editor.said()
        editor.updates = []
        await agent.load_session(session_id=new.session_id, cwd=str(work), mcp_servers=[])
        assert editor.said().startswith("Done"), editor.updates
        await others(agent, editor, new.session_id, work)
    assert process.returncode == 0, process.returncode
    # The SDK's client never withdraws a request; tests/e2e/acp/ does.
    implemented = set(re.findall(r'^ +"([a-z_/]+)" => ', SOURCE.read_text(), re.M))
    assert "session/prompt" in implemented, SOURCE
    assert implemented == sent, implemented ^ sent


async def others(agent, editor, session, work):
    """The other methods: options, modes, lists, a fork with a form, and the end of a session."""
    await agent.set_session_mode(session_id=session, mode_id="ask")
    options = await agent.set_config_option(session_id=session, config_id="thinking", value="low")
    current = {option.id: option.current_value for option in options.config_options}
    assert (current["mode"], current["thinking"]) == ("ask", "low"), current
    fork = await agent.fork_session(session_id=session, cwd=str(work), mcp_servers=[])
    end = await agent.prompt(session_id=fork.session_id, prompt=[acp.text_block("ask me")])
    assert end.stop_reason == "end_turn", end
    assert editor.forms[0][0] == "Which parser?", editor.forms
    assert editor.said().endswith("The new one, then."), editor.said()
    listed = await agent.list_sessions(cwd=str(work))
    ids = [row.session_id for row in listed.sessions]
    assert sorted(ids) == sorted([session, fork.session_id]), ids
    await agent.close_session(session_id=session)
    await agent.resume_session(session_id=session, cwd=str(work), mcp_servers=[])
    await agent.authenticate(method_id="key")
    await agent.set_session_mode(session_id=fork.session_id, mode_id="agent")
    editor.on_permission = lambda asking: agent.cancel(session_id=asking)
    end = await agent.prompt(session_id=fork.session_id, prompt=[acp.text_block("run it")])
    assert end.stop_reason == "cancelled", end
    assert not (work / "cancelled.txt").exists()
    await ask(agent, "session_delete", schema.DeleteSessionRequest(session_id=fork.session_id))
    listed = await agent.list_sessions(cwd=str(work))
    assert [row.session_id for row in listed.sessions] == [session], listed
    await ask(agent, "logout", schema.LogoutRequest())


async def ask(agent, name, request):
    """A request that the SDK has as a type, but not as a function of its client."""
    params = request.model_dump(mode="json", by_alias=True, exclude_none=True)
    answer = await agent._conn.send_request(AGENT_METHODS[name], params)
    result = getattr(schema, type(request).__name__.replace("Request", "Response"))
    return result.model_validate(answer or {})


asyncio.run(main(*sys.argv[1:]))
