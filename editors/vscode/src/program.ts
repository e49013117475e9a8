// The server's program: which one it is, and whether this extension can talk to it.
import { execFile } from "node:child_process";
import { homedir } from "node:os";
import { basename, isAbsolute } from "node:path";
import { promisify } from "node:util";

/** Something that the user can do something about: a setting. */
export class Trouble extends Error {
  readonly setting = "interline.server.path";
}

/** Where the program is looked up and run: not in the workspace, which could bring one of that name. */
export const PLACE = homedir();

/** What the program says it is, if it is a server that this extension can talk to: 0.1 or newer. */
export async function version(program: string, env: Record<string, string>): Promise<string> {
  if (program !== basename(program) && !isAbsolute(program)) {
    throw new Trouble(`the path ${program} is relative. Give an absolute path, or the name of a program on the PATH.`);
  }
  const asked = promisify(execFile)(program, ["--version"], { timeout: 10_000, cwd: PLACE, env: { ...process.env, ...env } });
  const { stdout } = await asked.catch((error: NodeJS.ErrnoException) => {
    throw new Trouble(error.code === "ENOENT" ? `the program ${program} was not found. Install it, or name its path.`
      : `${program} is not Interline's server: ${error.message}`);
  });
  const [, major, minor] = /^interline (\d+)\.(\d+)/.exec(stdout)?.map(Number) ?? [];
  if (major === undefined) throw new Trouble(`${program} is not Interline's server: it says ${stdout.slice(0, 80)}`);
  if (major === 0 && minor! < 1) throw new Trouble(`${stdout.trim()} is too old; this extension needs 0.1 or newer.`);
  return stdout.trim();
}
