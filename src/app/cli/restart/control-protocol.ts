import { lstat, readdir } from 'node:fs/promises';
import { connect, type Socket } from 'node:net';
import { join } from 'node:path';
import { createInterface } from 'node:readline';
import { isSea } from 'node:sea';
import { usage } from '../../../kit/flags.ts';
import { closing, ignoreErrors, listenOnce, reporting } from '../../../kit/guarded-listeners.ts';

/** One JSON object per line: a request to a running server, then its replies, the last of which has `ok`. */
export interface RestartRequest extends Program {
  readonly do: 'restart';
  readonly timeout_seconds: number;
}

export type RestartReply =
  | { readonly say: string }
  | { readonly ok: true; readonly pid: number; readonly version: string }
  | { readonly ok: false; readonly message: string };

/** `postern open` asks for a link that makes somebody the first administrator. */
interface AdministratorLinkRequest {
  readonly do: 'administrator_link';
}

/** `url` is null if there is an administrator, or none can be made. */
export type AdministratorLinkReply =
  | { readonly ok: true; readonly url: string | null }
  | { readonly ok: false; readonly message: string };

export function isAdministratorLinkRequest(value: unknown): value is AdministratorLinkRequest {
  return (value as Partial<AdministratorLinkRequest> | null)?.do === 'administrator_link';
}

/** A command without an API key asks for a token for the API. */
interface LocalSessionRequest {
  readonly do: 'local_session';
}

export type LocalSessionReply =
  /** `url`: where this process, and no other one, serves the API. */
  | {
      readonly ok: true;
      readonly url: string;
      readonly token: string;
      readonly name: string;
      readonly expiresAtMs: number;
    }
  | { readonly ok: false; readonly message: string };

export function isLocalSessionRequest(value: unknown): value is LocalSessionRequest {
  return (value as Partial<LocalSessionRequest> | null)?.do === 'local_session';
}

export const DEFAULT_TIMEOUT_SECONDS = 60;
export const LONGEST_TIMEOUT_SECONDS = 3_600;

/** One socket per server, named after its process. Several servers may share a data directory with PostgreSQL. */
export function controlDirectory(dataDir: string): string {
  return join(dataDir, 'control');
}

export function isRestartRequest(value: unknown): value is RestartRequest {
  if (typeof value !== 'object' || value === null) return false;
  const { do: what, command, args, timeout_seconds: seconds } = value as Partial<RestartRequest>;
  return (
    what === 'restart' &&
    typeof command === 'string' &&
    Array.isArray(args) &&
    args.every((arg) => typeof arg === 'string') &&
    typeof seconds === 'number' &&
    seconds > 0 &&
    seconds <= LONGEST_TIMEOUT_SECONDS
  );
}

interface OpenSocket {
  readonly name: string;
  readonly socket: Socket;
}

/**
 * Null when no server was ever started there. A server that was killed leaves a socket behind, which refuses
 * connections.
 */
export async function openSockets(directory: string, pid: string | null): Promise<readonly OpenSocket[] | null> {
  const names = await readdir(directory).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return null;
    throw usage(`${directory} cannot be read (${error.code}): run this as the user of the server`);
  });
  if (names === null) return null;
  const problem = await unsafeDirectory(directory, { isForRoot: true });
  if (problem !== null) throw usage(problem);
  const meant = names.filter((name) => (pid === null ? name.endsWith('.sock') : name === `${pid}.sock`));
  const dialled = await Promise.all(meant.map(async (name) => ({ name, socket: await dial(join(directory, name)) })));
  return dialled.filter((each): each is OpenSocket => each.socket !== null);
}

/**
 * Why a socket in this directory proves nothing about who is behind it; null: only its owner, and root, can put one
 * there. `isForRoot`: root may use the directory of another user.
 */
export async function unsafeDirectory(directory: string, { isForRoot = false } = {}): Promise<string | null> {
  const own = process.geteuid?.();
  // Windows has neither owners nor modes of this form.
  if (own === undefined) return null;
  const found = await lstat(directory);
  if (!found.isDirectory()) return `${directory} is not a directory, but something that leads elsewhere: remove it`;
  if ((found.mode & 0o077) !== 0) return `other users may use ${directory}: run chmod 700 ${directory}, or remove it`;
  if (found.uid === own || (own === 0 && isForRoot)) return null;
  return `${directory} belongs to another user: run this as that user, or remove it`;
}

function dial(path: string): Promise<Socket | null> {
  return new Promise((resolve) => {
    const socket = connect(path);
    listenOnce(socket, 'error', reporting('restart command'), () => resolve(null));
    listenOnce(socket, 'connect', closing(socket, 'restart command'), () => {
      ignoreErrors(socket);
      resolve(socket);
    });
  });
}

/** The answer of a server, whose socket is closed then. Null: none in time. */
export async function answerFrom(socket: Socket, request: object, withinMs: number): Promise<string | null> {
  const lines = createInterface({ input: socket });
  // The lines of a socket that is only destroyed never end.
  const timer = setTimeout(() => lines.close(), withinMs);
  try {
    socket.write(`${JSON.stringify(request)}\n`);
    for await (const line of lines) return line;
    return null;
  } catch {
    return null;
  } finally {
    clearTimeout(timer);
    socket.destroy();
  }
}

export interface Program {
  readonly command: string;
  /** Before the name of the postern command. */
  readonly args: readonly string[];
}

/** How to start the program that runs now: Node with a script, or one executable file. */
export function thisProgram(): Program {
  if (isSea()) return { command: process.execPath, args: [] };
  return { command: process.execPath, args: [...process.execArgv, process.argv[1] ?? ''] };
}
