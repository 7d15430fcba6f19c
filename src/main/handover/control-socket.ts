import { chmod, mkdir, readdir, rm } from 'node:fs/promises';
import { connect, createServer, type Server, type Socket } from 'node:net';
import { join } from 'node:path';
import {
  type AdministratorLinkReply,
  controlDirectory,
  isAdministratorLinkRequest,
  isLocalSessionRequest,
  isRestartRequest,
  type LocalSessionReply,
  type RestartReply,
  type RestartRequest,
  unsafeDirectory,
} from '../../cli/restart/control-protocol.ts';
import { messageOf } from '../../lib/error-text.ts';
import {
  closing,
  ignoreErrors,
  type ListenerOwner,
  listen,
  listenOnce,
  listenPer,
} from '../../lib/guarded-listeners.ts';

const MAX_REQUEST_BYTES = 65_536;
/** Paths of Unix sockets are short: sun_path of unix(7). */
const MAX_PATH_BYTES = 107;

export interface ControlSocket {
  /** Accepts no more requests. Replies to those in progress are still sent. */
  close(): void;
}

export interface ControlHandlers {
  restart(request: RestartRequest, reply: (reply: RestartReply) => void): Promise<void>;
  administratorLink(): Promise<string | null>;
  localSession(): LocalSessionReply;
}

/**
 * Where `postern restart` asks this server to hand over, and commands without an API key for a token. Only root and the user who
 * runs the server can connect, and they could as well read its keys or end the process.
 */
export async function openControlSocket(dataDir: string, handlers: ControlHandlers): Promise<ControlSocket> {
  const directory = controlDirectory(dataDir);
  const path = join(directory, `${process.pid}.sock`);
  if (Buffer.byteLength(path) > MAX_PATH_BYTES) {
    throw new Error(`the path of the data directory is too long for a socket in it: ${path}`);
  }
  await mkdir(directory, { recursive: true, mode: 0o700 });
  const problem = await unsafeDirectory(directory);
  if (problem !== null) throw new Error(problem);
  await removeStale(directory);
  const server = createServer();
  const ownerOf = (socket: Socket): ListenerOwner => closing(socket, 'control socket');
  listenPer(server, 'connection', ownerOf, (socket: Socket) => serve(socket, handlers));
  await opened(server, path);
  await chmod(path, 0o600);
  return { close: () => server.close() };
}

function serve(socket: Socket, handlers: ControlHandlers): void {
  ignoreErrors(socket);
  const owner = closing(socket, 'control socket');
  const reply = (message: RestartReply | AdministratorLinkReply | LocalSessionReply): void => {
    if (socket.writable) socket.write(`${JSON.stringify(message)}\n`);
    if ('ok' in message) socket.end();
  };
  let text = '';
  let isRead = false;
  socket.setEncoding('utf8');
  listen(socket, 'data', owner, (part: string) => {
    if (isRead) return;
    text += part;
    const end = text.indexOf('\n');
    if (end === -1 && text.length > MAX_REQUEST_BYTES) socket.destroy();
    if (end === -1) return;
    isRead = true;
    const request = parsed(text.slice(0, end));
    const failed = (error: unknown): void => reply({ ok: false, message: messageOf(error) });
    if (isRestartRequest(request)) handlers.restart(request, reply).catch(failed);
    else if (isAdministratorLinkRequest(request)) {
      handlers.administratorLink().then((url) => reply({ ok: true, url }), failed);
    } else if (isLocalSessionRequest(request)) reply(handlers.localSession());
    else reply({ ok: false, message: 'this version of the server does not know the request' });
  });
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line);
  } catch {
    return null;
  }
}

function opened(server: Server, path: string): Promise<void> {
  return new Promise((resolve, reject) => {
    listenOnce(server, 'error', { contain: reject }, reject);
    server.listen(path, () => {
      ignoreErrors(server);
      resolve();
    });
  });
}

/** Sockets of servers that were killed. */
async function removeStale(directory: string): Promise<void> {
  const paths = (await readdir(directory))
    .filter((name) => name.endsWith('.sock'))
    .map((name) => join(directory, name));
  await Promise.all(paths.map(async (path) => ((await isServed(path)) ? null : rm(path, { force: true }))));
}

function isServed(path: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(path);
    const owner = closing(socket, 'control socket');
    listenOnce(socket, 'error', owner, () => resolve(false));
    listenOnce(socket, 'connect', owner, () => {
      socket.destroy();
      resolve(true);
    });
  });
}
