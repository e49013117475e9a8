// The server's program: which one it is, and whether this extension can talk to it.
import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { basename, isAbsolute } from "node:path";
import { promisify } from "node:util";

/** Something that the user can do something about: the program's path. */
export class Trouble extends Error {
  readonly setting = "interline.server.path";
}

/** Where the program is looked up and run: a workspace could bring one of that name. */
export const PLACE = homedir();

/** What the program says it is, if it is a server that this extension can talk to: 0.1 or newer. */
export async function version(program: string, env: Record<string, string>): Promise<string> {
  if (program !== basename(program) && !isAbsolute(program)) {
    const mend = "Use an absolute path, or the name of a program on the PATH.";
    throw new Trouble(`the path ${program} is relative. ${mend}`);
  }
  const options = { timeout: 10_000, cwd: PLACE, env: { ...process.env, ...env } };
  const { stdout } = await promisify(execFile)(program, ["--version"], options).catch((error) => {
    if (error.code === "ENOENT") {
      const mend = "Install it, or set its path.";
      throw new Trouble(`the server (${program}) is not on VS Code's PATH. ${mend}`);
    }
    throw new Trouble(`${program} is not Interline's server: ${error.message}`);
  });
  const [, found] = /^interline (\d+\.\d+)/.exec(stdout) ?? [];
  if (Number(found) >= 0.1) return stdout.trim();
  const reported = stdout.slice(0, 80);
  throw new Trouble(`${program} is not Interline 0.1 or newer. It reported: ${reported}`);
}
