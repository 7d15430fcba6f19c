import { lstat } from 'node:fs/promises';
import type { Socket } from 'node:net';
import { messageOf } from '../../../kit/error-text.ts';
import type { CommandContext } from '../command.ts';
import { answerFrom, controlDirectory, type LocalSessionReply, openSockets } from '../restart/control-protocol.ts';
import type { ApiKey } from './api-key.ts';

const ANSWER_WITHIN_MS = 3_000;

/** A server on this machine that accepts commands of this user without an API key. */
export interface LocalSession {
  /** Where the process that gave the token serves the API. */
  readonly url: string;
  readonly apiKey: ApiKey;
  /** Who the command is in the history of changes. */
  readonly name: string;
}

export type LocalAnswer =
  | { readonly sessions: readonly LocalSession[]; readonly problem: null; readonly isStarted: true }
  | {
      readonly sessions: readonly [];
      /** What somebody can do about it. */
      readonly problem: string;
      /** Whether a server ever used the data directory. */
      readonly isStarted: boolean;
    };

export interface DataPlace {
  readonly dataDir: string;
  /**
   * A variable, the installed service or the command line named the directory; otherwise it is in the working
   * directory.
   */
  readonly isNamed: boolean;
}

/** Asks all servers with this data directory. Those of another user answer root only. */
export async function localSessions({ dataDir, isNamed }: DataPlace, env: CommandContext['env']): Promise<LocalAnswer> {
  const directory = controlDirectory(dataDir);
  try {
    const found = await openSockets(directory, null);
    if (found === null) {
      const problem = `no server was started with the data directory ${dataDir}`;
      return { sessions: [], problem, isStarted: false };
    }
    if (!isNamed && (await isOfStranger(directory, env))) {
      for (const { socket } of found) socket.destroy();
      const problem = `${dataDir} belongs to another user: set POSTERN_DATA_DIR to it if you trust that user`;
      return { sessions: [], problem, isStarted: true };
    }
    const replies = (await Promise.all(found.map(({ socket }) => replyOf(socket)))).filter((each) => each !== null);
    const sessions = replies
      .filter((reply) => reply.ok)
      .map((reply) => sessionOf(reply, () => renewed(dataDir, reply.url)));
    if (sessions.length > 0) return { sessions, problem: null, isStarted: true };
    const [refused] = replies;
    if (refused?.ok === false) {
      const problem = `the server with the data directory ${dataDir} accepts no command without a key: ${refused.message}`;
      return { sessions: [], problem, isStarted: true };
    }
    const problem =
      found.length > 0
        ? `the server with the data directory ${dataDir} did not answer within ${ANSWER_WITHIN_MS / 1000} seconds`
        : `no server runs with the data directory ${dataDir}: start it with "postern server", then commands here need no key`;
    return { sessions: [], problem, isStarted: true };
  } catch (error) {
    return { sessions: [], problem: messageOf(error), isStarted: true };
  }
}

function sessionOf(
  { url, token, name }: Extract<LocalSessionReply, { ok: true }>,
  renew: () => Promise<readonly string[]>,
): LocalSession {
  return { url, name, apiKey: { key: token, source: `the server on this machine (as ${name})`, renew } };
}

/**
 * A command may run longer than its token, and the server may hand over to another process meanwhile. Until the old
 * process has drained, both answer, each with a token that only it accepts.
 */
async function renewed(dataDir: string, url: string): Promise<readonly string[]> {
  const found = (await openSockets(controlDirectory(dataDir), null).catch(() => null)) ?? [];
  const replies = await Promise.all(found.map(({ socket }) => replyOf(socket)));
  return replies.flatMap((reply) => (reply?.ok === true && reply.url === url ? [reply.token] : []));
}

/** Root in a folder of somebody else, who could have put a server of their own there. */
async function isOfStranger(directory: string, env: CommandContext['env']): Promise<boolean> {
  if (process.geteuid?.() !== 0) return false;
  const { uid } = await lstat(directory);
  return uid !== 0 && String(uid) !== env['SUDO_UID'];
}

/** Null: it is older, or does not answer. */
async function replyOf(socket: Socket): Promise<LocalSessionReply | null> {
  const answer = await answerFrom(socket, { do: 'local_session' }, ANSWER_WITHIN_MS);
  try {
    return answer === null ? null : (JSON.parse(answer) as LocalSessionReply);
  } catch {
    return null;
  }
}
